//! A thread that looks at something every so often, until it is dropped.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use unjank_units::Nanos;

/// A thread that calls a function every period. Dropping it ends the thread,
/// at once unless the function is at work.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts one that calls `look` every `period`, counted from the moments
    /// at which it is due; those that have passed are left out. It ends when
    /// `look` says `false`.
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
        let (stop, told) = &*self.stop;
        *stop.lock().unwrap_or_else(PoisonError::into_inner) = true;
        told.notify_all();
        if let Some(thread) = self.thread.take() {
            // A look that panicked has told so itself.
            let _panicked = thread.join();
        }
    }
}

/// Waits until `due`; whether the end was asked for before.
fn stopped_before(stop: &(Mutex<bool>, Condvar), due: Timestamp) -> bool {
    let (stop, told) = stop;
    let mut stopped = stop.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let left = due.since(Timestamp::now());
        if *stopped || left == Nanos::ZERO {
            return *stopped;
        }
        let woken = told.wait_timeout(stopped, left.into());
        stopped = woken.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// The first moment of the row `due`, `due + period` … that is after `now`.
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
    fn moments_that_have_passed_are_left_out() {
        let at = Timestamp::from_nanos;
        assert_eq!(next(at(100), Nanos(10), at(101)), at(110));
        assert_eq!(next(at(100), Nanos(10), at(110)), at(120));
        assert_eq!(next(at(100), Nanos(10), at(155)), at(160));
        assert_eq!(next(at(100), Nanos(10), at(90)), at(110));
    }

    #[test]
    fn it_looks_until_it_is_dropped_or_has_seen_enough() {
        let (tell, told) = mpsc::channel();
        let sampler = Sampler::start("test", Nanos::from_millis(1), move || tell.send(()).is_ok());
        told.recv().unwrap();
        told.recv().unwrap();
        drop(sampler.unwrap());
        while told.try_recv().is_ok() {}
        assert!(told.recv().is_err(), "the thread has ended");

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
