//! Serves the device: a thread for each queue.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use unjank_host::memory::SharedRegion;
use unjank_host::ublk::{Control, Device, PreparedQueue, Shape, become_io_flusher};
use unjank_host::{Error, Result};

use super::engine::Engine;
use super::published::Published;
use super::reserve;
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
    /// A file or a device, opened with `O_DIRECT`, whose first page is its [mark](super::backing).
    File(File),
}

/// A device that this process has got.
#[derive(Debug)]
pub struct Acquired {
    /// The device.
    pub device: Device,
    /// Whether it was taken over.
    pub is_recovered: bool,
}

/// Serves a device of this shape until it is stopped. Makes everything ready, has `acquire` make the
/// device or take it over, and calls `started` when its block device is there. With `verify`, each
/// page gets a checksum, which is compared when it is read. The counts are `published`.
///
/// A device with a queue that nobody serves hangs, and one that was taken over may be swapped to
/// and must not be stopped. So an error after the start, or once a device was taken over, is
/// `fatal`: the process ends, and another one can take the device over.
///
/// # Errors
/// Sizes that do not fit each other; the kernel's error before the start.
pub fn serve(
    control: &mut Control,
    (shape, acquire): (Shape, impl FnOnce(&mut Control) -> Result<Acquired>),
    engine: &Mutex<Engine>,
    backings: &Backings,
    (verify, published): (bool, &Published),
    (started, fatal): (impl FnOnce(), fn(&Error) -> !),
) -> Result<()> {
    check(shape, engine)?;
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
        let mut queues = Vec::new();
        for id in 0..shape.queues {
            let (stages, thread) = stages();
            let serve = move || {
                let _guard = AbortOnPanic;
                let prepared = become_io_flusher().and_then(|()| PreparedQueue::new(shape, SPARES));
                // Whether it is possible was said when the tier was made.
                let _realtime = reserve::become_realtime();
                let sizes = (shape.depth, pages, SPARES);
                let mut server = Server::new(engine, fast, verify, published, sizes);
                let Some((prepared, device)) = thread.next(prepared) else { return };
                let Some((mut queue, _)) = thread.next(prepared.open(&device, id, files)) else {
                    return;
                };
                if let Err(error) = queue.run(&mut server) {
                    fatal(&error);
                }
            };
            let thread = thread::Builder::new().name(format!("tier queue {id}"));
            thread
                .spawn_scoped(scope, serve)
                .map_err(|error| Error::syscall("clone", "a queue", error))?;
            queues.push(stages);
        }
        queues.iter().try_for_each(Stages::wait)?;
        let Acquired { device, is_recovered } = acquire(control)?;
        let device = Arc::new(device);
        // The kernel may have given it fewer queues.
        queues.truncate(device.shape().queues.into());
        let go_on = || {
            for queue in &queues {
                queue.go_on(&device);
            }
        };
        go_on();
        // If one queue cannot be served, none may: the device would hang.
        let ready = queues.iter().try_for_each(Stages::wait);
        let start = |control: &mut Control| {
            go_on();
            let started = control.start(&device, is_recovered);
            // A device that was taken over is watched already.
            let watched =
                started.and_then(|()| if is_recovered { Ok(()) } else { device.watch_closely() });
            watched.inspect_err(|error| {
                if is_recovered || control.stop(device.id()).is_err() {
                    fatal(error);
                }
            })
        };
        match ready {
            Err(error) if is_recovered => fatal(&error),
            Err(error) => return Err(error),
            Ok(()) => start(control)?,
        }
        started();
        Ok(())
    })
}

fn check(shape: Shape, engine: &Mutex<Engine>) -> Result<()> {
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

/// The stages of a queue's thread, seen by the first thread: after each, the queue waits until it may
/// go on.
struct Stages {
    results: Receiver<Result<()>>,
    permits: Sender<Arc<Device>>,
}

/// The same, seen by the queue's thread.
struct ThreadStages {
    results: Sender<Result<()>>,
    permits: Receiver<Arc<Device>>,
}

fn stages() -> (Stages, ThreadStages) {
    let (result, results) = mpsc::channel();
    let (permit, permits) = mpsc::channel();
    (Stages { results, permits: permit }, ThreadStages { results: result, permits })
}

impl Stages {
    /// Waits for the end of a stage.
    fn wait(&self) -> Result<()> {
        let ended = |_| Error::Busy("the thread of a queue has ended".to_owned());
        self.results.recv().map_err(ended)?
    }

    fn go_on(&self, device: &Arc<Device>) {
        // One that has ended is missed by `wait`.
        let _it_waits = self.permits.send(Arc::clone(device));
    }
}

impl ThreadStages {
    /// Ends a stage; `None` if it has failed, or if the queue must not go on.
    fn next<T>(&self, stage: Result<T>) -> Option<(T, Arc<Device>)> {
        let (value, result) = match stage {
            Ok(value) => (Some(value), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let _it_is_waited_for = self.results.send(result);
        let device = self.permits.recv().ok()?;
        value.map(|value| (value, device))
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
