//! Counters of the memory management: `/proc/vmstat`.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::root::Root;

const PATH: &str = "/proc/vmstat";

/// All counters of `/proc/vmstat` at one moment. Which ones there are differs
/// from kernel to kernel: each getter gives `None` for one that is not there.
/// Pages are counted in pages of the kernel, events one by one, all since
/// boot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VmStat {
    counters: BTreeMap<String, u64>,
}

impl VmStat {
    /// The counters now.
    ///
    /// # Errors
    /// `File` without procfs, `Parse` names the line.
    pub fn read(root: &Root) -> Result<Self> {
        Self::parse(&root.read(PATH)?)
    }

    /// One counter a line: its name and its value.
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

    /// How much each counter has grown since `earlier`; those that are
    /// gauges and have shrunk are zero.
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

    /// Anonymous pages that came back soon after they were evicted. Kernels
    /// before 5.9 count them not at all.
    pub fn workingset_refault_anon(&self) -> Option<u64> {
        self.get("workingset_refault_anon")
    }

    /// File pages that came back soon after they were evicted; kernels before
    /// 5.9, which know no other refaults, call them `workingset_refault`.
    pub fn workingset_refault_file(&self) -> Option<u64> {
        self.get("workingset_refault_file").or_else(|| self.get("workingset_refault"))
    }

    /// Pages that came back from zswap.
    pub fn zswpin(&self) -> Option<u64> {
        self.get("zswpin")
    }

    /// Pages that went into zswap.
    pub fn zswpout(&self) -> Option<u64> {
        self.get("zswpout")
    }

    /// Pages that swap readahead read.
    pub fn swap_ra(&self) -> Option<u64> {
        self.get("swap_ra")
    }

    /// Pages that swap readahead had read when they were wanted.
    pub fn swap_ra_hit(&self) -> Option<u64> {
        self.get("swap_ra_hit")
    }

    /// Processes that the out-of-memory killer ended.
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
    fn a_broken_counter_is_named_by_its_line() {
        let error = VmStat::parse("pswpin 1\npswpout many").unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot parse /proc/vmstat, line 2: expected a counter's name and its value"
        );
    }
}
