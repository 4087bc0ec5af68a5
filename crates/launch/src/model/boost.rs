//! What a service does at a launch: which files it writes, and when.

use unjank_host::Nanos;

use crate::model::tunable::{Tunable, Write};

/// Writes at the beginning of a launch, and those that undo them at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Boost {
    /// How long after the launch began, and what is written then; in order.
    pub on: Vec<(Nanos, Write)>,
    /// How long after its end the rest is written.
    pub after: Nanos,
    /// What is written then.
    pub off: Vec<Write>,
}

impl Boost {
    /// Nothing is done.
    pub fn none() -> Self {
        Self::default()
    }

    /// The paper's way (Jo & Suh): another value for the time of the launch.
    pub fn plain(reaction: Nanos, tunable: Tunable, during: u32, else_: u32) -> Self {
        Self {
            on: vec![(reaction, Write { tunable, value: during })],
            after: reaction,
            off: vec![Write { tunable, value: else_ }],
        }
    }

    /// Two writes, the second `gap` after the first: since 4.6 each makes
    /// ondemand and conservative look at once, so that the second sees a
    /// window that was busy all through.
    pub fn double_tap(reaction: Nanos, gap: Nanos, during: u32, else_: u32) -> Self {
        let tunable = Tunable::SamplingRate;
        let mut boost = Self::plain(reaction, tunable, during, else_);
        boost.on.push((reaction + gap, Write { tunable, value: during }));
        boost
    }

    /// The lower limit is raised to the upper one.
    pub fn min_freq(reaction: Nanos, fastest: u32, else_: u32) -> Self {
        Self::plain(reaction, Tunable::MinFreq, fastest, else_)
    }
}
