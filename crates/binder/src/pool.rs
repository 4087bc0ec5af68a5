//! Serves calls on as many threads as there are calls at the same time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::looper::{Entry, LoopContext, Looper};
use crate::notice::Notice;
use crate::payload::Payload;
use crate::request::{Answer, Request, Served};
use crate::stop::Stopper;

/// Time between two wake-ups, as a thread may miss one.
const WAKE_AGAIN: Duration = Duration::from_millis(10);

/// A server's threads: the first one, and those that the driver asks for.
pub(crate) struct Pool<'a, H> {
    driver: &'a Arc<dyn Driver>,
    stopper: &'a Stopper,
    notices: &'a (dyn Fn(Notice) + Sync),
    handler: H,
    halt: AtomicBool,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: u32,
    served: Served,
    error: Option<Error>,
}

impl<'a, H> Pool<'a, H>
where
    H: Fn(&Request<'_>, &mut Payload) -> Answer + Sync,
{
    pub(crate) fn new(
        driver: &'a Arc<dyn Driver>,
        stopper: &'a Stopper,
        notices: &'a (dyn Fn(Notice) + Sync),
        handler: H,
    ) -> Self {
        Self {
            driver,
            stopper,
            notices,
            handler,
            halt: AtomicBool::new(false),
            state: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    /// Serves on this thread with `looper`, and on others, until one has a reason to
    /// stop. Returns the first error.
    pub(crate) fn run(self, looper: &mut Looper) -> Result<Served> {
        thread::scope(|scope| {
            let _all = WaitForAll(&self);
            self.count_in();
            self.work(scope, looper, Entry::Enter);
        });
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match state.error {
            Some(error) => Err(error),
            None => Ok(state.served),
        }
    }

    fn work<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        looper: &mut Looper,
        entry: Entry,
    ) {
        let _in_pool = ThreadInPool(self);
        let spawn = || {
            self.count_in();
            let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                let mut looper = Looper::new(Arc::clone(self.driver));
                self.work(scope, &mut looper, Entry::Register);
            });
            // The pool goes on with one thread fewer: the driver does not ask
            // again.
            if spawned.is_err() {
                self.count_out();
            }
        };
        let context = LoopContext {
            stopper: self.stopper,
            halt: &self.halt,
            notices: &self.notices,
            spawn: &spawn,
        };
        let outcome = looper.run(entry, &context, &self.handler);
        let mut state = self.lock();
        match outcome {
            Ok(served) => state.served.add(served),
            Err(error) => {
                state.error.get_or_insert(error);
            }
        }
    }
}

