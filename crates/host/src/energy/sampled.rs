//! Meters over sources of power: a thread samples and integrates them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{About, Ended, Integral, Meter, Reading, Sampler};
use crate::clock::Timestamp;
use crate::error::Result;
use unjank_units::{Nanos, Watts};

/// A source of power.
pub(super) trait Source: Send + 'static {
    fn power(&mut self) -> Result<Watts>;
}

/// A meter over a source of power.
pub(super) struct Sampled<S> {
    about: About,
    shared: Arc<Mutex<Shared<S>>>,
    _thread: Sampler,
}

struct Shared<S> {
    source: S,
    integral: Integral,
    ended: Option<Ended>,
}

impl<S: Source> Sampled<S> {
    /// Samples the source every `period` from now on.
    ///
    /// # Errors
    /// If the power cannot be read, or the thread cannot be started.
    pub(super) fn open(about: About, mut source: S, period: Nanos) -> Result<Self> {
        let mut integral = Integral::new(period);
        integral.add(Timestamp::now(), source.power()?);
        let shared = Arc::new(Mutex::new(Shared { source, integral, ended: None }));
        let theirs = Arc::clone(&shared);
        let thread = Sampler::start("power meter", period, move || lock(&theirs).look())?;
        Ok(Self { about, shared, _thread: thread })
    }
}

impl<S: Source> Meter for Sampled<S> {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self) -> Result<Reading> {
        let mut shared = lock(&self.shared);
        shared.look();
        // There is a last sample: `open` took the first one.
        let reading = shared.integral.final_reading();
        let reading = reading.unwrap_or_else(|| shared.integral.reading(Timestamp::now()));
        Ok(Reading { ended: shared.ended.clone(), ..reading })
    }
}

impl<S: Source> Shared<S> {
    /// Takes a sample; returns whether the source goes on.
    fn look(&mut self) -> bool {
        if self.ended.is_some() {
            return false;
        }
        match self.source.power() {
            Ok(power) => self.integral.add(Timestamp::now(), power),
            Err(error) => {
                let at = self.integral.last().map_or_else(Timestamp::now, |(at, _)| at);
                self.ended = Some(Ended { at, reason: error.to_string() });
            }
        }
        self.ended.is_none()
    }
}

/// If the other thread has panicked, the integral is still right up to then.
fn lock<S>(shared: &Mutex<Shared<S>>) -> MutexGuard<'_, Shared<S>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
