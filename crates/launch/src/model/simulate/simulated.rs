//! The result of a simulated launch.

use unjank_host::{Joules, Nanos};

use crate::model::clock::Khz;

/// A change of a frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// Time of the change, since the simulation began.
    pub at: Nanos,
    /// Index of the clock; 0 if there is only one.
    pub clock: usize,
    /// The clock's frequency from then on.
    pub khz: Khz,
}

impl Transition {
    pub(super) fn new(at: Nanos, clock: usize, khz: u32) -> Self {
        Self { at, clock, khz: Khz(khz) }
    }
}

/// Length, energies and changes of frequency of one simulated launch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Simulated {
    /// Start of the launch, since the simulation began.
    pub begins: Nanos,
    /// Its length; `None` if it had not ended after ten minutes.
    pub launch: Option<Nanos>,
    /// From its beginning until the end of the tail: the time of the energies.
    pub length: Nanos,
    /// Energy of the CPUs in that time.
    pub cpu: Joules,
    /// Energy of the rest of the device.
    pub rest: Joules,
    /// Evaluations of the load since the simulation began.
    pub samples: u64,
    /// Changes of frequency since the simulation began.
    pub changes: u64,
    /// These changes, if they are recorded.
    pub transitions: Vec<Transition>,
}

impl Simulated {
    /// Energy of the whole device.
    pub fn device(&self) -> Joules {
        self.cpu + self.rest
    }
}
