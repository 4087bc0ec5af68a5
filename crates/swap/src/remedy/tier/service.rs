//! Serves the device: a thread for each queue.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use unjank_host::memory::SharedRegion;
use unjank_host::ublk::{Control, Device, Queue, become_io_flusher};
use unjank_host::{Error, Result};

use super::engine::{Counts, Engine};
use super::server::{Fast, PAGE, Server};

/// Spare buffers of each queue, for copies to the slow backing.
const SPARES: u16 = 16;

/// Where the pages lie.
#[derive(Debug)]
pub struct Backings {
    /// A page for each slot. Opened with `O_DIRECT`, so that no page waits in memory.
    pub slow: File,
    /// A page for each frame.
    pub fast: FastBacking,
}

/// The fast backing.
#[derive(Debug)]
pub enum FastBacking {
    /// Memory of this machine that outlives the server, and is not swapped out (as the
    /// [map](super::map)).
    Memory(SharedRegion),
    /// A file or a device, opened with `O_DIRECT`.
    File(File),
}

/// Serves `device` until it is stopped, and calls `started` when its block device is there. With
/// `verify`, each page gets a checksum, which is compared when it is read.
///
/// A device with a queue that nobody serves hangs, and one that was taken over may be swapped to
/// and must not be stopped. So an error after the start, or at the start of the latter, is `fatal`:
/// the process ends, and another one can take the device over.
///
/// # Errors
/// Sizes that do not fit each other; the kernel's error before the start.
pub fn serve(
    control: &mut Control,
    (device, is_recovered): (&Device, bool),
    engine: &Mutex<Engine>,
    backings: &Backings,
    verify: bool,
    (started, fatal): (impl FnOnce(), fn(&Error) -> !),
) -> Result<Counts> {
    check(device, engine)?;
    let shape = device.shape();
    let pages = (shape.largest.get() / PAGE) as u16;
    let mut files: Vec<BorrowedFd<'_>> = vec![backings.slow.as_fd()];
    let fast = match &backings.fast {
        FastBacking::Memory(memory) => Fast::Memory(memory),
        FastBacking::File(file) => {
            files.push(file.as_fd());
            Fast::File
        }
    };
    let files = &files;
    thread::scope(|scope| {
        // Each queue says that it is ready, and waits: if another one is not, none may go.
        let (ready, are_ready) = mpsc::channel::<Result<()>>();
        let mut queues = Vec::new();
        for id in 0..shape.queues {
            let ready = ready.clone();
            let (go, may_go) = mpsc::channel::<()>();
            let serve = move || {
                let _guard = AbortOnPanic;
                let queue =
                    become_io_flusher().and_then(|()| Queue::new(device, id, files, SPARES));
                let mut server = Server::new(engine, fast, verify, (shape.depth, pages, SPARES));
                let (mut queue, answer) = match queue {
                    Ok(queue) => (Some(queue), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                let _is_waited_for = ready.send(answer);
                drop(ready);
                if may_go.recv().is_ok()
                    && let Some(queue) = &mut queue
                    && let Err(error) = queue.run(&mut server)
                {
                    fatal(&error);
                }
            };
            let thread = thread::Builder::new().name(format!("tier queue {id}"));
            thread
                .spawn_scoped(scope, serve)
                .map_err(|error| Error::syscall("clone", "a queue", error))?;
            queues.push(go);
        }
        drop(ready);
        are_ready.iter().collect::<Result<()>>()?;
        for go in &queues {
            let _it_waits = go.send(());
        }
        if let Err(error) = control.start(device, is_recovered) {
            if is_recovered || control.stop(device.id()).is_err() {
                fatal(&error);
            }
            return Err(error);
        }
        started();
        Ok(())
    })?;
    Ok(engine.lock().unwrap_or_else(PoisonError::into_inner).counts())
}

fn check(device: &Device, engine: &Mutex<Engine>) -> Result<()> {
    let shape = device.shape();
    let slots = u64::from(engine.lock().unwrap_or_else(PoisonError::into_inner).slots());
    let fits = shape.block.get() == PAGE
        && shape.largest.get().is_multiple_of(PAGE)
        && shape.size.get() == slots * PAGE;
    if fits {
        Ok(())
    } else {
        Err(Error::Invalid(format!("{shape:?} is not one of {slots} pages")))
    }
}

/// Ends the process if its thread panics: the engine may be half changed, and the queue is not
/// served any more. The next server finds all pages by the map.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}
