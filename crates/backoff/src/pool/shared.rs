//! The queue that the threads of a pool share, and what they do with it.

use core::any::Any;
use std::boxed::Box;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::WorkQueue;

/// A place in the queue: work that may have been done by whoever waits for it
/// when the queue comes to it.
pub(super) trait Run: Send + Sync {
    /// Does it, if nobody has begun it.
    fn run(&self);
}

/// Drops nothing: that may panic in turn.
pub(super) fn leak(panic: Box<dyn Any + Send>) {
    let _: &mut (dyn Any + Send) = Box::leak(panic);
}

/// What the threads share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) queue: WorkQueue<Arc<dyn Run>>,
}

std::thread_local! {
    /// The pool whose work this thread runs.
    static WORKS_FOR: Cell<*const Shared> = const { Cell::new(core::ptr::null()) };
}

impl Shared {
    /// What a thread of the pool does until the end.
    pub(super) fn work(self: Arc<Self>) {
        WORKS_FOR.set(Arc::as_ptr(&self));
        while let Some(work) = self.queue.pop() {
            do_and_drop(work);
        }
    }

    /// Whether the calling thread is one of the pool's.
    pub(super) fn is_mine(&self) -> bool {
        core::ptr::eq(WORKS_FOR.get(), self)
    }

    pub(super) fn give(&self, work: Arc<dyn Run>) {
        if let Err(refused) = self.queue.push(work) {
            // The pool is being dropped, by work of its own.
            do_and_drop(refused.0);
        }
    }
}

/// Does the work and lets go of it. The result may have no other owner, and a
/// destructor that panics; nobody is left to be told.
fn do_and_drop(work: Arc<dyn Run>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| {
        work.run();
        drop(work);
    })) {
        leak(panic);
    }
}
