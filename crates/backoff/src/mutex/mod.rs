//! A mutex that spins when that is worth it, lets a busy thread run on, and
//! starves nobody.

mod bells;
#[cfg(not(any(loom, miri)))]
mod fork;
mod lessons;
mod plain_sections;
mod policy;
mod raw;
mod waiting;
mod watch;
mod word;

pub(crate) use plain_sections::allow_plain_sections;
pub use raw::RawMutex;

/// A mutex that waits the right way on this machine: 56 bytes and the value.
///
/// Five ideas, each learned or measured, none of them a constant number of
/// turns:
///
/// - **A waiter spins for as long as is worth it**: twice the length of the
///   section, which the lock learns, and never longer than it costs to be
///   parked and woken, which [`calibrate`](crate::calibrate) measures. It does not spin where
///   others sleep already, where it lost its CPU, where the CPU quota is being
///   used up, and not at all as a real-time thread.
/// - **One waiter searches.** While it is awake, a release wakes nobody else.
/// - **A thread that keeps the lock busy by itself runs on.** Where the holder
///   is back sooner than a hand-over between CPUs takes, handing over makes
///   everybody slower. The others rest, without a trace in the lock, so the
///   holder goes at the speed of a lock without waiters.
/// - **Whoever finds nobody waiting pays for no waiter.** It releases the lock
///   with a store instead of an exchange, and a waiter that has to sleep beside
///   such a section makes up for it by `membarrier(2)`.
/// - **Nobody waits for ever.** Who has waited for a millisecond takes a
///   ticket, and the next releases hand the lock over in the order of tickets.
///   Where many wait, they take tickets 0.3 ms apart while that fits into
///   3 ms.
///
/// It is not fair below that: use it where throughput, CPU time and a bounded
/// wait count, not where each thread must have the same share. It does not
/// lend priority: between real-time threads of different priority use
/// `PTHREAD_PRIO_INHERIT`.
///
/// A panic while it is held releases it, and poisons nothing. A thread that
/// ends without running destructors never releases it; neither does, in the
/// child of `fork(2)`, a thread of the parent.
///
/// It is for the threads of one process. In memory that processes share
/// (`MAP_SHARED`), it excludes nobody reliably: what its waiters sleep on and how
/// they are told of each other belong to a process (`FUTEX_PRIVATE_FLAG` of
/// `futex(2)`, `membarrier(2)`). Use `PTHREAD_PROCESS_SHARED` there.
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
