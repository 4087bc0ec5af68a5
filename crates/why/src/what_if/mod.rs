//! Replays of a history with changed lengths, which predict when the window would have ended.
//!
//! The spans of all threads are replayed in order of time. A thread begins a span
//! when its previous span has ended. A wait ends when it has begun and its waker
//! has reached the wake-up. So the end is the longest path over all wake-ups, not
//! only over those that were critical: when one thing gets faster, the next
//! longest path takes over.
//!
//! The graph itself stays as recorded. Timeouts that would no longer happen, work
//! that another thread would take over, and waits that only a faster thread would
//! meet are not modelled.

mod actors;
mod replay;
mod scales;
mod sections;
mod steps;
mod window;

use unjank_host::input::Stop;
use unjank_units::Nanos;

use self::actors::Actors;
use self::replay::Replay;
use self::scales::Scales;
use self::sections::Sections;
use self::steps::{Step, steps};
pub use self::window::{Change, Data, InMemory, Window};
use crate::split::ClockLosses;

/// The steps of a window, for any number of replays.
#[derive(Debug)]
pub struct Replays<'a> {
    window: Window<'a>,
    actors: Actors<'a>,
    steps: Vec<Step>,
    losses: ClockLosses,
    sections: Sections,
    stop: &'a Stop,
}

impl<'a> Replays<'a> {
    /// Collects the steps of all threads in the window, in order; `None` after a stop request.
    pub fn of(window: Window<'a>, stop: &'a Stop) -> Option<Self> {
        let actors = Actors::of(&window);
        let steps = steps(&window, &actors, stop)?;
        let losses = ClockLosses::of(window.history, window.highest);
        let sections = Sections::of(&window, &actors);
        Some(Self { window, actors, steps, losses, sections, stop })
    }

    /// When the thread would have reached the end of the window, counted from its
    /// beginning, if `change` had been made. Without a change: the length of the
    /// window. `None` after a stop request.
    pub fn length(&self, change: &Change) -> Option<Nanos> {
        let Window { thread, from, to, .. } = self.window;
        let Some(explained) = self.actors.find(thread, to) else { return Some(to.since(from)) };
        let Self { window, actors, losses, .. } = self;
        let scales = Scales { window: *window, actors, change, losses };
        Replay::new(scales, &self.sections, explained).run(&self.steps, self.stop)
    }
}

#[cfg(test)]
mod tests;
