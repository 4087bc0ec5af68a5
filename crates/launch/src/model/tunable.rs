//! Tunables of a governor and of its policy, named as their files.

use std::fmt;

use unjank_host::Nanos;

/// The unit of a tunable's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Microseconds.
    Micros,
    /// Kilohertz.
    Khz,
    /// A number without a unit: percents, factors, capacities.
    Plain,
}

macro_rules! tunables {
    ($($(#[$doc:meta])* $name:ident = $file:literal in $measure:ident;)*) => {
        /// A file that is written to change how a governor behaves.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Tunable { $($(#[$doc])* $name,)* }

        impl Tunable {
            /// All tunables.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name of its file.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $file,)* }
            }

            /// The unit of its number.
            pub fn measure(self) -> Measure {
                match self { $(Self::$name => Measure::$measure,)* }
            }
        }
    };
}

tunables! {
    /// The period of ondemand and conservative.
    SamplingRate = "sampling_rate" in Micros;
    /// The load, in percent, above which they speed up.
    UpThreshold = "up_threshold" in Plain;
    /// The load, in percent, below which conservative slows down.
    DownThreshold = "down_threshold" in Plain;
    /// How far below the upper threshold ondemand of 3.x slows down.
    DownDifferential = "down_differential" in Plain;
    /// For how many periods ondemand keeps full speed, and conservative its frequency.
    SamplingDownFactor = "sampling_down_factor" in Plain;
    /// The step of conservative, in percent of the fastest frequency.
    FreqStep = "freq_step" in Plain;
    /// The period of interactive.
    TimerRate = "timer_rate" in Micros;
    /// How long after its period an idle CPU is woken to slow down.
    TimerSlack = "timer_slack" in Micros;
    /// The load, in percent, from which interactive jumps.
    GoHispeedLoad = "go_hispeed_load" in Plain;
    /// The frequency it jumps to.
    HispeedFreq = "hispeed_freq" in Khz;
    /// How long interactive stays there before it goes higher.
    AboveHispeedDelay = "above_hispeed_delay" in Micros;
    /// How long interactive keeps a frequency before it goes lower.
    MinSampleTime = "min_sample_time" in Micros;
    /// The load, in percent, that interactive aims at.
    TargetLoads = "target_loads" in Plain;
    /// The shortest time between two changes by schedutil.
    RateLimit = "rate_limit_us" in Micros;
    /// The least utilization, of 1024, that schedutil assumes of busy CPUs.
    UclampMin = "uclamp_min" in Plain;
    /// The policy's lower limit.
    MinFreq = "scaling_min_freq" in Khz;
    /// The policy's upper limit.
    MaxFreq = "scaling_max_freq" in Khz;
}

impl Tunable {
    /// The tunable with this file name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tunable| tunable.name() == name)
    }

    /// The file's number for a time. `None` if the tunable is no time.
    pub fn of_time(self, time: Nanos) -> Option<u32> {
        (self.measure() == Measure::Micros)
            .then(|| u32::try_from(time.0 / 1_000).unwrap_or(u32::MAX))
    }

    /// `value` with its unit.
    pub fn show(self, value: u32) -> String {
        match self.measure() {
            Measure::Micros => Nanos::from_micros(u64::from(value)).to_string(),
            Measure::Khz => unjank_host::Hertz::from_khz(u64::from(value)).to_string(),
            Measure::Plain => value.to_string(),
        }
    }
}

impl fmt::Display for Tunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One write: a tunable and the number written to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// The tunable whose file is written.
    pub tunable: Tunable,
    /// The written number, in the unit that [`Tunable::measure`] gives.
    pub value: u32,
}

/// Why a governor refuses a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// This governor has no such file.
    #[error("this governor has no {0}")]
    Unknown(Tunable),
    /// The value is out of the kernel's range.
    #[error("{0} cannot be {1}; expected {2} to {3}")]
    Range(Tunable, u32, u32, u32),
}

/// `value` if it lies within the bounds.
pub(crate) fn within(write: Write, least: u32, most: u32) -> Result<u32, Refused> {
    if (least..=most).contains(&write.value) {
        Ok(write.value)
    } else {
        Err(Refused::Range(write.tunable, write.value, least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tunable_is_found_by_its_name() {
        for tunable in Tunable::ALL {
            assert_eq!(Tunable::named(tunable.name()), Some(*tunable));
        }
        assert_eq!(Tunable::named("up"), None);
    }

    #[test]
    fn values_have_the_units_of_their_files() {
        assert_eq!(Tunable::SamplingRate.of_time(Nanos::from_millis(50)), Some(50_000));
        assert_eq!(Tunable::UpThreshold.of_time(Nanos::from_millis(50)), None);
        assert_eq!(Tunable::SamplingRate.show(50_000), "50.0 ms");
        assert_eq!(Tunable::MinFreq.show(1_200_000), "1.20 GHz");
    }
}
