//! The clock frequencies of a machine.

use std::collections::BTreeMap;

use unjank_host::frequency::Frequencies;
use unjank_host::machine::FrequencyPolicy;
use unjank_host::sched::CpuSet;
use unjank_host::{Machine, Root};

use crate::report::Clocks;

/// Reads the clock frequencies of a machine.
#[derive(Debug)]
pub(super) struct ClockReader<'a> {
    root: &'a Root,
    /// The highest possible frequencies in kHz, by CPU.
    highest: BTreeMap<usize, u64>,
    /// The reason why frequencies are missing, if it is known.
    missing: Option<String>,
}

impl<'a> ClockReader<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        let policies = Machine::read(root).frequency;
        Self { root, highest: highest(&policies), missing: missing(&policies) }
    }

    /// The highest and the present frequencies.
    pub(super) fn read(&self) -> Clocks {
        let (mut highest, mut missing) = (self.highest.clone(), self.missing.clone());
        let at_start = self.now();
        let of_all = highest.len();
        highest.retain(|cpu, _| at_start.contains_key(cpu));
        if highest.len() < of_all && missing.is_none() {
            missing = Some("the clock of some CPUs could not be read".to_owned());
        }
        Clocks { highest, at_start, missing }
    }

    /// The present frequency of each CPU in kHz, as far as the kernel reports it.
    fn now(&self) -> BTreeMap<usize, u64> {
        let set = CpuSet::new(self.highest.keys().copied());
        let Ok(clocks) = Frequencies::open(self.root, &set) else { return BTreeMap::new() };
        let now = |cpu: usize| Some((cpu, clocks.now(cpu).ok()?.0 / 1_000));
        set.iter().filter_map(now).collect()
    }
}

/// The highest clock frequency in kHz of each CPU whose changes of frequency the kernel records.
fn highest(policies: &[FrequencyPolicy]) -> BTreeMap<usize, u64> {
    let of_policy = |policy: &FrequencyPolicy| -> Vec<(usize, u64)> {
        let khz = policy.hardware_max.0 / 1_000;
        let cpus: CpuSet = policy.cpus.parse().unwrap_or_else(|_| CpuSet::new([]));
        cpus.iter().map(|cpu| (cpu, khz)).collect()
    };
    let recorded = policies.iter().filter(|policy| !policy.is_chosen_by_processor());
    recorded.flat_map(of_policy).collect()
}

fn missing(policies: &[FrequencyPolicy]) -> Option<String> {
    let policy = policies.iter().find(|policy| policy.is_chosen_by_processor())?;
    Some(format!("the processor chooses its clock itself ({})", policy.driver))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks_of(fixture: &str) -> Clocks {
        let fixtures = format!("{}/../host/fixtures", env!("CARGO_MANIFEST_DIR"));
        ClockReader::new(&Root::at(format!("{fixtures}/{fixture}"))).read()
    }

    #[test]
    fn clocks_that_the_processor_chooses_are_not_known() {
        let laptop = clocks_of("laptop-amd-pstate");
        assert!(laptop.highest.is_empty() && laptop.at_start.is_empty(), "{laptop:?}");
        let why = laptop.missing.unwrap();
        assert_eq!(why, "the processor chooses its clock itself (amd-pstate-epp)");
        let phone = clocks_of("phone-walt");
        // The recorded phone has no scaling_cur_freq.
        assert!(phone.highest.is_empty(), "{phone:?}");
        assert_eq!(phone.missing.unwrap(), "the clock of some CPUs could not be read");
    }
}
