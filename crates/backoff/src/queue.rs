//! A queue of work, and threads that wait for it.

use core::time::Duration;
use std::collections::VecDeque;
#[cfg(not(loom))]
use std::thread;

#[cfg(loom)]
use loom::thread;

#[cfg(not(loom))]
use crate::Mutex;
use crate::idle::{Gaps, Idle, Idler};
use crate::ladder::Circumstances;
#[cfg(loom)]
use crate::sync::Mutex;
use crate::sync::{
    Acquire, AtomicBool, AtomicUsize, Relaxed, Release, SeqCst, const_except_in_models, fence,
};
use crate::ticks::Ticks;
use crate::{Signal, calibrate, hint, os, rate};

/// First in, first out, for any number of threads on both ends; unbounded, and
/// closed in the end.
///
/// One idle thread watches the queue for as long as its gaps make that
/// worthwhile ([`idle`](crate::idle)); the others are parked. While it is awake,
/// pushing costs no system call.
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
    /// How many there are, for those who look without the lock.
    length: AtomicUsize,
    is_closed: AtomicBool,
    /// A thread has taken it upon itself to watch, or naps until it is time to.
    has_watcher: AtomicBool,
    /// It is awake: it sees what is pushed without being woken.
    watched: AtomicBool,
    changed: Signal,
}

struct Inner<T> {
    items: VecDeque<T>,
    /// When a thread was last without work here, if nothing was pushed since.
    /// Threads take turns, so what each has waited for by itself would be the
    /// gaps of several pieces of work.
    idle_since: Option<Ticks>,
    gaps: Gaps,
}

/// The queue has been closed: what could not be pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed<T>(pub T);

impl<T> core::fmt::Display for Closed<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the queue has been closed")
    }
}

impl<T: core::fmt::Debug> core::error::Error for Closed<T> {}

impl<T> WorkQueue<T> {
    const_except_in_models! {
        /// An open queue without work.
        #[must_use]
        pub const fn new() -> Self {
            Self::expecting(Gaps::NONE)
        }
    }

    const_except_in_models! {
        /// An open queue without work, where such gaps are expected before any
        /// was seen.
        #[must_use]
        pub const fn expecting(gaps: Gaps) -> Self {
            let inner = Inner { items: VecDeque::new(), idle_since: None, gaps };
            Self {
                inner: Mutex::new(inner),
                length: AtomicUsize::new(0),
                is_closed: AtomicBool::new(false),
                has_watcher: AtomicBool::new(false),
                watched: AtomicBool::new(false),
                changed: Signal::new(),
            }
        }
    }

    /// Adds one at the end.
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

    /// Takes the first, if there is one.
    pub fn try_pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut inner = self.inner.lock();
        let item = inner.items.pop_front();
        let left = self.note_length(&inner);
        drop(inner);
        // Who pushed the rest may have counted on whoever takes this.
        self.wake_for(left);
        item
    }

    /// Takes the first, and waits for it if need be. `None` when the queue is
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
                && !self.watch(since, gaps)
            {
                self.changed.park_until(|| self.has_news());
            }
        }
    }

    /// Takes no more work; what is in the queue stays. Threads that wait for
    /// work return once it is empty.
    pub fn close(&self) {
        let inner = self.inner.lock();
        self.is_closed.store(true, Release);
        drop(inner);
        self.changed.notify_all();
    }

    /// Whether it has been closed.
    pub fn is_closed(&self) -> bool {
        // With what was pushed before.
        self.is_closed.load(Acquire)
    }

    /// How many there are, at some moment during the call.
    pub fn len(&self) -> usize {
        self.length.load(Relaxed)
    }

    /// Whether there are none, at some moment during the call.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn has_news(&self) -> bool {
        !self.is_empty() || self.is_closed()
    }

    /// Wakes a thread if there is more work than the watcher will take. Either
    /// who pushes sees that nobody watches, or who has just stopped sees what
    /// was pushed before it parks: pairs with the fence of [`Signal`] there.
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

    /// The calling thread is without work: since when one is, and what is known
    /// of how long that lasts. `None` if there is work.
    fn idle(&self) -> Option<(Ticks, Gaps)> {
        let mut inner = self.inner.lock();
        if !inner.items.is_empty() {
            return None;
        }
        Some((*inner.idle_since.get_or_insert_with(Ticks::now), inner.gaps))
    }

    /// Watches the queue, if nobody does and it is worthwhile. Says whether the
    /// calling thread is to look for work again, before it parks.
    fn watch(&self, since: Ticks, gaps: Gaps) -> bool {
        rate::learn_rate(false);
        let park = calibrate::known().park;
        let idler = Idler::new(gaps, park, os::is_squeezed());
        if !idler.is_watchful() || self.has_watcher.swap(true, Relaxed) {
            os::look_for_a_squeeze();
            return false;
        }
        if idler.naps() {
            os::look_for_a_squeeze();
        }
        let again = match idler.next(since.elapsed()) {
            // What was pushed meanwhile may have gone to a thread that was
            // parked, so it is a new gap that is to be watched after it.
            Idle::Nap(left) => {
                self.nap(left);
                true
            }
            _ => self.look(since, &idler),
        };
        self.has_watcher.store(false, Relaxed);
        again
    }

    /// Says whether there is something to see.
    fn look(&self, since: Ticks, idler: &Idler) -> bool {
        self.watched.store(true, Relaxed);
        while let Idle::Look { looks, pauses } = idler.next(since.elapsed()) {
            if hint::look(looks, pauses, || self.has_news()) || os::is_real_time() {
                break;
            }
            if idler.naps() {
                self.give_way();
            }
        }
        self.watched.store(false, Relaxed);
        self.has_news()
    }

    /// Whoever is about to push may have been woken on this CPU, and wait for
    /// it. So may somebody who keeps it for long; then this was no time to be
    /// awake.
    fn give_way(&self) {
        let begun = Ticks::now();
        thread::yield_now();
        let away = begun.elapsed();
        if Circumstances::is_switched_out(away) {
            self.overslept(away);
        }
    }

    /// Sleeps for so long, unless woken by a push.
    fn nap(&self, left: Ticks) {
        let begun = Ticks::now();
        let is_woken = os::with_exact_timers(|| {
            self.changed.park_until_for(|| self.has_news(), Duration::from(left))
        });
        let slept = begun.elapsed();
        // Woken later than it had set out to be awake: it overslept as well.
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
    /// Something is pushed: if a thread was without work, a gap is over.
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
    fn closing_ends_all_who_wait() {
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
                thread::sleep(Duration::from_millis(1));
                queue.push(()).unwrap();
            }
            queue.close();
        });
        assert!(queue.inner.lock().gaps.mean.0 > 0);
    }

    /// Not since each of several threads took its last.
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
        assert!(third > first && gaps == learned, "busy threads are no gap");
    }
}
