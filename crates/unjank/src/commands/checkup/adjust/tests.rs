use unjank_host::Nanos;
use unjank_host::surroundings::{GroupWaits, MachineActivity, Throttled, Waited};

use super::observed::WAITED_FOR_SWAP;
use super::*;

const SECOND: Nanos = Nanos(1_000_000_000);

fn row(subject: &str, answer: Answer) -> Verdict {
    let measured = Quantity {
        name: "p".to_owned(),
        value: 95_700.0,
        unit: Unit::Nanoseconds,
        interval: Some([95_000.0, 96_000.0]),
        at_least: None,
        n: 100,
    };
    Verdict {
        measured: Some(measured),
        healthy: Some(Bound { at_most: 1e5, source: "x".to_owned() }),
        next: (answer != Answer::Healthy).then(|| format!("unjank {subject} probe")),
        ..Verdict::new(subject, "?", answer, "as the probe says")
    }
}

fn waited(some: u64) -> Waited {
    Waited { some: Nanos(some * 10_000_000), all: Nanos::ZERO }
}

/// A run of one second with waits of so many percent.
fn observed(cpu: u64, memory: u64) -> Observed {
    let span = MachineActivity {
        length: SECOND,
        cpu: Some(waited(cpu)),
        memory: Some(waited(memory)),
        io: Some(waited(0)),
        ..MachineActivity::default()
    };
    Observed { whole: span.clone(), calm: span, parts: 4, ..Observed::default() }
}

fn deeds(process: u32, name: &str, threads: u64) -> ProgramActivity {
    ProgramActivity { process, name: name.to_owned(), threads, ..ProgramActivity::default() }
}

#[test]
fn a_calm_machine_changes_nothing() {
    for subject in ["launch", "swap", "jitter", "lock", "ipc", "other"] {
        let healthy = row(subject, Answer::Healthy);
        assert_eq!(adjust(healthy.clone(), &observed(3, 2)), healthy);
        assert_eq!(adjust(healthy.clone(), &Observed::default()), healthy, "nothing was counted");
    }
    let slow = row("swap", Answer::Slow);
    assert_eq!(adjust(slow.clone(), &observed(0, 0)), slow, "nothing is swapped by others");
}

#[test]
fn a_machine_short_of_memory_is_slow_though_the_probe_is_healthy() {
    let mut observed = observed(0, 42);
    observed.calm.swapped_in = 1_200;
    observed.deeds = vec![
        ProgramActivity { major_faults: 900, ..deeds(4711, "java", 30) },
        ProgramActivity { major_faults: 20, ..deeds(9, "sh", 1) },
    ];
    let waits = |share| GroupWaits { memory: waited(share), ..Default::default() };
    observed.calm.groups = [
        ("/batch.slice".to_owned(), waits(41)),
        ("/batch.slice/job".to_owned(), waits(40)),
        ("/user.slice".to_owned(), waits(5)),
    ]
    .into();
    let row = adjust(row("swap", Answer::Healthy), &observed);
    assert_eq!(row.answer, Answer::Slow);
    let measured = row.measured.unwrap();
    assert_eq!(measured.name, "share of the time in which some task waited for memory");
    assert!((measured.value - 0.42).abs() < 1e-9 && measured.interval.is_none());
    assert!(row.healthy.unwrap().source.contains("lmkd"));
    assert_eq!(
        row.reason,
        "the probe's own pages came back in 95.7 µs (median), those of other programs did not; \
         40 % of the time in control group /batch.slice/job; 1200 pages came from swap each \
         second; java[4711] waited for most of them, 900 a second"
    );
    assert_eq!(row.next.as_deref(), Some(SWAP_NEXT));
}

#[test]
fn a_slow_page_in_stays_what_was_measured() {
    let row = adjust(row("swap", Answer::Slow), &observed(0, 42));
    assert_eq!(row.measured.unwrap().unit, Unit::Nanoseconds);
    assert_eq!(
        row.reason,
        "as the probe says; share of the time in which some task waited for memory: 42 %"
    );
    assert_eq!(row.next.as_deref(), Some(SWAP_NEXT));
}

#[test]
fn if_our_own_probe_evicts_all_the_time_the_time_before_counts() {
    let mut observed = observed(0, 90);
    (observed.parts, observed.memory_before) = (0, Some(0.02));
    assert_eq!(adjust(row("swap", Answer::Healthy), &observed).answer, Answer::Healthy);
    observed.memory_before = Some(0.2);
    let row = adjust(row("swap", Answer::Healthy), &observed);
    assert_eq!(row.answer, Answer::Slow);
    assert!(row.measured.unwrap().name.contains("10 s before"));
}

