//! The interface of event sources: traces and generators.

use unjank_host::{Nanos, Result};

use super::event::Event;
use super::merged::Trace;
use super::names::Names;

/// A source of events in batches: a trace or a generator.
pub trait Events {
    /// Appends `most` events, or a few more; false at the end.
    ///
    /// # Errors
    /// A file cannot be read or is malformed. Events before the error are appended.
    fn read(&mut self, events: &mut Vec<Event>, most: usize) -> Result<bool>;

    /// The names behind the numbers of the events so far.
    fn names(&self) -> &Names;

    /// The fraction that was read, from 0 to 1; `None` if it is unknown.
    fn progress(&self) -> Option<f64>;

    /// Keeps times in the trace's own clock from now on, so that events can be sorted before the
    /// earliest one is known.
    fn keep_times(&mut self) {}

    /// Makes times that were kept relative to `origin`.
    fn begin_at(&mut self, _events: &mut [Event], _origin: Nanos) {}
}

impl Events for Trace {
    fn read(&mut self, events: &mut Vec<Event>, most: usize) -> Result<bool> {
        Self::read(self, events, most)
    }

    fn names(&self) -> &Names {
        Self::names(self)
    }

    fn progress(&self) -> Option<f64> {
        Self::progress(self)
    }

    fn keep_times(&mut self) {
        Self::keep_times(self);
    }

    fn begin_at(&mut self, events: &mut [Event], origin: Nanos) {
        Self::begin_at(self, events, origin);
    }
}
