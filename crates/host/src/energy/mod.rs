//! Energy meters: how much energy a machine, or a part of it, has used.
//!
//! A [`Meter`] counts from the moment it is opened. A measurement takes a
//! [`Reading`] at its start and at its end. Some sources count energy
//! themselves (RAPL); others measure power, which the meter's own thread
//! samples and integrates ([`Integral`]).
//!
//! A meter that fails during a run keeps its results: its readings stay at the
//! last sample, and [`Reading::ended`] has the time and the reason.
//!
//! | module | subject |
//! |---|---|
//! | [`find`](mod@find) | finds meters, and opens one |
//! | [`integral`] | integrates powers to energy |
//! | [`sampler`] | a thread that calls a function periodically |
//! | [`format`](mod@format), [`replay`] | parsers of meters' lines and of recordings |
//! | `rapl`, `perf`, `hwmon`, `battery` | meters of the kernel |
//! | `counted`, `sampled`, `stream`, `serial` | the common parts of meters |

mod battery;
mod counted;
pub mod find;
pub mod format;
mod hwmon;
pub mod integral;
mod perf;
mod rapl;
pub mod replay;
mod sampled;
pub mod sampler;
mod serial;
mod stream;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::error::Result;
use unjank_units::{Joules, Nanos, Watts};

pub use find::{MeterKind, MeterName, MeterSupport, find, first, meters};
pub use integral::Integral;
pub use replay::Replay;
pub use sampler::Sampler;

/// A meter that counts energy from the moment it is opened.
pub trait Meter: Send {
    /// Its name, the source of its numbers, and the consumers that it covers.
    fn about(&self) -> &About;

    /// The energy since it was opened. If the meter has failed in the meantime,
    /// the reading has the reason, and stays the last one.
    ///
    /// # Errors
    /// If the source cannot be read and there is no earlier reading.
    fn read(&mut self) -> Result<Reading>;

    /// Lets `span` pass, unless `stop` returns true; returns whether it passed.
    /// A meter that replays a recording advances in it instead of sleeping.
    fn pass(&mut self, span: Nanos, stop: &dyn Fn() -> bool) -> bool {
        (Timestamp::now() + span).sleep_until_or(stop)
    }
}

/// The description of a meter, for lists and records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its kind, as on the command line: `rapl`, `model`.
    pub name: String,
    /// The source of its numbers: a directory, a device, a file.
    pub source: String,
    /// Whether it measures or models.
    pub origin: Origin,
    /// The consumers whose energy it counts: `package 0`, `the whole device`.
    pub covers: String,
}

/// The origin of an energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Measured by an instrument, or by a counter of the hardware.
    Measured,
    /// Modelled: measured times, multiplied by powers from a table.
    Modelled,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Measured => "measured",
            Self::Modelled => "modelled",
        })
    }
}

/// The values of a meter at one moment. All of them count from the moment the
/// meter was opened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reading {
    /// The moment, on the clock of [`Timestamp`]; in a replay, on that of the
    /// recording.
    #[serde(skip)]
    pub at: Timestamp,
    /// The energy of everything that the meter covers.
    pub energy: Joules,
    /// The CPUs' part of it, if the meter can separate it.
    pub cpu: Option<Joules>,
    /// The quality of its samples.
    pub samples: Samples,
    /// Time and reason of the meter's end, if it stopped counting.
    pub ended: Option<Ended>,
}

/// The quality of samples. Each number counts from the opening of the meter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// Samples that count.
    pub good: u64,
    /// Samples that were due but missing.
    pub lost: u64,
    /// Samples that were damaged: a wrong checksum or form.
    pub damaged: u64,
    /// The number of gaps: intervals between samples of more than two periods.
    pub gaps: u64,
    /// The total length of the gaps. Their energy is included, at the mean of
    /// the powers at their ends.
    pub gap_time: Nanos,
    /// The longest time between two samples.
    pub longest: Nanos,
}

