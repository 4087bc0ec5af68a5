//! One thread: its observations and diagnoses.

use unjank_host::Nanos;

use super::diagnosis::Diagnosis;
use super::observed::{ObservedThread, share};

/// One thread with its diagnoses.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadReport {
    /// What was counted and sampled while it was watched.
    pub observed: ObservedThread,
    /// The diagnoses, at least one, the worst first.
    pub diagnoses: Vec<Diagnosis>,
}

impl ThreadReport {
    /// The first diagnosis, which is the worst.
    pub fn worst(&self) -> &Diagnosis {
        self.diagnoses.first().expect("diagnose() gives at least one")
    }

    /// The share of a CPU that it wastes, at most: by the certain diagnoses, if
    /// there is one.
    pub fn wasted(&self) -> f64 {
        let as_certain = |it: &&Diagnosis| it.certainty == self.worst().certainty;
        let shares = self.diagnoses.iter().filter(as_certain).map(|it| it.wasted);
        shares.fold(0.0, f64::max).min(self.observed.cpu_share())
    }

    /// The same as a share of a CPU over the whole `length` of the watch, of which the thread may
    /// have been there for a part only.
    pub fn wasted_over(&self, length: Nanos) -> f64 {
        self.wasted() * share(self.observed.watched, length)
    }
}

/// The share of a CPU that all threads together used over the `length` of the watch.
pub(super) fn used_over(length: Nanos, reports: &[ThreadReport]) -> f64 {
    reports.iter().map(|it| share(it.observed.cpu, length)).sum()
}
