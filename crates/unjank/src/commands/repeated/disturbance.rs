//! Starts that were disturbed from outside this machine's own load.
//!
//! What the hypervisor takes is not what was to be measured. What other
//! programs of this machine take is: it is what a user of it lives with, so it
//! stays in the figures, and a checkup's answers weigh it.

use unjank_host::Root;
use unjank_host::machine::CpuTime;

/// Stolen time in percent of all time, from which on a start counts as
/// disturbed.
const STEAL: f64 = 2.0;

/// Reads what the kernel counts at the beginning.
pub(super) struct Meter(Option<CpuTime>);

/// What came from outside during one start.
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

/// The places of disturbed starts, where they are fewer than half: where most
/// are disturbed, that is what this machine is like.
pub(super) fn outsiders<'a>(all: impl Iterator<Item = &'a Disturbance>) -> Vec<usize> {
    let mut count = 0;
    let disturbed: Vec<usize> = all
        .enumerate()
        .inspect(|_| count += 1)
        .filter(|(_, disturbance)| disturbance.steal >= STEAL)
        .map(|(place, _)| place)
        .collect();
    if disturbed.len() * 2 < count { disturbed } else { Vec::new() }
}

/// What a reader must know of it.
pub(super) fn sentence<'a>(
    name: &str,
    all: impl Iterator<Item = &'a Disturbance>,
    outsiders: &[usize],
) -> Option<String> {
    let all: Vec<f64> = all.map(|disturbance| disturbance.steal).collect();
    let worst = all.iter().copied().fold(0.0, f64::max);
    let count = all.len();
    if !outsiders.is_empty() {
        let left_out = outsiders.len();
        return Some(format!(
            "{name}: the hypervisor took up to {worst:.0} % of the CPU time of {left_out} of \
             {count} starts: these were measured again where time was left, and are left out"
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

    fn told(steal: &[f64]) -> (Vec<usize>, Option<String>) {
        let all = starts(steal);
        let outsiders = outsiders(all.iter());
        let sentence = sentence("lock", all.iter(), &outsiders);
        (outsiders, sentence)
    }

    #[test]
    fn a_few_disturbed_starts_are_left_out_and_said() {
        let (outsiders, sentence) = told(&[0.0, 0.1, 12.0, 0.0, 3.0]);
        assert_eq!(outsiders, [2, 4]);
        assert!(sentence.unwrap().starts_with("lock: the hypervisor took up to 12 %"));
    }

    #[test]
    fn a_machine_that_is_always_disturbed_is_measured_as_it_is() {
        let (outsiders, sentence) = told(&[5.0, 6.0, 0.0, 4.0]);
        assert!(outsiders.is_empty());
        assert!(sentence.unwrap().ends_with("in 3 of 4 starts: the figures include that"));
    }

    #[test]
    fn a_quiet_machine_is_not_mentioned() {
        assert_eq!(told(&[0.0, 1.0, 0.4]), (Vec::new(), None));
        assert_eq!(told(&[]), (Vec::new(), None));
    }
}
