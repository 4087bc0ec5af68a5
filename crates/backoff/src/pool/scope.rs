//! Scoped work, which may borrow.

use core::any::Any;
use core::marker::PhantomData;
use core::mem;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::boxed::Box;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::shared::{Run, Shared, leak};
use crate::{Mutex, Signal};

/// Takes work that borrows from the caller of [`Pool::scope`](super::Pool::scope).
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    pool: &'scope Shared,
    state: Arc<State>,
    /// Makes both lifetimes invariant, as in [`std::thread::Scope`].
    inner: PhantomData<&'scope mut &'scope ()>,
    outer: PhantomData<&'env mut &'env ()>,
}

type Work = Box<dyn FnOnce() + Send>;

/// Owned by the scope and, for each piece of its work, by the pool, whose queue may
/// reach it only after the scope has ended.
#[derive(Default)]
struct State {
    /// Work that has not begun.
    work: Mutex<VecDeque<Work>>,
    /// Work that is not done.
    pending: AtomicUsize,
    changed: Signal,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

pub(super) fn run<'env, T>(
    pool: &Shared,
    with: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    let state = Arc::new(State::default());
    let scope = Scope { pool, state: Arc::clone(&state), inner: PhantomData, outer: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| with(&scope)));
    // Even after a panic, borrowed data must live until the work is done.
    state.wait(pool.is_mine());
    let panic = state.panic.lock().take();
    match (result, panic) {
        (Ok(result), None) => result,
        (Err(panic), _) | (Ok(_), Some(panic)) => resume_unwind(panic),
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Gives work to the pool; it may give more work to the same scope.
    pub fn spawn<T>(&'scope self, work: impl FnOnce() -> T + Send + 'scope) {
        self.state.pending.fetch_add(1, Ordering::Relaxed);
        let state = Arc::clone(&self.state);
        let work: Box<dyn FnOnce() + Send + 'scope> = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(|| drop(work())));
            state.done(result.err());
        });
        #[allow(unsafe_code)]
        // SAFETY: only the lifetime is changed. The work is run before `run`
        // returns, hence within 'scope: it is counted as pending, `run` waits
        // until nothing is, and the work ends the count with its last action,
        // after `work` and its result are gone.
        let work = unsafe { mem::transmute::<Box<dyn FnOnce() + Send + 'scope>, Work>(work) };
        self.state.work.lock().push_back(work);
        self.pool.give(Arc::clone(&self.state) as Arc<dyn Run>);
        self.state.changed.notify_all();
    }
}

impl State {
    /// Waits until all work is done. A thread of the pool runs the work that has not
    /// begun, because all other threads might wait as well. It runs no other work,
    /// which might wait in turn, and so on until the stack overflows.
    fn wait(&self, helps: bool) {
        let is_done = || self.pending.load(Ordering::Acquire) == 0;
        while !is_done() {
            if !(helps && self.do_one()) {
                let has_work = || helps && !self.work.lock().is_empty();
                self.changed.wait_until(|| is_done() || has_work());
            }
        }
    }

    /// Runs one piece of work, if there is one.
    fn do_one(&self) -> bool {
        let work = self.work.lock().pop_front();
        work.map(|work| work()).is_some()
    }

    fn done(&self, panic: Option<Box<dyn Any + Send>>) {
        if let Some(panic) = panic {
            let mut first = self.panic.lock();
            match *first {
                None => *first = Some(panic),
                // Dropping it may panic, before the work is counted as done.
                Some(_) => leak(panic),
            }
        }
        if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.changed.notify_all();
        }
    }
}

impl Run for State {
    fn run(&self) {
        self.do_one();
    }
}

impl core::fmt::Debug for State {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("State").field("pending", &self.pending).finish_non_exhaustive()
    }
}
