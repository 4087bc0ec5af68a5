//! Work with a result.

use core::sync::atomic::{AtomicBool, Ordering};
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::Result;

use super::Shared;
use crate::{Mutex, Signal};

/// Work that was given to a [`Pool`](super::Pool): its result, once it is done.
#[must_use = "its panic is lost if nobody joins it"]
#[derive(Debug)]
pub struct Task<T> {
    slot: Arc<Slot<T>>,
    pool: Arc<Shared>,
}

#[derive(Debug)]
struct Slot<T> {
    result: Mutex<Option<Result<T>>>,
    is_done: AtomicBool,
    done: Signal,
}

impl<T: Send + 'static> Task<T> {
    pub(super) fn start(pool: &Arc<Shared>, work: impl FnOnce() -> T + Send + 'static) -> Self {
        let slot = Arc::new(Slot {
            result: Mutex::new(None),
            is_done: AtomicBool::new(false),
            done: Signal::new(),
        });
        let to = Arc::clone(&slot);
        let work = Box::new(move || to.put(catch_unwind(AssertUnwindSafe(work))));
        if let Err(refused) = pool.queue.push(work) {
            // The pool is being dropped, by work of its own.
            (refused.0)();
        }
        Self { slot, pool: Arc::clone(pool) }
    }
}

impl<T> Task<T> {
    /// Waits for the result.
    ///
    /// # Errors
    /// What the work has panicked with.
    ///
    /// # Panics
    /// Never: a task that is done has a result until it is joined.
    pub fn join(self) -> Result<T> {
        self.pool.wait(&self.slot.done, || self.is_done());
        self.slot.result.lock().take().expect("who is done has put a result")
    }

    /// Whether [`join`](Self::join) would not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.slot.is_done.load(Ordering::Acquire)
    }
}

impl<T> Slot<T> {
    fn put(&self, result: Result<T>) {
        *self.result.lock() = Some(result);
        self.is_done.store(true, Ordering::Release);
        self.done.notify_all();
    }
}
