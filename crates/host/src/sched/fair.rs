//! The parameters of the fair class: nice value and slice.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::typed::Typed;
use unjank_units::Nanos;

/// The parameters of a thread of `SCHED_OTHER` or `SCHED_BATCH`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fair {
    /// The nice value, from −20 to 19: determines its share of the CPU.
    pub nice: i32,
    /// The requested slice, if it differs from the kernel's: with a short one,
    /// the thread is scheduled sooner after a wake-up, for the same share of
    /// the CPU. Linux 6.12 and later (`sched_runtime` of a fair thread in
    /// `kernel/sched/syscalls.c`); earlier kernels ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Nanos>,
}

impl Fair {
    /// The shortest slice; the kernel raises shorter ones to it.
    pub const SHORTEST: Nanos = Nanos(100_000);
    /// The longest slice; the kernel lowers longer ones to it.
    pub const LONGEST: Nanos = Nanos::from_millis(100);

    /// This nice value, with the kernel's slice.
    pub const fn nice(nice: i32) -> Self {
        Self { nice, slice: None }
    }
}

/// The suffix of a policy's name as it is typed: `:-5`, `:-20/100us`, empty for
/// an ordinary thread.
impl fmt::Display for Fair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return Ok(());
        }
        write!(f, ":{}", self.nice)?;
        self.slice.map_or(Ok(()), |slice| write!(f, "/{}", Typed(slice)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_printed_with_its_nice_value() {
        let fair = |nice, slice| Fair { nice, slice: Some(Nanos(slice)) }.to_string();
        assert_eq!(fair(-20, 100_000), ":-20/100us");
        assert_eq!(fair(5, 10_000_000), ":5/10ms");
        assert_eq!(fair(0, 1_234_567), ":0/1234567ns");
        assert_eq!(Fair::default().to_string(), "");
    }
}
