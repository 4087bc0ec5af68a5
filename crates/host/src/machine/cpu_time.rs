//! The machine's CPU time by use: `/proc/stat`, `proc_stat(5)`.

use crate::error::{Error, Result};
use crate::root::Root;

const PATH: &str = "/proc/stat";

/// CPU time of all CPUs since boot, in ticks of `USER_HZ`. Only shares and
/// differences of these are meaningful.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// All ticks: working, idle or stolen.
    pub total: u64,
    /// Ticks in which nothing ran, including I/O wait.
    pub idle: u64,
    /// Ticks that the hypervisor gave to other virtual machines while this
    /// machine had work.
    pub steal: u64,
}

impl CpuTime {
    /// Reads the sum of all CPUs: the first line of `/proc/stat`.
    ///
    /// # Errors
    /// `File` without procfs, `Parse` if the first line is not the sum of all
    /// CPUs.
    pub fn read(root: &Root) -> Result<Self> {
        Self::parse(&root.read(PATH)?)
    }

    /// The line `cpu  user nice system idle iowait irq softirq steal guest
    /// guest_nice`; the time of guests is in `user` and `nice` already.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let wrong = || Error::parse(PATH, 1, "expected \"cpu\" and at least four numbers");
        let line = text.lines().next().unwrap_or_default();
        let numbers = line.strip_prefix("cpu ").ok_or_else(wrong)?;
        let ticks: Vec<u64> = numbers
            .split_whitespace()
            .take(8)
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|_| wrong())?;
        if ticks.len() < 4 {
            return Err(wrong());
        }
        let at = |index: usize| ticks.get(index).copied().unwrap_or_default();
        Ok(Self {
            total: ticks.iter().fold(0, |sum: u64, ticks| sum.saturating_add(*ticks)),
            idle: at(3).saturating_add(at(4)),
            steal: at(7),
        })
    }

    /// The time added since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            total: self.total.saturating_sub(earlier.total),
            idle: self.idle.saturating_sub(earlier.idle),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    /// The sum of these times and those of `other`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            total: self.total.saturating_add(other.total),
            idle: self.idle.saturating_add(other.idle),
            steal: self.steal.saturating_add(other.steal),
        }
    }

    /// The stolen share of all time, in percent; `None` before the first tick.
    pub fn steal_percent(self) -> Option<f64> {
        (self.total > 0).then(|| self.steal as f64 * 100.0 / self.total as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all_time() {
        let text = "cpu  300 0 80 550 20 0 0 50 30 0\ncpu0 1 2 3 4 5 6 7 8 9 10";
        let time = CpuTime::parse(text).unwrap();
        assert_eq!(time, CpuTime { total: 1_000, idle: 570, steal: 50 });
        assert_eq!(time.steal_percent(), Some(5.0));
        assert_eq!(time.since(time).steal_percent(), None);
    }

    #[test]
    fn kernels_before_2_6_11_have_no_steal() {
        let time = CpuTime::parse("cpu  10 0 10 80").unwrap();
        assert_eq!((time.total, time.steal), (100, 0));
    }

    #[test]
    fn anything_else_is_an_error() {
        for text in ["", "intr 5", "cpu  1 2 3", "cpu  1 2 3 x", "cpu0 1 2 3 4"] {
            assert!(CpuTime::parse(text).is_err(), "{text}");
        }
        let huge = format!("cpu  {0} {0} {0} {0}", u64::MAX);
        assert_eq!(CpuTime::parse(&huge).unwrap().total, u64::MAX);
    }
}