/// Why a meter stopped counting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// The last moment it counted.
    #[serde(skip)]
    pub at: Timestamp,
    /// The reason: a sentence without a full stop.
    pub reason: String,
}

/// The energy between two readings of one meter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spent {
    /// The time between them that the meter covered.
    pub time: Nanos,
    /// The energy of everything that the meter covers.
    pub energy: Joules,
    /// The CPUs' part of it.
    pub cpu: Option<Joules>,
    /// The samples between them.
    pub samples: Samples,
    /// Why the meter stopped counting before the second reading, if it did:
    /// time and energy end there.
    pub cut_short: Option<String>,
}

impl Reading {
    /// The energy used from `earlier` until this reading.
    pub fn since(&self, earlier: &Self) -> Spent {
        let end = self.ended.as_ref().map_or(self.at, |ended| ended.at.min(self.at));
        Spent {
            time: end.since(earlier.at),
            energy: self.energy - earlier.energy,
            cpu: self.cpu.zip(earlier.cpu).map(|(now, then)| now - then),
            samples: self.samples.since(earlier.samples),
            cut_short: self.ended.as_ref().map(|ended| ended.reason.clone()),
        }
    }
}

impl Spent {
    /// The mean power; `None` if no time passed.
    pub fn power(&self) -> Option<Watts> {
        (self.time > Nanos::ZERO).then(|| Watts(self.energy.0 / self.time.as_secs_f64()))
    }
}

impl Samples {
    /// The samples after `earlier`. The longest gap is that of all samples.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            good: self.good.saturating_sub(earlier.good),
            lost: self.lost.saturating_sub(earlier.lost),
            damaged: self.damaged.saturating_sub(earlier.damaged),
            gaps: self.gaps.saturating_sub(earlier.gaps),
            gap_time: self.gap_time - earlier.gap_time,
            longest: self.longest,
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            good: self.good.saturating_add(other.good),
            lost: self.lost.saturating_add(other.lost),
            damaged: self.damaged.saturating_add(other.damaged),
            gaps: self.gaps.saturating_add(other.gaps),
            gap_time: self.gap_time + other.gap_time,
            longest: self.longest.max(other.longest),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;
    use crate::root::Root;

    /// A machine made of files.
    pub(crate) struct Machine(tempfile::TempDir);

    impl Machine {
        pub(crate) fn with(files: &[(&str, &str)]) -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            for (path, text) in files {
                machine.write(path, text);
            }
            machine
        }

        pub(crate) fn root(&self) -> Root {
            Root::at(self.0.path())
        }

        pub(crate) fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        pub(crate) fn remove(&self, path: &str) {
            fs::remove_dir_all(self.0.path().join(path)).unwrap();
        }
    }

    fn reading(seconds: u64, joules: f64) -> Reading {
        Reading {
            at: Timestamp::from_nanos(seconds * 1_000_000_000),
            energy: Joules(joules),
            cpu: None,
            samples: Samples { good: seconds, ..Samples::default() },
            ended: None,
        }
    }

    #[test]
    fn spent_energy_is_a_difference() {
        let spent = reading(12, 5.0).since(&reading(10, 1.0));
        assert_eq!((spent.time, spent.energy), (Nanos::from_millis(2_000), Joules(4.0)));
        assert_eq!((spent.power(), spent.samples.good), (Some(Watts(2.0)), 2));
        assert_eq!(reading(1, 1.0).since(&reading(1, 1.0)).power(), None);
    }

    #[test]
    fn a_meter_that_ended_covers_only_its_time() {
        let mut last = reading(20, 5.0);
        let ended = Ended { at: reading(11, 0.0).at, reason: "unplugged".to_owned() };
        last.ended = Some(ended);
        let spent = last.since(&reading(10, 1.0));
        assert_eq!((spent.time, spent.power()), (Nanos::from_millis(1_000), Some(Watts(4.0))));
        assert_eq!(spent.cut_short.as_deref(), Some("unplugged"));
    }
}
