//! Ctrl-C during long work.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use unjank_measure::Monitor;

/// How often signals are looked for.
const BETWEEN: Duration = Duration::from_millis(50);

/// Tells the work to stop.
#[derive(Default)]
pub(crate) struct StopFlag(AtomicBool);

impl StopFlag {
    /// Whether to stop.
    pub(crate) fn is_set(&self) -> bool {
        // Pairs with nothing: the work may see it late.
        self.0.load(Ordering::Relaxed)
    }
}

impl Monitor for StopFlag {
    fn progress(&self, _fraction: f64, _doing: &str) {}

    fn stop_requested(&self) -> bool {
        self.is_set()
    }
}

/// Does `work` in a thread of its own while the interpreter is free. If the handler of a signal
/// raises an exception, such as `KeyboardInterrupt`, the work is stopped, and this is the result.
/// Only Python's main thread gets signals.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&StopFlag) -> T + Send,
) -> PyResult<T> {
    let stop = StopFlag::default();
    py.detach(|| {
        thread::scope(|scope| {
            let (end, ended) = mpsc::channel::<()>();
            let worker = scope.spawn(|| {
                let _end = end;
                work(&stop)
            });
            let mut raised = None;
            // The end of the sender is the end of the work.
            while ended.recv_timeout(BETWEEN) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none() {
                    raised = Python::attach(|py| py.check_signals().err());
                    stop.0.store(raised.is_some(), Ordering::Relaxed);
                }
            }
            match (raised, worker.join()) {
                (Some(error), _) => Err(error),
                (None, Ok(done)) => Ok(done),
                (None, Err(panicked)) => panic::resume_unwind(panicked),
            }
        })
    })
}
