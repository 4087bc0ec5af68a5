//! A work queue for threads.

use core::time::Duration;
use std::collections::VecDeque;
#[cfg(not(loom))]
use std::thread;

#[cfg(loom)]
use loom::thread;

#[cfg(not(loom))]
use crate::Mutex;
use crate::idle::{Gaps, IdlePlan, IdleStep};
use crate::spin_policy::Circumstances;
#[cfg(loom)]
use crate::sync::Mutex;
use crate::sync::{
    Acquire, AtomicBool, AtomicUsize, Relaxed, Release, SeqCst, const_except_in_models, fence,
};
use crate::ticks::Ticks;
use crate::{Signal, calibrate, hint, os, rate};

/// A first-in, first-out queue for any number of threads on both ends; unbounded,
/// and can be closed.
///
/// One idle thread polls the queue for as long as its gaps make that worthwhile
/// ([`idle`](crate::idle)); the others are parked. While the poller is awake, a push
/// makes no system call.
///
/// ```
/// use unjank_backoff::WorkQueue;
///
/// let queue = WorkQueue::new();
/// std::thread::scope(|scope| {
///     let sum = scope.spawn(|| {
///         let mut sum = 0;
///         while let Some(number) = queue.pop() {
///             sum += number;
///         }
///         sum
///     });
///     for number in 1..=10 {
///         queue.push(number).expect("it is open");
///     }
///     queue.close();
///     assert_eq!(sum.join().unwrap(), 55);
/// });
/// ```
pub struct WorkQueue<T> {
    inner: Mutex<Inner<T>>,
    /// The number of items, for readers without the lock.
    length: AtomicUsize,
    is_closed: AtomicBool,
    /// A thread polls, or naps until it is time to.
    has_poller: AtomicBool,
    /// The poller is awake and sees a push without a wake-up.
    watched: AtomicBool,
    changed: Signal,
}

struct Inner<T> {
    items: VecDeque<T>,
    /// The time since which a thread is without work, if nothing was pushed since.
    /// Threads take turns, so the waits of a single thread would span several gaps.
    idle_since: Option<Ticks>,
    gaps: Gaps,
}

/// The queue is closed. Contains the value that could not be pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed<T>(pub T);

impl<T> core::fmt::Display for Closed<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the queue is closed")
    }
}

impl<T: core::fmt::Debug> core::error::Error for Closed<T> {}

impl<T> WorkQueue<T> {
    const_except_in_models! {
        /// An open, empty queue.
        #[must_use]
        pub const fn new() -> Self {
            Self::expecting(Gaps::NONE)
        }
    }

    const_except_in_models! {
        /// An open, empty queue that expects these gaps until it has measured some.
        #[must_use]
        pub const fn expecting(gaps: Gaps) -> Self {
            let inner = Inner { items: VecDeque::new(), idle_since: None, gaps };
            Self {
                inner: Mutex::new(inner),
                length: AtomicUsize::new(0),
                is_closed: AtomicBool::new(false),
                has_poller: AtomicBool::new(false),
                watched: AtomicBool::new(false),
                changed: Signal::new(),
            }
        }
    }

    /// Adds a value at the end.
    ///
    /// # Errors
    /// [`Closed`], with the value, after [`close`](Self::close).
    pub fn push(&self, value: T) -> Result<(), Closed<T>> {
        let mut inner = self.inner.lock();
        if self.is_closed.load(Relaxed) {
            return Err(Closed(value));
        }
        inner.learn_gap();
        inner.items.push_back(value);
        let length = self.note_length(&inner);
        drop(inner);
        self.wake_for(length);
        Ok(())
    }