#[test]
fn pages_from_swap_count_if_pressure_leaves_them_out() {
    for memory in [None, Some(waited(3))] {
        let mut observed = observed(0, 0);
        observed.calm.memory = memory;
        // A thousand pages of 95.7 µs are a tenth of a second.
        observed.calm.swapped_in = 1_000;
        let slow = adjust(row("swap", Answer::Healthy), &observed);
        assert_eq!(slow.answer, Answer::Slow);
        let measured = slow.measured.unwrap();
        assert!((measured.value - 0.0957).abs() < 1e-9, "{measured:?}");
        assert_eq!(measured.name, WAITED_FOR_SWAP);
        observed.calm.swapped_in = 500;
        assert_eq!(adjust(row("swap", Answer::Healthy), &observed).answer, Answer::Healthy);
    }
}

#[test]
fn a_throttled_group_is_late_though_the_probe_is_not() {
    let mut observed = observed(0, 0);
    let group = |throttled| Throttled { periods: 100, throttled };
    let path = "/sys/fs/cgroup/my app".to_owned();
    observed.whole.throttled = [(path.clone(), group(80)), ("/x".to_owned(), group(9))].into();
    let late = adjust(row("jitter", Answer::Healthy), &observed);
    assert_eq!(late.answer, Answer::Slow);
    assert!((late.measured.as_ref().unwrap().value - 0.8).abs() < 1e-9);
    assert_eq!(
        late.next.as_deref(),
        Some(
            "grep . '/sys/fs/cgroup/my app/cpu.max' '/sys/fs/cgroup/my app/cpu.stat' \
             '/sys/fs/cgroup/my app/cgroup.procs'"
        )
    );
    observed.whole.throttled.insert(path, group(25));
    assert_eq!(adjust(row("jitter", Answer::Healthy), &observed).answer, Answer::Healthy);
}

#[test]
fn the_jitter_row_names_the_program_that_had_the_cpus() {
    let mut observed = observed(89, 0);
    observed.deeds = vec![
        ProgramActivity { cpu: Nanos(1_400_000_000), ..deeds(7, "rustc", 20) },
        ProgramActivity { cpu: Nanos(20_000_000), ..deeds(8, "sh", 1) },
    ];
    let row = adjust(row("jitter", Answer::Slow), &observed);
    assert_eq!(
        row.reason,
        "as the probe says; some thread waited for a CPU in 89 % of the time; rustc[7] had most \
         of them (1.4 CPUs)"
    );
}

#[test]
fn the_lock_row_leads_to_the_program_that_switches_most() {
    let mut observed = observed(0, 0);
    observed.deeds = vec![
        ProgramActivity { switches: 90_000, ..deeds(5, "redis-server", 1) },
        ProgramActivity { switches: 500, ..deeds(4711, "mysqld", 40) },
    ];
    let next = |answer, observed: &Observed| adjust(row("lock", answer), observed).next;
    let doctor = Some("sudo unjank lock doctor 4711".to_owned());
    assert_eq!(next(Answer::Slow, &observed), doctor);
    assert_eq!(next(Answer::Healthy, &observed), None);
    observed.deeds[1].switches = 51_000;
    assert_eq!(next(Answer::Healthy, &observed), doctor);
    observed.deeds.clear();
    assert_eq!(next(Answer::Slow, &observed).as_deref(), Some(LOCK_NEXT));
}

#[test]
fn the_ipc_row_leads_to_the_cause() {
    let next = |cpu| adjust(row("ipc", Answer::Slow), &observed(cpu, 0)).next;
    assert_eq!(next(60).as_deref(), Some(CAUSE_NEXT));
    assert_eq!(next(0).as_deref(), Some(IPC_NEXT));
}

#[test]
fn counts_are_in_the_record() {
    let mut observed = observed(50, 20);
    observed.calm.swapped_in = 30;
    let facts = facts(&observed);
    let all: Vec<_> = facts.iter().map(|fact| (fact.name.as_str(), fact.value)).collect();
    assert_eq!(all.iter().filter(|(name, _)| *name == "checkup/waited").count(), 6);
    assert!(all.contains(&("checkup/waited", 0.2)) && all.contains(&("checkup/stolen", 0.0)));
    assert!(all.contains(&("checkup/swapped_in", 30.0)));
    assert_eq!(super::facts(&Observed::default()).len(), 3, "no pressure, no groups");
}
