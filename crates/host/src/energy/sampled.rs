//! Meters over sources that tell a power: a thread looks, and integrates.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{About, Ended, Integral, Meter, Reading, Sampler};
use crate::clock::Timestamp;
use crate::error::Result;
use unjank_units::{Nanos, Watts};

/// Something that tells a power.
pub(super) trait Source: Send + 'static {
    /// The power now.
    fn power(&mut self) -> Result<Watts>;
}

/// A meter over it.
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
    /// Looks every `period` from now on.
    ///
    /// # Errors
    /// The power cannot be read, or the thread not be started.
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
        // There is always a last sample: the first one was taken by `open`.
        let reading = shared.integral.final_reading();
        let reading = reading.unwrap_or_else(|| shared.integral.reading(Timestamp::now()));
        Ok(Reading { ended: shared.ended.clone(), ..reading })
    }
}

impl<S: Source> Shared<S> {
    /// Takes a sample; whether the source goes on.
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

/// A panic of the other thread leaves an integral that is right up to then.
fn lock<S>(shared: &Mutex<Shared<S>>) -> MutexGuard<'_, Shared<S>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
