//! Boosts: which files a service writes at a launch, and when.

use unjank_host::Nanos;

use crate::model::tunable::{Tunable, Write};

/// Writes at the beginning of a launch, and those that undo them at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Boost {
    /// Writes after the launch began, each with its delay; in order.
    pub on: Vec<(Nanos, Write)>,
    /// Delay from the launch's end to `off`.
    pub after: Nanos,
    /// Writes that undo the boost.
    pub off: Vec<Write>,
}

impl Boost {
    /// No boost.
    pub fn none() -> Self {
        Self::default()
    }

    /// As in the paper (Jo & Suh): another value during the launch.
    pub fn plain(reaction: Nanos, tunable: Tunable, during: u32, else_: u32) -> Self {
        Self {
            on: vec![(reaction, Write { tunable, value: during })],
            after: reaction,
            off: vec![Write { tunable, value: else_ }],
        }
    }

    /// Two writes, the second `gap` after the first: since 4.6 each makes
    /// ondemand and conservative evaluate the load at once, and at the second
    /// they see a window that was entirely busy.
    pub fn double_tap(reaction: Nanos, gap: Nanos, during: u32, else_: u32) -> Self {
        let tunable = Tunable::SamplingRate;
        let mut boost = Self::plain(reaction, tunable, during, else_);
        boost.on.push((reaction + gap, Write { tunable, value: during }));
        boost
    }

    /// Raises the lower limit to the upper one.
    pub fn min_freq(reaction: Nanos, fastest: u32, else_: u32) -> Self {
        Self::plain(reaction, Tunable::MinFreq, fastest, else_)
    }
}
