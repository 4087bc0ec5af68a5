//! Work with a result.

use core::sync::atomic::{AtomicBool, Ordering};
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::Result;

use super::shared::{Run, Shared};
use crate::{Mutex, Signal};

/// Work that was given to a [`Pool`](super::Pool): its result, once it is done.
///
/// Dropping it does not stop the work. A result that nobody joins is dropped by
/// whoever holds it last: the thread of the pool, which survives a destructor
/// that panics, or the thread that drops the task.
#[must_use = "its panic is lost if nobody joins it"]
#[derive(Debug)]
pub struct Task<T> {
    slot: Arc<Slot<T>>,
    pool: Arc<Shared>,
}

struct Slot<T> {
    /// Until somebody begins it.
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
    /// Waits for the result. A thread of the pool does the work by itself if
    /// nobody has begun it: all others might wait as well.
    ///
    /// # Errors
    /// What the work has panicked with.
    ///
    /// # Panics
    /// Never: a task that is done has a result until it is joined.
    pub fn join(self) -> Result<T> {
        if self.pool.is_mine() {
            self.slot.begin();
        }
        self.slot.done.wait_until(|| self.is_done());
        self.slot.result.lock().take().expect("who is done has put a result")
    }

    /// Whether [`join`](Self::join) would not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.slot.is_done.load(Ordering::Acquire)
    }
}

impl<T> Slot<T> {
    /// Does the work, unless somebody has begun it.
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
