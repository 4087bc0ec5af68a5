//! The kernel's counters over a recording, to cross-check the trace.

use unjank_host::machine::VmStat;
use unjank_host::{Result, Root};

/// Counters of `/proc/vmstat` about paging.
const MACHINE: [&str; 17] = [
    "pswpin",
    "pswpout",
    "swpin_zero",
    "swpout_zero",
    "zswpin",
    "zswpout",
    "swap_ra",
    "swap_ra_hit",
    "pgpgin",
    "pgpgout",
    "pgmajfault",
    "workingset_refault_anon",
    "workingset_refault_file",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "allocstall_normal",
    "oom_kill",
];
/// Counters of a group's `memory.stat`, in both versions.
const GROUP: [&str; 8] = [
    "pgmajfault",
    "workingset_refault_anon",
    "workingset_refault_file",
    "pswpin",
    "pswpout",
    "zswpin",
    "zswpout",
    "swpout_zero",
];

/// The machine's counters at the beginning.
#[derive(Debug)]
pub(super) struct Baseline(VmStat);

/// The growth of counters.
pub(super) type Growth = Vec<(&'static str, u64)>;

impl Baseline {
    pub(super) fn read(root: &Root) -> Result<Self> {
        VmStat::read(root).map(Self)
    }

    /// The growth since then, of the counters that this kernel has.
    pub(super) fn growth(&self, root: &Root) -> Result<Growth> {
        let grown = VmStat::read(root)?.since(&self.0);
        Ok(MACHINE.iter().filter_map(|name| Some((*name, grown.get(name)?))).collect())
    }
}

/// The counters about paging of a group, which began at zero.
pub(super) fn of_group(counters: &[(String, u64)]) -> Growth {
    let find = |name: &'static str| {
        let (_, value) = counters.iter().find(|(counter, _)| counter == name)?;
        Some((name, *value))
    };
    GROUP.iter().filter_map(|name| find(name)).collect()
}

/// A counter by its name.
pub(super) fn get(growth: &Growth, name: &str) -> Option<u64> {
    growth.iter().find(|(counter, _)| *counter == name).map(|(_, value)| *value)
}
