//! Counters of memory management: `/proc/vmstat`.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::root::Root;

const PATH: &str = "/proc/vmstat";

/// All counters of `/proc/vmstat` at one moment. The set differs between
/// kernels: each getter returns `None` for a missing counter. Pages are of the
/// kernel's page size; all counters begin at boot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VmStat {
    counters: BTreeMap<String, u64>,
}

impl VmStat {
    /// Reads all counters.
    ///
    /// # Errors
    /// `File` without procfs, `Parse` names the line.
    pub fn read(root: &Root) -> Result<Self> {
        Self::parse(&root.read(PATH)?)
    }

    /// Parses one counter per line: its name and its value.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let counter = |(number, line): (usize, &str)| {
            let (name, value) = line.split_once(' ')?;
            let value = value.trim().parse::<u64>().map_err(|_| {
                Error::parse(PATH, number + 1, "expected a counter's name and its value")
            });
            Some(value.map(|value| (name.to_owned(), value)))
        };
        let counters = text.lines().enumerate().filter_map(counter).collect::<Result<_>>()?;
        Ok(Self { counters })
    }

    /// Any counter by its name in the file.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// The growth of each counter since `earlier`; zero for gauges that have
    /// shrunk.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let grown = |(name, value): (&String, &u64)| {
            (name.clone(), value.saturating_sub(earlier.get(name).unwrap_or_default()))
        };
        Self { counters: self.counters.iter().map(grown).collect() }
    }

    /// Pages read from swap devices.
    pub fn pswpin(&self) -> Option<u64> {
        self.get("pswpin")
    }

    /// Pages written to swap devices.
    pub fn pswpout(&self) -> Option<u64> {
        self.get("pswpout")
    }

    /// Page faults that had to wait for I/O.
    pub fn pgmajfault(&self) -> Option<u64> {
        self.get("pgmajfault")
    }

    /// Anonymous pages that were read back soon after their eviction. Kernels
    /// before 5.9 do not count them.
    pub fn workingset_refault_anon(&self) -> Option<u64> {
        self.get("workingset_refault_anon")
    }

    /// File pages that were read back soon after their eviction. Kernels before
    /// 5.9, which count no other refaults, name the counter
    /// `workingset_refault`.
    pub fn workingset_refault_file(&self) -> Option<u64> {
        self.get("workingset_refault_file").or_else(|| self.get("workingset_refault"))
    }

    /// Pages read back from zswap.
    pub fn zswpin(&self) -> Option<u64> {
        self.get("zswpin")
    }

    /// Pages stored in zswap.
    pub fn zswpout(&self) -> Option<u64> {
        self.get("zswpout")
    }

    /// Pages read by swap readahead.
    pub fn swap_ra(&self) -> Option<u64> {
        self.get("swap_ra")
    }

    /// Pages that swap readahead had read before they were needed.
    pub fn swap_ra_hit(&self) -> Option<u64> {
        self.get("swap_ra_hit")
    }

    /// Processes killed by the out-of-memory killer.
    pub fn oom_kill(&self) -> Option<u64> {
        self.get("oom_kill")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name_and_by_getter() {
        let now = VmStat::parse("nr_free_pages 6096564\npswpin 12\nworkingset_refault 5").unwrap();
        assert_eq!(now.get("nr_free_pages"), Some(6_096_564));
        assert_eq!((now.pswpin(), now.pswpout()), (Some(12), None));
        assert_eq!(now.workingset_refault_file(), Some(5));
        assert_eq!(now.workingset_refault_anon(), None);
    }

    #[test]
    fn growth_never_goes_below_zero() {
        let earlier = VmStat::parse("pswpin 10\nnr_free_pages 100").unwrap();
        let later = VmStat::parse("pswpin 15\nnr_free_pages 90\nswap_ra 3").unwrap();
        let grown = later.since(&earlier);
        assert_eq!(grown.pswpin(), Some(5));
        assert_eq!(grown.get("nr_free_pages"), Some(0));
        assert_eq!(grown.swap_ra(), Some(3));
    }

    #[test]
    fn a_malformed_counter_is_reported_with_its_line() {
        let error = VmStat::parse("pswpin 1\npswpout many").unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot parse /proc/vmstat, line 2: expected a counter's name and its value"
        );
    }
}
