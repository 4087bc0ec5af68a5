//! Policies of memory by their names on the command line.

use std::fmt;
use std::str::FromStr;

use super::{Generational, Memory, Readahead, TwoList};
use crate::page::Space;
use crate::paged::Paged;
use crate::replacement::{Clock, Lru};
use crate::workload::Workload;

/// Replacement policies of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// Exact least recently used, which no kernel tracks.
    Lru,
    /// Second chance with one bit.
    Clock,
    /// Linux's active and inactive list.
    TwoList,
    /// Linux's generations (multi-gen LRU).
    Generational,
}

impl MemoryPolicy {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::TwoList, Self::Generational, Self::Clock, Self::Lru];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::Clock => "clock",
            Self::TwoList => "two-list",
            Self::Generational => "generational",
        }
    }

    /// Runs a workload through memory under this policy. `space` has the capacity of memory and the
    /// footprint of the workload.
    pub fn page(
        self,
        workload: &Workload,
        space: Space,
        readahead: Readahead,
        pinned: u32,
    ) -> Paged {
        let files = || workload.pages.of_files();
        match self {
            Self::Lru => {
                Paged::run(workload, Memory::new(Lru::new(space), files()), readahead, pinned)
            }
            Self::Clock => {
                Paged::run(workload, Memory::new(Clock::new(space), files()), readahead, pinned)
            }
            Self::TwoList => {
                Paged::run(workload, Memory::new(TwoList::new(space), files()), readahead, pinned)
            }
            Self::Generational => {
                let memory = Memory::new(Generational::new(space), files());
                Paged::run(workload, memory, readahead, pinned)
            }
        }
    }
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no policy of memory has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown memory policy {0:?}; expected one of two-list, generational, clock, lru")]
pub struct UnknownMemoryPolicy(String);

impl FromStr for MemoryPolicy {
    type Err = UnknownMemoryPolicy;

    fn from_str(typed: &str) -> Result<Self, UnknownMemoryPolicy> {
        let known = Self::ALL.into_iter().find(|policy| policy.name() == typed);
        known.ok_or_else(|| UnknownMemoryPolicy(typed.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_as_printed() {
        for policy in MemoryPolicy::ALL {
            assert_eq!(policy.name().parse(), Ok(policy));
        }
        assert!("mglru".parse::<MemoryPolicy>().unwrap_err().to_string().contains("generational"));
    }
}
