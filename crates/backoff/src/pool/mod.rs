//! A thread pool over a [`WorkQueue`].

mod scope;
mod shared;
mod task;

use std::format;
use std::io;
use std::string::String;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::vec::Vec;

pub use scope::Scope;
pub use task::Task;

use crate::{WorkQueue, calibrate};
use shared::Shared;

/// A pool of threads that run work, first in, first out.
///
/// An idle pool uses no CPU. If work comes in short or steady gaps, one thread is
/// awake for it ([`idle`](crate::idle)), so that the work starts within a microsecond
/// and without a system call. The first pool of a process takes two milliseconds to
/// [calibrate](calibrate::calibrate), and up to twenty more if there are other
/// threads.
///
/// A panic is passed to the thread that waits for the work. Dropping the pool
/// finishes all work and ends the threads.
///
/// ```
/// use unjank_backoff::Pool;
///
/// let pool = Pool::new(2)?;
///
/// // Work with a result:
/// let answer = pool.spawn(|| 6 * 7);
/// assert_eq!(answer.join().unwrap(), 42);
///
/// // Work that borrows:
/// let mut words = ["late", "early"].map(String::from);
/// pool.scope(|scope| {
///     for word in &mut words {
///         scope.spawn(|| word.push('!'));
///     }
/// });
/// assert_eq!(words, ["late!", "early!"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of this many threads, at least one, called `pool-0` and so on.
    ///
    /// # Errors
    /// The operating system could not start a thread; those already started end.
    pub fn new(threads: usize) -> io::Result<Self> {
        Self::named("pool", threads)
    }

    /// A pool with a thread for each CPU that the process may use, by its affinity and
    /// its CPU quota.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn for_all_cpus() -> io::Result<Self> {
        Self::new(thread::available_parallelism()?.get())
    }

    /// A pool whose threads are called `name-0` and so on.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn named(name: &str, threads: usize) -> io::Result<Self> {
        calibrate::calibrate();
        let shared = Arc::new(Shared { queue: WorkQueue::new() });
        let mut pool = Self { shared, threads: Vec::new() };
        for n in 0..threads.max(1) {
            pool.start(format!("{name}-{n}"))?;
        }
        Ok(pool)
    }

    /// Gives work to the pool. Dropping the task does not stop it.
    pub fn spawn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        Task::start(&self.shared, work)
    }

    /// Runs `with` on this thread, and returns when all work of its [`Scope`] is done.
    /// So the work may borrow from the caller.
    ///
    /// # Panics
    /// With the panic of `with`, or else with the first panic of its work.
    pub fn scope<'env, T>(
        &self,
        with: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    ) -> T {
        scope::run(&self.shared, with)
    }

    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The number of pieces of work in the queue. A waiting thread may have done some
    /// of them already.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.shared.queue.len()
    }

    fn start(&mut self, name: String) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name(name).spawn(move || shared.work())?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.queue.close();
        let this = thread::current().id();
        for thread in self.threads.drain(..) {
            // A pool that is dropped by its own work cannot wait for that work.
            if thread.thread().id() != this {
                // `do_and_drop` catches all panics, so the thread has not panicked.
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    #[test]
    fn work_is_done_and_returned() {
        let pool = Pool::new(3).unwrap();
        assert_eq!(pool.threads(), 3);
        let tasks: Vec<_> = (0..100_u64).map(|n| pool.spawn(move || n * n)).collect();
        let sum: u64 = tasks.into_iter().map(|task| task.join().unwrap()).sum();
        assert_eq!(sum, 328_350);
    }

    #[test]
    fn a_panic_reaches_the_waiting_thread_and_the_pool_goes_on() {
        let pool = Pool::new(1).unwrap();
        let task = pool.spawn(|| panic!("as expected"));
        let panic = task.join().unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"as expected"));
        assert_eq!(pool.spawn(|| 1).join().unwrap(), 1);
    }

    /// A result that panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(thread::panicking(), "as expected");
        }
    }

    /// Discards a task: its result panics on the thread that drops it last.
    fn discard(task: Task<Bomb>) {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(task)));
    }

    #[test]
    fn discarded_results_may_panic() {
        let pool = Pool::new(1).unwrap();
        let task = pool.spawn(|| Bomb);
        while !task.is_done() {
            thread::yield_now();
        }
        discard(task);
        discard(pool.spawn(|| Bomb));
        let done = AtomicUsize::new(0);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                scope.spawn(|| Bomb);
                scope.spawn(|| Bomb);
                scope.spawn(|| {
                    discard(pool.spawn(|| Bomb));
                    pool.scope(|inner| inner.spawn(|| done.fetch_add(1, Ordering::SeqCst)));
                });
            });
        }));
        assert!(caught.is_err());
        assert_eq!(done.load(Ordering::SeqCst), 1);
        assert_eq!(pool.spawn(|| 1).join().unwrap(), 1, "its thread lives");
    }

    #[test]
    fn work_that_waits_for_work_does_not_pile_up() {
        const JOBS: usize = if cfg!(miri) { 50 } else { 20_000 };
        let pool = Arc::new(Pool::new(1).unwrap());
        let done = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..JOBS)
            .map(|_| {
                let (pool, done) = (Arc::clone(&pool), Arc::clone(&done));
                pool.clone().spawn(move || {
                    pool.scope(|scope| scope.spawn(|| done.fetch_add(1, Ordering::SeqCst)));
                })
            })
            .collect();
        for task in tasks {
            task.join().unwrap();
        }
        assert_eq!(done.load(Ordering::SeqCst), JOBS);
    }

    #[test]
    fn dropping_the_pool_finishes_its_work() {
        let done = Arc::new(AtomicUsize::new(0));
        let pool = Pool::named("drop", 2).unwrap();
        for _ in 0..50 {
            let done = Arc::clone(&done);
            drop(pool.spawn(move || {
                thread::sleep(Duration::from_micros(100));
                done.fetch_add(1, Ordering::SeqCst)
            }));
        }
        drop(pool);
        assert_eq!(done.load(Ordering::SeqCst), 50);
    }

    #[test]
    fn a_scope_borrows_and_waits() {
        let pool = Pool::for_all_cpus().unwrap();
        let mut numbers: Vec<usize> = (0..1_000).collect();
        pool.scope(|scope| {
            for chunk in numbers.chunks_mut(100) {
                scope.spawn(move || chunk.iter_mut().for_each(|number| *number += 1));
            }
        });
        assert_eq!(numbers.iter().sum::<usize>(), 500_500);
    }

    #[test]
    fn work_gives_work() {
        let pool = Pool::new(1).unwrap();
        let done = AtomicUsize::new(0);
        pool.scope(|scope| {
            scope.spawn(|| {
                scope.spawn(|| done.fetch_add(1, Ordering::SeqCst));
                pool.scope(|inner| {
                    inner.spawn(|| done.fetch_add(10, Ordering::SeqCst));
                });
                assert!(done.load(Ordering::SeqCst) >= 10, "the inner scope waits");
            });
        });
        assert_eq!(done.load(Ordering::SeqCst), 11);
    }

    #[test]
    fn a_scope_passes_on_a_panic_after_all_work_is_done() {
        let pool = Pool::new(2).unwrap();
        let done = AtomicUsize::new(0);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                scope.spawn(|| panic!("the first"));
                for _ in 0..10 {
                    scope.spawn(|| {
                        thread::sleep(Duration::from_millis(1));
                        done.fetch_add(1, Ordering::SeqCst)
                    });
                }
            });
        }));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"the first"));
        assert_eq!(done.load(Ordering::SeqCst), 10);
    }

    #[test]
    fn a_scope_whose_own_part_panics_waits_first() {
        let pool = Pool::new(1).unwrap();
        let done = AtomicUsize::new(0);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(Duration::from_millis(2));
                    done.fetch_add(1, Ordering::SeqCst)
                });
                panic!("its own part");
            })
        }));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"its own part"));
        assert_eq!(done.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_pool_dropped_by_its_own_work_does_not_wait_for_itself() {
        let pool = Arc::new(Pool::new(1).unwrap());
        let inner = Arc::clone(&pool);
        let (go, when) = std::sync::mpsc::channel();
        let task = pool.spawn(move || {
            when.recv().unwrap();
            drop(inner);
        });
        drop(pool);
        go.send(()).unwrap();
        task.join().unwrap();
    }
}
