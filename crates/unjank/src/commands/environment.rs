//! Warnings about a machine whose state distorts measurements.

use unjank_host::Machine;

/// The machine counts as busy if some task waited for a CPU in this share of
/// the time, in percent.
const BUSY: f64 = 10.0;
/// Memory counts as short if all tasks waited for it in this share of the time, in percent.
const SHORT: f64 = 0.1;
/// The warning about steal begins at this share of all CPU time, in percent.
const STOLEN: f64 = 1.0;

/// The warnings that belong beside the numbers of `machine`, one sentence each.
pub(crate) fn warnings(machine: &Machine) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(pressure) = &machine.pressure {
        let busy = pressure.cpu.some_avg10;
        if busy >= BUSY {
            warnings.push(format!(
                "the machine was busy: some task waited for a CPU in {busy:.0} % of the 10 s before \
                 the run"
            ));
        }
        let full = pressure.memory.full_avg10;
        if full >= SHORT {
            warnings.push(format!(
                "memory was short: all tasks waited for it in {full:.1} % of the 10 s before the run"
            ));
        }
    }
    if let Some(steal) = machine.virtualisation.steal_percent
        && steal >= STOLEN
    {
        warnings.push(format!(
            "the hypervisor gave {steal:.1} % of this machine's CPU time since boot to others"
        ));
    }
    if let Some(quota) = machine.cgroup.as_ref().and_then(|cgroup| cgroup.cpu_quota)
        && quota < machine.cpu.online as f64
    {
        warnings.push(format!(
            "a cgroup limits this process to {quota:.2} of {} CPUs: it may be throttled",
            machine.cpu.online
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use unjank_host::machine::{Cgroup, Pressure, Stall, Virtualisation};

    use super::*;

    #[test]
    fn a_quiet_machine_needs_no_warning() {
        assert!(warnings(&Machine::default()).is_empty());
    }

    #[test]
    fn each_disturbance_has_a_warning() {
        let stall = |some_avg10, full_avg10| Stall { some_avg10, full_avg10, ..Stall::default() };
        let mut machine = Machine {
            pressure: Some(Pressure {
                cpu: stall(35.2, 0.0),
                memory: stall(4.0, 2.5),
                io: Stall::default(),
            }),
            virtualisation: Virtualisation { steal_percent: Some(4.2), ..Default::default() },
            cgroup: Some(Cgroup { cpu_quota: Some(0.5), ..Cgroup::default() }),
            ..Machine::default()
        };
        machine.cpu.online = 2;
        let found = warnings(&machine);
        assert_eq!(found.len(), 4);
        assert!(found[0].contains("35 %"), "{found:?}");
        assert!(found[3].contains("0.50 of 2 CPUs"), "{found:?}");
    }
}