impl<H> Pool<'_, H> {
    fn count_in(&self) {
        let mut state = self.lock();
        state.running = state.running.saturating_add(1);
    }

    fn count_out(&self) {
        let mut state = self.lock();
        state.running = state.running.saturating_sub(1);
        drop(state);
        self.ended.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread in the pool. When it ends, even by a panic, all threads must end.
struct ThreadInPool<'p, 'a, H>(&'p Pool<'a, H>);

impl<H> Drop for ThreadInPool<'_, '_, H> {
    fn drop(&mut self) {
        let Self(pool) = self;
        // Pairs with the load in `LoopContext::is_over`.
        pool.halt.store(true, Ordering::Release);
        pool.count_out();
        // `WaitForAll` repeats this for threads that miss it.
        let _woken = pool.driver.wake();
    }
}

/// Waits until every thread has ended, and wakes them again and again: the driver
/// written in Rust can miss a wake-up of a thread that is about to wait.
struct WaitForAll<'p, 'a, H>(&'p Pool<'a, H>);

impl<H> Drop for WaitForAll<'_, '_, H> {
    fn drop(&mut self) {
        let Self(pool) = self;
        let mut state = pool.lock();
        while state.running > 0 {
            let _woken = pool.driver.wake();
            state = pool
                .ended
                .wait_timeout(state, WAKE_AGAIN)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;

    use super::*;
    use crate::driver::Transfer;
    use crate::mapping::Mapping;
    use crate::protocol::{
        BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_REGISTER_LOOPER, BR_NOOP, BR_SPAWN_LOOPER,
        BR_TRANSACTION, BR_TRANSACTION_COMPLETE, ExtendedError, FlatObject, TransactionData,
    };
    use crate::scripted::Bytes;
    use crate::server::Server;

    /// A driver that gives each waiting thread the next returns of a queue, and lets
    /// it wait while the queue is empty.
    #[derive(Debug)]
    struct Line {
        mapping: Mapping,
        state: Mutex<(VecDeque<Vec<u8>>, u64)>,
        changed: Condvar,
        entries: Mutex<Vec<u32>>,
    }

    impl Line {
        fn new(line: impl IntoIterator<Item = Vec<u8>>) -> Arc<Self> {
            Arc::new(Self {
                mapping: Mapping::anonymous(4096),
                state: Mutex::new((line.into_iter().collect(), 0)),
                changed: Condvar::new(),
                entries: Mutex::default(),
            })
        }

        fn times(&self, code: u32) -> usize {
            self.entries.lock().unwrap().iter().filter(|entry| **entry == code).count()
        }

        fn next(&self) -> Vec<u8> {
            let mut state = self.state.lock().unwrap();
            let wakes = state.1;
            loop {
                if let Some(next) = state.0.pop_front() {
                    return next;
                }
                if state.1 != wakes {
                    return Bytes::default().code(BR_NOOP).into();
                }
                state = self.changed.wait(state).unwrap();
            }
        }
    }

    // SAFETY: every payload is empty.
    unsafe impl Driver for Line {
        fn device(&self) -> &Path {
            Path::new("/dev/line")
        }

        fn mapping(&self) -> &Mapping {
            &self.mapping
        }

        unsafe fn write_read(&self, transfer: &mut Transfer<'_>) -> io::Result<()> {
            transfer.consumed = transfer.commands.len();
            if let Ok(code) = <[u8; 4]>::try_from(transfer.commands) {
                self.entries.lock().unwrap().push(u32::from_ne_bytes(code));
            }
            if !transfer.returns.is_empty() {
                let next = if transfer.commands.is_empty() {
                    self.next()
                } else {
                    Bytes::default().code(BR_TRANSACTION_COMPLETE).into()
                };
                transfer.returns[..next.len()].copy_from_slice(&next);
                transfer.returned = next.len();
            }
            Ok(())
        }

        fn set_max_threads(&self, threads: u32) -> io::Result<()> {
            assert_eq!(threads, 2);
            Ok(())
        }

        fn set_context_manager_object(&self, _: &FlatObject) -> io::Result<()> {
            Ok(())
        }

        fn set_context_manager(&self) -> io::Result<()> {
            Ok(())
        }

        fn extended_error(&self) -> io::Result<ExtendedError> {
            Err(io::Error::from_raw_os_error(libc::EINVAL))
        }

        fn thread_exit(&self) -> io::Result<()> {
            Ok(())
        }

        fn wake(&self) -> io::Result<()> {
            self.state.lock().unwrap().1 += 1;
            self.changed.notify_all();
            Ok(())
        }
    }

    fn asks_for_a_thread(line: &Line) -> Vec<u8> {
        Bytes::default().code(BR_SPAWN_LOOPER).with(BR_TRANSACTION, &call(line)).into()
    }

    fn call(line: &Line) -> TransactionData {
        TransactionData { buffer: line.mapping.deliver(0, &[]), ..TransactionData::default() }
    }

    /// A queue of three calls, the first two with a request for one more thread.
    fn three_calls() -> Arc<Line> {
        let line = Line::new([]);
        let calls = [
            asks_for_a_thread(&line),
            asks_for_a_thread(&line),
            Bytes::default().code(BR_NOOP).with(BR_TRANSACTION, &call(&line)).into(),
        ];
        line.state.lock().unwrap().0.extend(calls);
        line
    }

    #[test]
    fn threads_are_started_when_asked_for_and_all_end_with_the_first() {
        let line = three_calls();
        let mut server = Server::new(Arc::clone(&line) as Arc<dyn Driver>);
        // No call ends before all have begun, so each has its own thread.
        let together = std::sync::Barrier::new(3);
        let outcome = server.serve_threads(3, |_, _| {
            if together.wait().is_leader() { Answer::ReplyAndStop } else { Answer::Reply }
        });
        assert_eq!(outcome.unwrap(), Served { calls: 3, undelivered: 0, threads: 3 });
        let counts = [BC_ENTER_LOOPER, BC_REGISTER_LOOPER, BC_EXIT_LOOPER];
        assert_eq!(counts.map(|code| line.times(code)), [1, 2, 3]);
    }

    #[test]
    fn one_broken_thread_ends_them_all() {
        let line = three_calls();
        line.state.lock().unwrap().0.push_back(vec![0; 4]);
        let mut server = Server::new(Arc::clone(&line) as Arc<dyn Driver>);
        let error = server.serve_threads(3, |_, _| Answer::Reply).unwrap_err();
        assert!(error.to_string().ends_with("unknown return code 0x0"), "{error}");
    }

    #[test]
    fn a_handler_that_panics_ends_them_all() {
        let line = three_calls();
        let mut server = Server::new(Arc::clone(&line) as Arc<dyn Driver>);
        let together = std::sync::Barrier::new(3);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            server.serve_threads(3, |_, _| {
                assert!(!together.wait().is_leader(), "on purpose");
                Answer::Reply
            })
        }));
        assert!(outcome.is_err());
    }

    #[test]
    fn a_stopper_ends_all_threads() {
        let line = three_calls();
        let mut server = Server::new(Arc::clone(&line) as Arc<dyn Driver>);
        let stopper = server.stopper();
        let together = std::sync::Barrier::new(3);
        let outcome = server.serve_threads(3, |_, _| {
            together.wait();
            stopper.stop().unwrap();
            Answer::Reply
        });
        assert_eq!(outcome.unwrap().calls, 3);
    }
}
