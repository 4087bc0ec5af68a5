//! Work that borrows.

use core::any::Any;
use core::marker::PhantomData;
use core::mem;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::{Shared, Work};
use crate::{Mutex, Signal};

/// To which work is given that borrows what outlives
/// [`Pool::scope`](super::Pool::scope).
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    pool: &'scope Shared,
    state: Arc<State>,
    /// Neither lifetime may be made shorter or longer, as in
    /// [`std::thread::Scope`].
    inner: PhantomData<&'scope mut &'scope ()>,
    outer: PhantomData<&'env mut &'env ()>,
}

/// Owned by the scope and by each piece of its work, which is done with it
/// only after the scope may have gone.
#[derive(Debug, Default)]
struct State {
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
    // Whatever happens, nothing that is borrowed may go before the work is done.
    pool.wait(&state.changed, || state.pending.load(Ordering::Acquire) == 0);
    let panic = state.panic.lock().take();
    match (result, panic) {
        (Ok(result), None) => result,
        (Err(panic), _) | (Ok(_), Some(panic)) => resume_unwind(panic),
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Gives work to the pool; it may give more work to the same scope.
    pub fn spawn<T>(&'scope self, work: impl FnOnce() -> T + Send + 'scope) {
        let state = Arc::clone(&self.state);
        state.pending.fetch_add(1, Ordering::Relaxed);
        let work: Box<dyn FnOnce() + Send + 'scope> = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(|| drop(work())));
            state.done(result.err());
        });
        #[allow(unsafe_code)]
        // SAFETY: only the lifetime is changed. The work is run or dropped
        // before `run` returns, hence within 'scope: it is counted as pending,
        // `run` waits until nothing is, and the work ends the count with its
        // last action, after `work` and its result are gone.
        let work = unsafe { mem::transmute::<Box<dyn FnOnce() + Send + 'scope>, Work>(work) };
        if let Err(refused) = self.pool.queue.push(work) {
            // The pool is being dropped, by work of its own.
            (refused.0)();
        }
    }
}

impl State {
    fn done(&self, panic: Option<Box<dyn Any + Send>>) {
        if let Some(panic) = panic {
            self.panic.lock().get_or_insert(panic);
        }
        if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.changed.notify_all();
        }
    }
}
