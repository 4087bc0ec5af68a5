//! One thread, with what was seen of it and what that means.

use super::diagnosis::Diagnosis;
use super::seen::Seen;

/// One thread and what was found out about it, the worst first.
#[derive(Debug, Clone, PartialEq)]
pub struct Patient {
    /// What was seen.
    pub seen: Seen,
    /// What that means: at least one entry.
    pub diagnoses: Vec<Diagnosis>,
}

impl Patient {
    /// The worst of it.
    pub fn worst(&self) -> &Diagnosis {
        self.diagnoses.first().expect("diagnose() gives at least one")
    }

    /// The share of a CPU that it wastes, at most: by what is sure, if anything
    /// is.
    pub fn wasted(&self) -> f64 {
        let as_sure = |it: &&Diagnosis| it.certainty == self.worst().certainty;
        let shares = self.diagnoses.iter().filter(as_sure).map(|it| it.wasted);
        shares.fold(0.0, f64::max).min(self.seen.cpu_share())
    }
}
