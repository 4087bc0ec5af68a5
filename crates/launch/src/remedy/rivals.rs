//! Other programs that change the knobs of a boost, and when such a knob is taken again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use unjank_host::Nanos;

/// Programs that change clocks or priorities; names as the kernel truncates them.
pub const PROGRAMS: [&str; 11] = [
    "gamemoded",
    "power-profiles-",
    "tuned",
    "tuned-ppd",
    "auto-cpufreq",
    "tlp-pd",
    "ananicy-cpp",
    "scx_loader",
    "system76-schedu",
    "cpufreqd",
    "uperf",
];

/// Delay after a lost knob before knobs are looked for again.
pub const RETAKE_AFTER: Nanos = Nanos::from_millis(1_000);

/// How often a knob is taken again after another program changed it, or after it
/// could not be taken. Then it is left to that program.
pub const MOST_RETAKES: u32 = 3;

/// How often each knob was lost or refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retakes(BTreeMap<PathBuf, u32>);

impl Retakes {
    /// Whether a knob may be taken, for the first time or again.
    pub fn allow(&self, knob: &Path) -> bool {
        self.0.get(knob).is_none_or(|&times| times <= MOST_RETAKES)
    }

    /// Counts that a knob was lost or refused. Returns whether it may be taken
    /// again.
    pub fn lose(&mut self, knob: &Path) -> bool {
        let times = self.0.entry(knob.to_owned()).or_default();
        *times = times.saturating_add(1);
        *times <= MOST_RETAKES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knob_is_taken_again_three_times() {
        let (contested, other) = (Path::new("/sys/a"), Path::new("/sys/b"));
        let mut retakes = Retakes::default();
        for _ in 0..MOST_RETAKES {
            assert!(retakes.allow(contested));
            assert!(retakes.lose(contested));
        }
        assert!(retakes.allow(contested), "the third retake");
        assert!(!retakes.lose(contested));
        assert!(!retakes.allow(contested));
        assert!(retakes.allow(other));
    }

    #[test]
    fn programs_have_names_as_the_kernel_truncates_them() {
        assert!(PROGRAMS.iter().all(|name| name.len() <= 15), "TASK_COMM_LEN is 16 with its NUL");
    }
}
