//! Work with a result.

use core::sync::atomic::{AtomicBool, Ordering};
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::Result;

use super::shared::{Run, Shared};
use crate::{Mutex, Signal};

/// A handle to work that was given to a [`Pool`](super::Pool), and to its result.
///
/// Dropping it does not stop the work. A result that is not joined is dropped by its
/// last owner: the thread of the pool, which survives a panicking destructor, or the
/// thread that drops the task.
#[must_use = "a panic of the work is lost unless the task is joined"]
#[derive(Debug)]
pub struct Task<T> {
    slot: Arc<Slot<T>>,
    pool: Arc<Shared>,
}

struct Slot<T> {
    /// The work, until it begins.
    work: Mutex<Option<Box<dyn FnOnce() -> T + Send>>>,
    result: Mutex<Option<Result<T>>>,
    is_done: AtomicBool,
    done: Signal,
}

impl<T: Send + 'static> Task<T> {
    pub(super) fn start(pool: &Arc<Shared>, work: impl FnOnce() -> T + Send + 'static) -> Self {
        let slot = Arc::new(Slot {
            work: Mutex::new(Some(Box::new(work))),
            result: Mutex::new(None),
            is_done: AtomicBool::new(false),
            done: Signal::new(),
        });
        pool.give(Arc::clone(&slot) as Arc<dyn Run>);
        Self { slot, pool: Arc::clone(pool) }
    }
}

impl<T> Task<T> {
    /// Waits for the result. A thread of the pool runs the work itself if it has not
    /// begun, because all other threads might wait as well.
    ///
    /// # Errors
    /// The panic of the work.
    ///
    /// # Panics
    /// Never: a task that is done has a result until it is joined.
    pub fn join(self) -> Result<T> {
        if self.pool.is_mine() {
            self.slot.begin();
        }
        self.slot.done.wait_until(|| self.is_done());
        self.slot.result.lock().take().expect("a task that is done has a result")
    }

    /// Whether the work is done, so that [`join`](Self::join) does not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.slot.is_done.load(Ordering::Acquire)
    }
}

impl<T> Slot<T> {
    /// Runs the work, unless it has begun.
    fn begin(&self) {
        let Some(work) = self.work.lock().take() else { return };
        let result = catch_unwind(AssertUnwindSafe(work));
        *self.result.lock() = Some(result);
        self.is_done.store(true, Ordering::Release);
        self.done.notify_all();
    }
}

impl<T: Send> Run for Slot<T> {
    fn run(&self) {
        self.begin();
    }
}

impl<T> core::fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Slot").field("is_done", &self.is_done).finish_non_exhaustive()
    }
}
