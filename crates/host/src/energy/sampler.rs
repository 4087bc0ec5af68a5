//! A thread that calls a function periodically, until it is dropped.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use unjank_units::Nanos;

/// A thread that calls a function every period. Dropping it ends the thread,
/// after the current call if there is one.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts a thread that calls `look` at fixed multiples of `period`, and
    /// skips moments that have passed. It ends when `look` returns `false`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        name: &str,
        period: Nanos,
        mut look: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let asked = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let mut due = Timestamp::now() + period;
                while !stopped_before(&asked, due) && look() {
                    due = next(due, period, Timestamp::now());
                }
            })
            .map_err(|error| Error::syscall("clone", name, error))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        let (stop, condition) = &*self.stop;
        *stop.lock().unwrap_or_else(PoisonError::into_inner) = true;
        condition.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic in `look` has already been reported.
            let _panicked = thread.join();
        }
    }
}

/// Waits until `due`; returns whether the end was requested first.
fn stopped_before(stop: &(Mutex<bool>, Condvar), due: Timestamp) -> bool {
    let (stop, condition) = stop;
    let mut stopped = stop.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let left = due.since(Timestamp::now());
        if *stopped || left == Nanos::ZERO {
            return *stopped;
        }
        let woken = condition.wait_timeout(stopped, left.into());
        stopped = woken.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// The first of `due`, `due + period` … that is after `now`.
fn next(due: Timestamp, period: Nanos, now: Timestamp) -> Timestamp {
    let period = period.get().max(1);
    let passed = now.since(due).get() / period;
    due + Nanos(period).times(passed + 1)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn passed_moments_are_skipped() {
        let at = Timestamp::from_nanos;
        assert_eq!(next(at(100), Nanos(10), at(101)), at(110));
        assert_eq!(next(at(100), Nanos(10), at(110)), at(120));
        assert_eq!(next(at(100), Nanos(10), at(155)), at(160));
        assert_eq!(next(at(100), Nanos(10), at(90)), at(110));
    }

    #[test]
    fn it_runs_until_it_is_dropped_or_its_function_ends_it() {
        let (tell, calls) = mpsc::channel();
        let sampler = Sampler::start("test", Nanos::from_millis(1), move || tell.send(()).is_ok());
        calls.recv().unwrap();
        calls.recv().unwrap();
        drop(sampler.unwrap());
        while calls.try_recv().is_ok() {}
        assert!(calls.recv().is_err(), "the thread has ended");

        let looks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&looks);
        let mut sampler =
            Sampler::start("test", Nanos(1), move || counted.fetch_add(1, Ordering::Relaxed) < 2)
                .unwrap();
        sampler.thread.take().unwrap().join().unwrap();
        assert_eq!(looks.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_long_period_does_not_delay_its_end() {
        let sampler = Sampler::start("test", Nanos::from_millis(3_600_000), || true).unwrap();
        drop(sampler);
    }
}
