//! Options of `lock probe`.

use serde::{Deserialize, Serialize};
use unjank_host::sched::CpuSet;
use unjank_host::{Error, Nanos, Result};

/// Options of `lock probe`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Options {
    /// The two threads use two of these CPUs.
    pub cpus: Option<CpuSet>,
    /// The number of this start: each start has another pair of CPUs and another
    /// order.
    pub turn: usize,
    /// The time for all hand-offs together.
    pub duration: Nanos,
}

impl Options {
    /// One CPU for threads that share it, and a pair of CPUs for those that do not, if
    /// there are two.
    pub(crate) fn cpus(&self, allowed: &CpuSet) -> Result<(usize, Option<(usize, usize)>)> {
        let chosen = match &self.cpus {
            Some(cpus) => cpus.clone().within(allowed)?,
            None => allowed.clone(),
        };
        let one = chosen
            .one(self.turn)
            .ok_or_else(|| Error::Invalid("no CPU to measure on".to_owned()))?;
        Ok((one, chosen.pair(self.turn)))
    }

    /// Why there is no pair of CPUs.
    pub(crate) fn why_one_cpu(&self, allowed: &CpuSet) -> &'static str {
        match allowed.pair(self.turn) {
            Some(_) => "--cpus names one CPU only",
            None => "this process may use one CPU only",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpu_is_enough_for_some_of_it() {
        let options = |cpus| Options { cpus, turn: 0, duration: Nanos::from_millis(100) };
        let allowed = CpuSet::new([2, 5, 7]);
        assert_eq!(options(None).cpus(&allowed).unwrap(), (2, Some((2, 5))));
        assert_eq!(options(Some(CpuSet::new([7]))).cpus(&allowed).unwrap(), (7, None));
        let why = |allowed: &CpuSet| options(Some(CpuSet::new([7]))).why_one_cpu(allowed);
        assert_eq!(why(&allowed), "--cpus names one CPU only");
        assert_eq!(why(&CpuSet::new([7])), "this process may use one CPU only");
        assert!(options(Some(CpuSet::new([3]))).cpus(&allowed).is_err());
        assert!(options(Some(CpuSet::default())).cpus(&allowed).is_err());
    }
}
