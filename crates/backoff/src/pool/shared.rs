//! The queue that the threads of a pool share, and their main loop.

use core::any::Any;
use std::boxed::Box;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::WorkQueue;

/// An entry of the queue. When its turn comes, the thread that waits for the work may
/// have done it already.
pub(super) trait Run: Send + Sync {
    /// Runs the work, unless it has begun.
    fn run(&self);
}

/// Leaks a panic's payload, because dropping it may panic in turn.
pub(super) fn leak(panic: Box<dyn Any + Send>) {
    let _: &mut (dyn Any + Send) = Box::leak(panic);
}

/// State that the threads of a pool share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) queue: WorkQueue<Arc<dyn Run>>,
}

std::thread_local! {
    /// The pool whose work this thread runs.
    static WORKS_FOR: Cell<*const Shared> = const { Cell::new(core::ptr::null()) };
}

impl Shared {
    /// The main loop of a pool's thread.
    pub(super) fn work(self: Arc<Self>) {
        WORKS_FOR.set(Arc::as_ptr(&self));
        while let Some(work) = self.queue.pop() {
            do_and_drop(work);
        }
    }

    /// Whether the calling thread belongs to the pool.
    pub(super) fn is_mine(&self) -> bool {
        core::ptr::eq(WORKS_FOR.get(), self)
    }

    pub(super) fn give(&self, work: Arc<dyn Run>) {
        if let Err(refused) = self.queue.push(work) {
            // The pool is being dropped by its own work.
            do_and_drop(refused.0);
        }
    }
}

/// Runs the work and drops it. If this is the last owner of the result, its
/// destructor may panic; that panic is discarded.
fn do_and_drop(work: Arc<dyn Run>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| {
        work.run();
        drop(work);
    })) {
        leak(panic);
    }
}
