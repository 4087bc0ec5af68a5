//! The same launch at moments spread over the governor's period, since users do
//! not start apps in step with it.

use unjank_host::{Joules, Nanos};

use super::{Launch, Simulated};

/// Launches at phases that are spread evenly over a period.
#[derive(Debug, Clone, PartialEq)]
pub struct Phases {
    /// The length of each, in order of the phase.
    pub launches: Vec<Nanos>,
    /// The CPUs' mean energy from the launch to the end of its tail.
    pub cpu: Joules,
    /// The whole device's mean energy.
    pub device: Joules,
    /// Evaluations of the load in all of them.
    pub samples: u64,
}

impl Phases {
    /// The mean length of a launch, in seconds.
    pub fn mean_seconds(&self) -> f64 {
        let sum: f64 = self.launches.iter().map(|launch| launch.as_secs_f64()).sum();
        sum / self.launches.len() as f64
    }

    /// The mean length of a launch, rounded to nanoseconds.
    pub fn mean(&self) -> Nanos {
        Nanos((self.mean_seconds() * 1e9).round() as u64)
    }

    /// Length of the shortest launch; zero without launches.
    pub fn min(&self) -> Nanos {
        self.launches.iter().copied().min().unwrap_or_default()
    }

    /// Length of the longest launch; zero without launches.
    pub fn max(&self) -> Nanos {
        self.launches.iter().copied().max().unwrap_or_default()
    }
}

/// Simulates `launch` at `count` phases, each in the middle of its part of the
/// governor's period. `None` if one of them does not end.
pub fn over_phases(launch: &Launch<'_>, period: Nanos, count: u32) -> Option<Phases> {
    let count = count.max(1);
    let mut phases = Phases {
        launches: Vec::with_capacity(count as usize),
        cpu: Joules::default(),
        device: Joules::default(),
        samples: 0,
    };
    for index in 0..u64::from(count) {
        let phase = Nanos(period.0 * (2 * index + 1) / (2 * u64::from(count)));
        let simulated: Simulated = Launch { phase, record: false, ..launch.clone() }.run();
        phases.launches.push(simulated.launch?);
        phases.cpu = phases.cpu + simulated.cpu;
        phases.device = phases.device + simulated.device();
        phases.samples += simulated.samples;
    }
    phases.cpu = Joules(phases.cpu.0 / f64::from(count));
    phases.device = Joules(phases.device.0 / f64::from(count));
    Some(phases)
}