    /// Takes the first value, if there is one.
    pub fn try_pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut inner = self.inner.lock();
        let item = inner.items.pop_front();
        let left = self.note_length(&inner);
        drop(inner);
        // The pusher of the rest may have relied on this thread to take it.
        self.wake_for(left);
        item
    }

    /// Takes the first value, and waits for one if necessary. `None` if the queue is
    /// closed and empty.
    pub fn pop(&self) -> Option<T> {
        loop {
            if let Some(item) = self.try_pop() {
                return Some(item);
            }
            if self.is_closed() && self.is_empty() {
                return None;
            }
            if let Some((since, gaps)) = self.idle()
                && !self.poll_or_nap(since, gaps)
            {
                self.changed.park_until(|| self.has_news());
            }
        }
    }

    /// Closes the queue: it takes no more values and keeps those that it has. Waiting
    /// threads return once it is empty.
    pub fn close(&self) {
        let inner = self.inner.lock();
        self.is_closed.store(true, Release);
        drop(inner);
        self.changed.notify_all();
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        // Acquire: what was pushed before is visible.
        self.is_closed.load(Acquire)
    }

    /// The number of values, at some moment during the call.
    pub fn len(&self) -> usize {
        self.length.load(Relaxed)
    }

    /// Whether it is empty, at some moment during the call.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn has_news(&self) -> bool {
        !self.is_empty() || self.is_closed()
    }

    /// Wakes a thread if there is more work than the poller will take. Either the
    /// pusher sees that no thread polls, or a thread that has just stopped polling
    /// sees the push before it parks: pairs with the fence of [`Signal`] there.
    fn wake_for(&self, length: usize) {
        fence(SeqCst);
        if length > usize::from(self.watched.load(Relaxed)) {
            self.changed.notify_one();
        }
    }

    fn note_length(&self, inner: &Inner<T>) -> usize {
        self.length.store(inner.items.len(), Relaxed);
        inner.items.len()
    }

    /// Notes that the calling thread is without work. Returns since when some thread
    /// is, and the learned gaps; `None` if there is work.
    fn idle(&self) -> Option<(Ticks, Gaps)> {
        let mut inner = self.inner.lock();
        if !inner.items.is_empty() {
            return None;
        }
        Some((*inner.idle_since.get_or_insert_with(Ticks::now), inner.gaps))
    }

    /// Polls the queue, if no other thread does and it is worthwhile. Returns whether
    /// the calling thread should try to pop again before it parks.
    fn poll_or_nap(&self, since: Ticks, gaps: Gaps) -> bool {
        rate::learn_rate(false);
        let park = calibrate::known().park;
        let plan = IdlePlan::new(gaps, park, os::is_squeezed());
        if !plan.polls() || self.has_poller.swap(true, Relaxed) {
            os::check_for_squeeze();
            return false;
        }
        if plan.naps() {
            os::check_for_squeeze();
        }
        let again = match plan.next(since.elapsed()) {
            // A parked thread may have taken what was pushed meanwhile, so a new gap
            // may have begun.
            IdleStep::Nap(left) => {
                self.nap(left);
                true
            }
            _ => self.look(since, &plan),
        };
        self.has_poller.store(false, Relaxed);
        again
    }

    /// Polls. Returns whether there is work or the queue is closed.
    fn look(&self, since: Ticks, plan: &IdlePlan) -> bool {
        self.watched.store(true, Relaxed);
        while let IdleStep::Look { looks, pauses } = plan.next(since.elapsed()) {
            if hint::look(looks, pauses, || self.has_news()) || os::is_real_time() {
                break;
            }
            if plan.naps() {
                self.give_way();
            }
        }
        self.watched.store(false, Relaxed);
        self.has_news()
    }

    /// Yields, because the next pusher may have been woken on this CPU. If another
    /// thread then keeps the CPU for long, the nap ended at a bad time.
    fn give_way(&self) {
        let begun = Ticks::now();
        thread::yield_now();
        let away = begun.elapsed();
        if Circumstances::is_switched_out(away) {
            self.overslept(away);
        }
    }

    /// Sleeps for `left`, unless woken by a push.
    fn nap(&self, left: Ticks) {
        let begun = Ticks::now();
        let is_woken = os::with_exact_timers(|| {
            self.changed.park_until_for(|| self.has_news(), Duration::from(left))
        });
        let slept = begun.elapsed();
        // A wake-up after the planned end of the nap counts as oversleeping as well.
        if !is_woken || slept > left {
            self.overslept(slept - left);
        }
    }

    fn overslept(&self, by: Ticks) {
        let mut inner = self.inner.lock();
        inner.gaps = inner.gaps.overslept(by);
    }
}

