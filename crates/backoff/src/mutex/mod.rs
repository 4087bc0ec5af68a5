//! A mutex that spins while that pays, lets a busy thread continue, and starves no
//! thread.

#[cfg(not(any(loom, miri)))]
mod fork;
mod learned_times;
mod plain_sections;
mod policy;
mod raw;
mod wait_buckets;
mod watch;
mod word;

pub(crate) use plain_sections::allow_plain_sections;
pub use raw::RawMutex;

/// A mutex whose waits adapt to this machine: 56 bytes and the value.
///
/// It rests on five ideas, all of them learned or measured, without a constant
/// number of iterations:
///
/// - **A waiter spins for as long as that pays**: twice the length of the section,
///   which the lock learns, and never longer than being parked and woken takes,
///   which [`calibrate`](crate::calibrate) measures. It does not spin if others
///   sleep already, if it lost its CPU, if the CPU quota is being used up, or if it
///   is a real-time thread.
/// - **One waiter searches.** While it is awake, a release wakes no other waiter.
/// - **A thread that keeps the lock busy continues.** If the holder is back sooner
///   than a hand-off between CPUs takes, handing over makes all threads slower. The
///   others rest without a trace in the lock, so the holder is as fast as without
///   waiters.
/// - **A release without waiters is a store** instead of an exchange. A waiter that
///   has to sleep beside such a section compensates for that with `membarrier(2)`.
/// - **No thread waits for ever.** A thread that has waited for a millisecond takes
///   a ticket, and the next releases hand the lock over in the order of tickets. If
///   many wait, they take tickets 0.3 ms apart.
///
/// It is not fair below that: use it for throughput, low CPU time and bounded waits,
/// not where each thread must get the same share. It does not lend priority: between
/// real-time threads of different priorities use `PTHREAD_PRIO_INHERIT`.
///
/// A panic in a section releases the lock without poisoning it. A thread that ends
/// without running destructors never releases it. In the child of `fork(2)`, locks
/// held by other threads of the parent stay held.
///
/// It is for the threads of one process. In memory that processes share
/// (`MAP_SHARED`) it does not exclude reliably, because the words that its waiters
/// sleep on, and the way they learn of each other, belong to one process
/// (`FUTEX_PRIVATE_FLAG` of `futex(2)`, `membarrier(2)`). Use
/// `PTHREAD_PROCESS_SHARED` there.
///
/// ```
/// use unjank_backoff::Mutex;
///
/// static COUNT: Mutex<u64> = Mutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| {
///             for _ in 0..1_000 {
///                 *COUNT.lock() += 1;
///             }
///         });
///     }
/// });
/// assert_eq!(*COUNT.lock(), 4_000);
/// ```
#[cfg(not(loom))]
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;

/// Holds a [`Mutex`] and releases it when dropped.
#[cfg(not(loom))]
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;
