//! Which CPUs are measured where all would take too long.

use std::collections::BTreeSet;

use unjank_host::Machine;
use unjank_host::sched::CpuSet;

/// The most CPUs.
const MOST: usize = 8;

/// The CPUs on which launches are measured: the first allowed one of each
/// frequency policy, or, without policies, of each capacity and package. At most
/// eight.
pub fn representatives(machine: &Machine, allowed: &CpuSet) -> CpuSet {
    let policy_of = |cpu: usize| {
        machine
            .frequency
            .iter()
            .position(|policy| policy.cpus.parse::<CpuSet>().is_ok_and(|cpus| cpus.contains(cpu)))
    };
    let mut kinds = BTreeSet::new();
    let mut chosen: Vec<usize> = allowed
        .iter()
        .filter(|&cpu| {
            let place = machine.cpu.cpus.iter().find(|topology| topology.cpu == cpu);
            let capacity = place.and_then(|place| place.capacity);
            let package = place.map(|place| place.package);
            kinds.insert((policy_of(cpu), capacity, package))
        })
        .collect();
    // Without frequency policies CPUs may have different clocks, which a second
    // CPU shows.
    if machine.frequency.is_empty() && chosen.len() == 1 {
        chosen.extend(allowed.iter().nth(1));
    }
    chosen.truncate(MOST);
    CpuSet::new(chosen)
}

#[cfg(test)]
mod tests {
    use unjank_host::machine::{CpuTopology, FrequencyPolicy};

    use super::*;

    #[test]
    fn one_cpu_of_each_frequency_policy_is_measured() {
        let policy = |cpus: &str| FrequencyPolicy { cpus: cpus.to_owned(), ..Default::default() };
        let machine = Machine {
            frequency: vec![policy("0-3"), policy("4-6"), policy("7")],
            ..Machine::default()
        };
        let all = CpuSet::new(0..8);
        assert_eq!(representatives(&machine, &all).to_string(), "0,4,7");
        assert_eq!(representatives(&machine, &CpuSet::new([2, 3, 6])).to_string(), "2,6");
    }

    #[test]
    fn without_policies_two_cpus_stand_for_all() {
        let mut machine = Machine::default();
        machine.cpu.cpus = (0..4).map(|cpu| CpuTopology { cpu, ..Default::default() }).collect();
        assert_eq!(representatives(&machine, &CpuSet::new(0..4)).to_string(), "0-1");
        assert_eq!(representatives(&machine, &CpuSet::new([3])).to_string(), "3");
    }
}
