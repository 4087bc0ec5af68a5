//! Starts that the hypervisor disturbed.
//!
//! Time that other programs on this machine take is no disturbance: users of
//! the machine have it too, so it stays in the figures, and a checkup's answers
//! account for it.

use unjank_host::Root;
use unjank_host::machine::CpuTime;

/// A start counts as disturbed from this share of stolen time on, in percent.
const STEAL: f64 = 2.0;

/// The CPU times at the beginning of a start.
pub(super) struct Meter(Option<CpuTime>);

/// How far the hypervisor disturbed one start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Disturbance {
    /// Stolen CPU time, in percent; zero where the kernel does not know.
    steal: f64,
}

impl Meter {
    pub(super) fn begin(root: &Root) -> Self {
        Self(CpuTime::read(root).ok())
    }

    pub(super) fn end(self, root: &Root) -> Disturbance {
        let now = CpuTime::read(root).ok();
        let spent = now.zip(self.0).map(|(now, before)| now.since(before));
        Disturbance { steal: spent.and_then(CpuTime::steal_percent).unwrap_or(0.0) }
    }
}

/// The indices of the disturbed starts if they are fewer than half. If most are
/// disturbed, that is the normal state of the machine, and none is left out.
pub(super) fn to_leave_out<'a>(all: impl Iterator<Item = &'a Disturbance>) -> Vec<usize> {
    let mut count = 0;
    let disturbed: Vec<usize> = all
        .enumerate()
        .inspect(|_| count += 1)
        .filter(|(_, disturbance)| disturbance.steal >= STEAL)
        .map(|(index, _)| index)
        .collect();
    if disturbed.len() * 2 < count { disturbed } else { Vec::new() }
}

/// The warning about disturbed starts, if there are any.
pub(super) fn sentence<'a>(
    name: &str,
    all: impl Iterator<Item = &'a Disturbance>,
    to_leave_out: &[usize],
) -> Option<String> {
    let all: Vec<f64> = all.map(|disturbance| disturbance.steal).collect();
    let worst = all.iter().copied().fold(0.0, f64::max);
    let count = all.len();
    if !to_leave_out.is_empty() {
        let left_out = to_leave_out.len();
        return Some(format!(
            "{name}: the hypervisor took up to {worst:.0} % of the CPU time of {left_out} of \
             {count} starts: these were repeated if time was left, and are left out"
        ));
    }
    let disturbed = all.iter().filter(|&&steal| steal >= STEAL).count();
    (disturbed > 0).then(|| {
        format!(
            "{name}: the hypervisor took up to {worst:.0} % of the CPU time in {disturbed} of \
             {count} starts: the figures include that"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(steal: &[f64]) -> Vec<Disturbance> {
        steal.iter().map(|&steal| Disturbance { steal }).collect()
    }

    fn evaluated(steal: &[f64]) -> (Vec<usize>, Option<String>) {
        let all = starts(steal);
        let to_leave_out = to_leave_out(all.iter());
        let sentence = sentence("lock", all.iter(), &to_leave_out);
        (to_leave_out, sentence)
    }

    #[test]
    fn a_few_disturbed_starts_are_left_out_and_said() {
        let (to_leave_out, sentence) = evaluated(&[0.0, 0.1, 12.0, 0.0, 3.0]);
        assert_eq!(to_leave_out, [2, 4]);
        assert!(sentence.unwrap().starts_with("lock: the hypervisor took up to 12 %"));
    }

    #[test]
    fn a_machine_that_is_always_disturbed_is_measured_as_it_is() {
        let (to_leave_out, sentence) = evaluated(&[5.0, 6.0, 0.0, 4.0]);
        assert!(to_leave_out.is_empty());
        assert!(sentence.unwrap().ends_with("in 3 of 4 starts: the figures include that"));
    }

    #[test]
    fn a_quiet_machine_is_not_mentioned() {
        assert_eq!(evaluated(&[0.0, 1.0, 0.4]), (Vec::new(), None));
        assert_eq!(evaluated(&[]), (Vec::new(), None));
    }
}
