//! Whatever tells events in batches.

use unjank_host::{Nanos, Result};

use super::event::Event;
use super::merged::Trace;
use super::names::Names;

/// Events in batches: those of a trace, or made up.
pub trait Events {
    /// Appends `most` events, or some more; false when there are no more after
    /// these.
    ///
    /// # Errors
    /// The file or place that is no good. Events before it were told.
    fn read(&mut self, events: &mut Vec<Event>, most: usize) -> Result<bool>;

    /// The names behind the numbers of the events so far.
    fn names(&self) -> &Names;

    /// How far reading is, from 0 to 1; `None` where nobody can tell.
    fn progress(&self) -> Option<f64>;

    /// Tells times in the trace's own clock from now on, so that events can be
    /// sorted before the first one is known.
    fn keep_times(&mut self) {}

    /// Makes times that were kept begin at `origin`.
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