impl<T> Inner<T> {
    /// Called by a push: ends the gap if a thread was without work.
    fn learn_gap(&mut self) {
        if let Some(since) = self.idle_since.take() {
            self.gaps = self.gaps.with(since.elapsed());
        }
    }
}

impl<T> Default for WorkQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> core::fmt::Debug for WorkQueue<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WorkQueue")
            .field("len", &self.len())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn first_in_first_out() {
        let queue = WorkQueue::default();
        for number in 0..3 {
            queue.push(number).unwrap();
        }
        assert_eq!(queue.len(), 3);
        assert_eq!([queue.pop(), queue.try_pop(), queue.pop()], [Some(0), Some(1), Some(2)]);
        assert_eq!(queue.try_pop(), None);
    }

    #[test]
    fn a_closed_queue_is_emptied_and_takes_nothing() {
        let queue = WorkQueue::new();
        queue.push(1).unwrap();
        queue.close();
        assert_eq!(queue.push(2), Err(Closed(2)));
        assert_eq!([queue.pop(), queue.pop()], [Some(1), None]);
    }

    #[test]
    fn closing_ends_all_waits() {
        let queue = WorkQueue::<u8>::new();
        thread::scope(|scope| {
            let waiters: std::vec::Vec<_> = (0..4).map(|_| scope.spawn(|| queue.pop())).collect();
            thread::sleep(Duration::from_millis(5));
            queue.close();
            for waiter in waiters {
                assert_eq!(waiter.join().unwrap(), None);
            }
        });
    }

    #[test]
    fn nothing_is_lost_and_nothing_comes_twice() {
        let each = if cfg!(miri) { 30 } else { 20_000_u64 };
        let queue = WorkQueue::new();
        let sum: u64 = thread::scope(|scope| {
            let takers: std::vec::Vec<_> = (0..3)
                .map(|_| scope.spawn(|| core::iter::from_fn(|| queue.pop()).sum::<u64>()))
                .collect();
            let givers: std::vec::Vec<_> = (0..3)
                .map(|_| scope.spawn(|| (1..=each).for_each(|number| queue.push(number).unwrap())))
                .collect();
            for giver in givers {
                giver.join().unwrap();
            }
            queue.close();
            takers.into_iter().map(|taker| taker.join().unwrap()).sum()
        });
        assert_eq!(sum, 3 * each * (each + 1) / 2);
    }

    #[test]
    fn gaps_are_learned() {
        let queue = WorkQueue::new();
        thread::scope(|scope| {
            scope.spawn(|| while queue.pop().is_some() {});
            for _ in 0..5 {
                while queue.inner.lock().idle_since.is_none() {
                    thread::yield_now();
                }
                queue.push(()).unwrap();
            }
            queue.close();
        });
        assert!(queue.inner.lock().gaps.mean.0 > 0);
    }

    /// A gap does not begin again with each further idle thread.
    #[test]
    fn a_gap_is_from_the_first_thread_without_work_until_the_next_push() {
        let queue = WorkQueue::new();
        let (first, _) = queue.idle().unwrap();
        let (second, _) = queue.idle().unwrap();
        assert_eq!(first, second);
        queue.push(()).unwrap();
        queue.push(()).unwrap();
        assert_eq!(queue.inner.lock().idle_since, None);
        assert_eq!(queue.idle(), None, "there is work");
        let learned = queue.inner.lock().gaps;
        assert!(learned.mean.0 > 0);
        assert_eq!([queue.try_pop(), queue.try_pop()], [Some(()); 2]);
        let (third, gaps) = queue.idle().unwrap();
        assert!(third > first && gaps == learned, "time with busy threads is no gap");
    }
}
