//! What came of a simulated launch.

use unjank_host::{Joules, Nanos};

use crate::model::clock::Khz;

/// A change of a frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// When, since the simulation began.
    pub at: Nanos,
    /// Which clock; the only one has the number 0.
    pub clock: usize,
    /// The new frequency.
    pub khz: Khz,
}

impl Transition {
    pub(super) fn new(at: Nanos, clock: usize, khz: u32) -> Self {
        Self { at, clock, khz: Khz(khz) }
    }
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// When the launch began, since the simulation did.
    pub begins: Nanos,
    /// How long it took; `None` if it had not ended after ten minutes.
    pub launch: Option<Nanos>,
    /// From its beginning until the end of the tail: what energy is told for.
    pub length: Nanos,
    /// What the CPUs took in that time.
    pub cpu: Joules,
    /// What the rest of the device took.
    pub rest: Joules,
    /// How often the governor looked, from the beginning on.
    pub samples: u64,
    /// How often a frequency changed, from the beginning on.
    pub changes: u64,
    /// Those changes, where they were to be kept.
    pub transitions: Vec<Transition>,
}

impl Outcome {
    /// What CPUs and the rest took.
    pub fn device(&self) -> Joules {
        self.cpu + self.rest
    }
}
