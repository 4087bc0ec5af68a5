//! The thread that empties the ring buffers while they are filled, up to a limit
//! of memory.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use unjank_host::{Bytes, Error, Nanos, Result, Timestamp};

use super::instances::{Instances, Pages};

/// The time between two reads: a tenth of the time in which the busiest program fills a buffer,
/// because the reader may have to wait for a CPU.
pub(crate) const PERIOD: Nanos = Nanos::from_millis(25);

/// A thread that waits for the buffers that it will read.
#[derive(Debug)]
pub(super) struct WaitingReader {
    // Dropped first: this ends the thread's wait.
    instances: Sender<Arc<Instances>>,
    reader: Reader,
}

/// The reader thread. Dropping this ends the thread.
#[derive(Debug)]
pub(super) struct Reader {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<Pages>>>,
}

#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    full_at: OnceLock<Timestamp>,
}

impl Reader {
    /// Starts the thread. It stops the recording when its pages take `memory`.
    pub(super) fn spawn(memory: Bytes) -> Result<WaitingReader> {
        let (instances, receiver) = mpsc::channel();
        let shared = Arc::<Shared>::default();
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("unjank-recorder".to_owned())
            .spawn(move || own.read(&receiver, memory))
            .map_err(|error| Error::syscall("clone", "a thread that reads a trace", error))?;
        Ok(WaitingReader { instances, reader: Self { shared, thread: Some(thread) } })
    }

    /// When the memory was full, and the recording was stopped.
    pub(super) fn full_at(&self) -> Option<Timestamp> {
        self.shared.full_at.get().copied()
    }

    /// Ends the thread. Returns the pages that it read, and when the memory was full.
    pub(super) fn finish(mut self) -> Result<(Pages, Option<Timestamp>)> {
        let pages = self.end().unwrap_or_else(|| Ok(Pages::default()))?;
        Ok((pages, self.full_at()))
    }

    fn end(&mut self) -> Option<Result<Pages>> {
        // The thread sees it after `unpark`, or when its sleep ends.
        self.shared.over.store(true, Ordering::Relaxed);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        Some(thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload)))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _nobody_needs_them = self.end();
    }
}

impl WaitingReader {
    /// Makes the thread read the buffers of these instances.
    pub(super) fn read(self, instances: Arc<Instances>) -> Reader {
        // The thread only waits for this, so it still runs and receives it.
        let _it_is_there = self.instances.send(instances);
        self.reader
    }
}

impl Shared {
    fn read(&self, instances: &Receiver<Arc<Instances>>, memory: Bytes) -> Result<Pages> {
        let mut pages = Pages::default();
        let Ok(instances) = instances.recv() else { return Ok(pages) };
        while !self.over.load(Ordering::Relaxed) {
            instances.take(&mut pages)?;
            if pages.size() >= memory {
                // Until then the trace is complete.
                let _only_set_here = self.full_at.set(Timestamp::now());
                instances.stop()?;
                break;
            }
            thread::park_timeout(PERIOD.into());
        }
        Ok(pages)
    }
}
