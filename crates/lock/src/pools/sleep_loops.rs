//! Pools whose idle workers wait with the four loops of Olivas and Chynoweth, *Benefitting
//! Power and Performance Sleep Loops* (Intel, tables 1 to 3): a queue behind a lock, and
//! workers that look for work on their own, because nobody wakes them.
//!
//! `Sleep(0)` is `sched_yield(2)` on Linux, and `Sleep(1)` a `nanosleep(2)` of a millisecond.

use std::collections::VecDeque;
use std::hint;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::work::Work;

/// What an idle worker does between two looks at the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepLoop {
    /// Nothing.
    Busy,
    /// `Sleep(0)`.
    Sleep0,
    /// `Sleep(1)`.
    Sleep1,
    /// So many pauses with a read-only look each, then `Sleep(0)`.
    PauseYield(u32),
}

impl SleepLoop {
    /// All four; the last makes `most` pauses (`max_spin_count`).
    pub fn all(most: u32) -> [Self; 4] {
        [Self::Busy, Self::Sleep0, Self::Sleep1, Self::PauseYield(most)]
    }

    /// The name, as that of the lock that waits so.
    pub fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Sleep0 => "sleep0",
            Self::Sleep1 => "sleep1",
            Self::PauseYield(_) => "pause-yield",
        }
    }
}

/// A pool of threads that wait with such a loop.
pub(super) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<VecDeque<Work>>,
    /// Length of the queue, for looks without its lock.
    waiting: AtomicUsize,
    over: AtomicBool,
}

impl Pool {
    /// Starts so many threads.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(super) fn start(waits: SleepLoop, threads: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            waiting: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let mut pool = Self { shared, workers: Vec::new() };
        for _ in 0..threads {
            let shared = Arc::clone(&pool.shared);
            let worker = thread::Builder::new().spawn(move || shared.work(waits))?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    pub(super) fn spawn(&self, work: Work) {
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push_back(work);
        self.shared.waiting.store(queue.len(), Ordering::Relaxed);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        for worker in self.workers.drain(..) {
            // A worker that panicked has said so.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn work(&self, waits: SleepLoop) {
        while !self.over.load(Ordering::Relaxed) {
            match self.take() {
                Some(work) => work(),
                None => self.wait(waits),
            }
        }
    }

    /// A piece of work, if the lock is free and there is one.
    fn take(&self) -> Option<Work> {
        let mut queue = self.queue.try_lock().ok()?;
        let work = queue.pop_front();
        self.waiting.store(queue.len(), Ordering::Relaxed);
        work
    }

    fn wait(&self, waits: SleepLoop) {
        match waits {
            SleepLoop::Busy => {}
            SleepLoop::Sleep0 => thread::yield_now(),
            SleepLoop::Sleep1 => thread::sleep(Duration::from_millis(1)),
            SleepLoop::PauseYield(most) => {
                for _ in 0..most {
                    hint::spin_loop();
                    if self.waiting.load(Ordering::Relaxed) > 0 {
                        return;
                    }
                }
                thread::yield_now();
            }
        }
    }
}
