//! The effect of the machine's load on the verdict on wake-ups.

use std::borrow::Cow;

use unjank_measure::{Answer, Bound, Load, Quantity, Unit, Verdict};

/// The largest healthy share of a quota's periods in which it stops a group.
const THROTTLED: f64 = 0.25;
const THROTTLED_SOURCE: &str = "threshold of the alert CPUThrottlingHigh of kubernetes-mixin";
/// The share of CPU time taken by the hypervisor from which on it is reported.
const STOLEN: f64 = 0.01;

/// Judges the quota of the most throttled group, and adds waits for CPUs and the time that the
/// hypervisor took.
pub fn beside_load(mut verdict: Verdict, load: &Load) -> Verdict {
    let throttled = load.most_throttled().filter(|(_, it)| it.share() > THROTTLED);
    if let Some((group, throttled)) = throttled {
        if verdict.answer == Answer::Slow {
            let share = Unit::Ratio.show(throttled.share());
            verdict.also(&format!("its quota stopped {group} in {share} of the periods"));
        } else {
            if let Some(probe) = verdict.measured.take() {
                let probe = format!("{}: {}", probe.name, probe.unit.show(probe.value));
                verdict.reason = format!(
                    "the probe is not in that group ({probe}); threads in it are late by up to a \
                     period of the quota"
                );
            }
            let name = format!("share of periods in which its CPU quota stopped {group}");
            let (share, periods) = (throttled.share(), throttled.periods);
            verdict.measured = Some(Quantity::counted_share(name, share, periods));
            verdict.healthy =
                Some(Bound { at_most: THROTTLED, source: THROTTLED_SOURCE.to_owned() });
            verdict.answer = Answer::Slow;
            verdict.next = Some(format!("grep . {}", quoted(group)));
        }
    }
    load.note_contention(&mut verdict);
    let stolen = load.whole.stolen();
    if stolen >= STOLEN {
        let stolen = Unit::Ratio.show(stolen);
        verdict.also(&format!("the hypervisor took {stolen} of all CPU time"));
    }
    verdict
}

/// A control group's files of CPU limits, counters and members, quoted for a shell.
fn quoted(directory: &str) -> String {
    let file = |name: &str| {
        let path = format!("{directory}/{name}");
        shlex::try_quote(&path).map_or_else(|_| path.clone(), Cow::into_owned)
    };
    ["cpu.max", "cpu.stat", "cgroup.procs"].map(file).join(" ")
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::surroundings::{MachineActivity, ProgramActivity, Throttled, Waited};

    use super::*;

    fn row(answer: Answer) -> Verdict {
        Verdict::new("jitter", "?", answer, "as the probe says")
    }

    /// A run of one second in which threads waited for CPUs in so many percent of the time.
    fn load(percent: u64) -> Load {
        let some = Nanos(percent * 10_000_000);
        let cpu = Some(Waited { some, all: Nanos::ZERO });
        let length = Nanos(1_000_000_000);
        let whole = MachineActivity { length, cpu, ..MachineActivity::default() };
        Load { whole, ..Load::default() }
    }

    #[test]
    fn a_calm_machine_changes_nothing() {
        assert_eq!(beside_load(row(Answer::Healthy), &load(3)), row(Answer::Healthy));
        let nothing_counted = Load::default();
        assert_eq!(beside_load(row(Answer::Healthy), &nothing_counted), row(Answer::Healthy));
    }

    #[test]
    fn a_throttled_group_is_late_though_the_probe_is_not() {
        let mut load = load(0);
        let group = |throttled| Throttled { periods: 100, throttled };
        let path = "/sys/fs/cgroup/my app".to_owned();
        load.whole.throttled = [(path.clone(), group(80)), ("/x".to_owned(), group(9))].into();
        let late = beside_load(row(Answer::Healthy), &load);
        assert_eq!(late.answer, Answer::Slow);
        assert!((late.measured.as_ref().unwrap().value - 0.8).abs() < 1e-9);
        assert_eq!(
            late.next.as_deref(),
            Some(
                "grep . '/sys/fs/cgroup/my app/cpu.max' '/sys/fs/cgroup/my app/cpu.stat' \
                 '/sys/fs/cgroup/my app/cgroup.procs'"
            )
        );
        load.whole.throttled.insert(path, group(25));
        assert_eq!(beside_load(row(Answer::Healthy), &load).answer, Answer::Healthy);
    }

    #[test]
    fn the_program_that_had_the_cpus_is_named() {
        let program = |process, name: &str, cpu| ProgramActivity {
            process,
            name: name.to_owned(),
            cpu: Nanos(cpu),
            ..ProgramActivity::default()
        };
        let programs = vec![program(7, "rustc", 1_400_000_000), program(8, "sh", 20_000_000)];
        let row = beside_load(row(Answer::Slow), &Load { programs, ..load(89) });
        assert_eq!(
            row.reason,
            "as the probe says; some thread waited for a CPU in 89 % of the time; rustc[7] had \
             most of them (1.4 CPUs)"
        );
    }
}
