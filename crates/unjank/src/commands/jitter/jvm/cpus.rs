//! `--cpus one|all|LIST`.

use std::str::FromStr;

use unjank_host::sched::CpuSet;
use unjank_host::{Error, Result};

/// The CPUs of a JVM.
#[derive(Debug, Clone)]
pub(super) enum Cpus {
    One,
    All,
    List(CpuSet),
}

impl FromStr for Cpus {
    type Err = Error;

    fn from_str(typed: &str) -> Result<Self> {
        match typed {
            "one" => Ok(Self::One),
            "all" => Ok(Self::All),
            list => list.parse().map(Self::List),
        }
    }
}

impl Cpus {
    /// Selects from the CPUs that this process may use.
    pub(super) fn of(&self, allowed: &CpuSet) -> Result<CpuSet> {
        match self {
            Self::One => Ok(CpuSet::new(allowed.iter().last())),
            Self::All => Ok(allowed.clone()),
            Self::List(cpus) => cpus.clone().within(allowed),
        }
    }
}
