//! Energy: meters that say how much a machine, or a part of it, has taken.
//!
//! A [`Meter`] counts from the moment it was opened, and is asked for a
//! [`Reading`] at both ends of whatever is to be measured. Some sources count
//! energy themselves (RAPL); others tell a power, which a thread of the
//! meter's own samples and integrates ([`Integral`]).
//!
//! A meter that fails in mid-run keeps what it has: its readings stay at the
//! last sample, and [`Reading::ended`] says when and why.
//!
//! | module | subject |
//! |---|---|
//! | [`find`](mod@find) | which meters there are here, and opening one |
//! | [`integral`] | from powers at moments to energy |
//! | [`sampler`] | a thread that looks at something every so often |
//! | [`format`](mod@format), [`replay`] | what meters on a line and recordings say |
//! | `rapl`, `perf`, `hwmon`, `battery` | meters of the kernel |
//! | `counted`, `sampled`, `stream`, `serial` | what these have in common |

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

pub use find::{Found, Place, find, meters};
pub use integral::Integral;
pub use replay::Replay;
pub use sampler::Sampler;

/// Something that says how much energy was taken since it was opened.
pub trait Meter: Send {
    /// What it is.
    fn about(&self) -> &About;

    /// The energy since it was opened. A meter that has failed meanwhile says
    /// so in the reading, and goes on giving its last one.
    ///
    /// # Errors
    /// The source cannot be read, and nothing is known of it at all.
    fn read(&mut self) -> Result<Reading>;

    /// Lets `span` go by, unless `stop` says otherwise; whether it has gone
    /// by. A meter that replays a recording goes ahead in it instead of
    /// sleeping.
    fn pass(&mut self, span: Nanos, stop: &dyn Fn() -> bool) -> bool {
        (Timestamp::now() + span).sleep_until_or(stop)
    }
}

/// What a meter is, for lists and records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its kind, as it is typed: `rapl`, `model`.
    pub name: String,
    /// Where its numbers come from: a directory, a device, a file.
    pub source: String,
    /// Whether anything was measured.
    pub origin: Origin,
    /// What takes the energy that it counts: `package 0`, `the whole device`.
    pub covers: String,
}

/// Where an energy comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// An instrument, or a counter of the hardware.
    Measured,
    /// Times that were measured, and powers from a table.
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

/// What a meter says at one moment. All of it counts from the moment at which
/// the meter was opened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reading {
    /// The moment, on the clock of [`Timestamp`]; in a replay, on that of the
    /// recording.
    #[serde(skip)]
    pub at: Timestamp,
    /// The energy of all that the meter covers.
    pub energy: Joules,
    /// The part of the CPUs in it, where the meter can tell.
    pub cpu: Option<Joules>,
    /// How well the samples behind it came in.
    pub samples: Samples,
    /// When and why the meter stopped counting, if it has.
    pub ended: Option<Ended>,
}

/// How samples came in. Each is a count since the meter was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// Samples that count.
    pub good: u64,
    /// Samples that were due and did not come.
    pub lost: u64,
    /// Samples that came damaged: a checksum or a form that is wrong.
    pub damaged: u64,
    /// Times between two samples that were longer than twice the period.
    pub gaps: u64,
    /// All such times together. They are in the energy, at the mean of the
    /// powers at their ends.
    pub gap_time: Nanos,
    /// The longest time between two samples.
    pub longest: Nanos,
}

/// Why a meter counts no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// Its last moment.
    #[serde(skip)]
    pub at: Timestamp,
    /// Why: a sentence without a full stop.
    pub reason: String,
}

/// The energy between two readings of one meter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spent {
    /// The time between them that the meter has seen.
    pub time: Nanos,
    /// The energy of all that the meter covers.
    pub energy: Joules,
    /// The part of the CPUs in it.
    pub cpu: Option<Joules>,
    /// The samples between them.
    pub samples: Samples,
    /// Why the meter stopped counting before the second one, if it did: time
    /// and energy are those until then.
    pub cut_short: Option<String>,
}

impl Reading {
    /// What was spent from `earlier` until this reading.
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
    /// The mean power; `None` for no time at all.
    pub fn power(&self) -> Option<Watts> {
        (self.time > Nanos::ZERO).then(|| Watts(self.energy.0 / self.time.as_secs_f64()))
    }
}

impl Samples {
    /// Those after `earlier`. The longest time between two is that of all.
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

    /// Both together.
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

    /// A machine of files.
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
    fn what_was_spent_is_a_difference() {
        let spent = reading(12, 5.0).since(&reading(10, 1.0));
        assert_eq!((spent.time, spent.energy), (Nanos::from_millis(2_000), Joules(4.0)));
        assert_eq!((spent.power(), spent.samples.good), (Some(Watts(2.0)), 2));
        assert_eq!(reading(1, 1.0).since(&reading(1, 1.0)).power(), None);
    }

    #[test]
    fn a_meter_that_ended_spans_only_what_it_saw() {
        let mut last = reading(20, 5.0);
        let ended = Ended { at: reading(11, 0.0).at, reason: "unplugged".to_owned() };
        last.ended = Some(ended);
        let spent = last.since(&reading(10, 1.0));
        assert_eq!((spent.time, spent.power()), (Nanos::from_millis(1_000), Some(Watts(4.0))));
        assert_eq!(spent.cut_short.as_deref(), Some("unplugged"));
    }
}
