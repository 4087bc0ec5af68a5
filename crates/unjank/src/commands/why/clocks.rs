//! The clock frequencies of this machine.

use std::collections::BTreeMap;

use unjank_host::frequency::Frequencies;
use unjank_host::machine::FrequencyPolicy;
use unjank_host::sched::CpuSet;
use unjank_host::{Machine, Root};
use unjank_why::report::Clocks;

/// Reads the clock frequencies of a machine.
pub(super) struct ClockReader<'a> {
    root: &'a Root,
    /// The highest possible ones in kHz, by CPU.
    highest: BTreeMap<usize, u64>,
}

impl<'a> ClockReader<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        Self { root, highest: highest(&Machine::read(root).frequency) }
    }

    /// The highest and the present frequencies.
    pub(super) fn read(&self) -> Clocks {
        Clocks { highest: self.highest.clone(), at_start: self.now() }
    }

    /// The present frequency of each CPU in kHz, as far as the kernel tells.
    fn now(&self) -> BTreeMap<usize, u64> {
        let set = CpuSet::new(self.highest.keys().copied());
        let Ok(clocks) = Frequencies::open(self.root, &set) else { return BTreeMap::new() };
        let now = |cpu: usize| Some((cpu, clocks.now(cpu).ok()?.0 / 1_000));
        set.iter().filter_map(now).collect()
    }
}

/// The highest clock frequency of each CPU in kHz.
fn highest(policies: &[FrequencyPolicy]) -> BTreeMap<usize, u64> {
    let of_policy = |policy: &FrequencyPolicy| -> Vec<(usize, u64)> {
        let khz = policy.hardware_max.0 / 1_000;
        let cpus: CpuSet = policy.cpus.parse().unwrap_or_else(|_| CpuSet::new([]));
        cpus.iter().map(|cpu| (cpu, khz)).collect()
    };
    policies.iter().flat_map(of_policy).collect()
}
