//! A queue of work, and threads that wait for it.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::VecDeque;

use crate::idle::{Gaps, Idle, Idler};
use crate::ladder::Expected;
use crate::ticks::Ticks;
use crate::{Mutex, Signal, calibrate, hint, os};

/// First in, first out, for any number of threads on both ends; unbounded, and
/// closed in the end.
///
/// One idle thread watches the queue for as long as its gaps make that
/// worthwhile ([`idle`](crate::idle)); the others are parked. While there is a watcher,
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
    items: Mutex<VecDeque<Item<T>>>,
    /// How many there are, for those who look without the lock.
    length: AtomicUsize,
    is_closed: AtomicBool,
    /// A thread watches: it sees what is pushed without being woken.
    watched: AtomicBool,
    changed: Signal,
    gap: AtomicU32,
    deviation: AtomicU32,
}

struct Item<T> {
    pushed: Ticks,
    value: T,
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
    /// An open queue without work.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            items: Mutex::new(VecDeque::new()),
            length: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            changed: Signal::new(),
            gap: AtomicU32::new(0),
            deviation: AtomicU32::new(0),
        }
    }

    /// Adds one at the end.
    ///
    /// # Errors
    /// [`Closed`], with the value, after [`close`](Self::close).
    pub fn push(&self, value: T) -> Result<(), Closed<T>> {
        let mut items = self.items.lock();
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(Closed(value));
        }
        items.push_back(Item { pushed: Ticks::now(), value });
        let length = self.note_length(&items);
        drop(items);
        self.wake_for(length);
        Ok(())
    }

    /// Takes the first, if there is one.
    pub fn try_pop(&self) -> Option<T> {
        self.take().map(|item| item.value)
    }

    /// Takes the first, and waits for it if need be. `None` when the queue is
    /// closed and empty.
    pub fn pop(&self) -> Option<T> {
        if let Some(item) = self.take() {
            return Some(item.value);
        }
        let idle_since = Ticks::now();
        loop {
            if !self.watch(idle_since) {
                self.changed.park_until(|| self.has_news());
            }
            if let Some(item) = self.take() {
                self.learn(item.pushed - idle_since);
                return Some(item.value);
            }
            if self.is_closed() && self.is_empty() {
                return None;
            }
        }
    }

    /// Takes no more work; what is in the queue stays. Threads that wait for
    /// work return once it is empty.
    pub fn close(&self) {
        let items = self.items.lock();
        self.is_closed.store(true, Ordering::SeqCst);
        drop(items);
        self.changed.notify_all();
    }

    /// Whether it has been closed.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// How many there are, at some moment during the call.
    pub fn len(&self) -> usize {
        self.length.load(Ordering::SeqCst)
    }

    /// Whether there are none, at some moment during the call.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn has_news(&self) -> bool {
        !self.is_empty() || self.is_closed()
    }

    fn take(&self) -> Option<Item<T>> {
        if self.is_empty() {
            return None;
        }
        let mut items = self.items.lock();
        let item = items.pop_front();
        let left = self.note_length(&items);
        drop(items);
        // Who pushed the rest may have counted on whoever takes this.
        self.wake_for(left);
        item
    }

    /// Wakes a thread if there is more work than the watcher will take.
    fn wake_for(&self, length: usize) {
        if length > usize::from(self.watched.load(Ordering::SeqCst)) {
            self.changed.notify_one();
        }
    }

    fn note_length(&self, items: &VecDeque<Item<T>>) -> usize {
        self.length.store(items.len(), Ordering::SeqCst);
        items.len()
    }

    /// Watches the queue, if nobody does and it is worthwhile. Says whether
    /// there is something to see.
    fn watch(&self, idle_since: Ticks) -> bool {
        calibrate::learn_rate(false);
        let park = calibrate::known().park;
        let idler = Idler::new(self.gaps(), park, os::is_squeezed());
        if !idler.is_watchful() || self.watched.swap(true, Ordering::SeqCst) {
            os::look_for_a_squeeze();
            return false;
        }
        let news = loop {
            if self.has_news() {
                break true;
            }
            match idler.next(idle_since.elapsed()) {
                Idle::Look { looks, pauses } => {
                    hint::look(looks, pauses, || self.has_news());
                }
                Idle::Nap(left) => self.nap(left),
                Idle::Park => break false,
            }
        };
        self.watched.store(false, Ordering::SeqCst);
        // What was pushed for the watcher must not be left to nobody.
        news || self.has_news()
    }

    /// Sleeps, and is woken by a push: it does not watch meanwhile.
    fn nap(&self, left: Ticks) {
        self.watched.store(false, Ordering::SeqCst);
        os::with_exact_timers(|| {
            self.changed.park_until_for(|| self.has_news(), Duration::from(left))
        });
        self.watched.store(true, Ordering::SeqCst);
    }

    fn gaps(&self) -> Gaps {
        Gaps {
            mean: Expected(self.gap.load(Ordering::Relaxed)),
            deviation: Expected(self.deviation.load(Ordering::Relaxed)),
        }
    }

    fn learn(&self, gap: Ticks) {
        let gaps = self.gaps().with(gap);
        self.gap.store(gaps.mean.0, Ordering::Relaxed);
        self.deviation.store(gaps.deviation.0, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

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
        assert!(queue.gaps().mean.0 > 0);
    }
}
