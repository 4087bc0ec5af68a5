//! Each rule, just below and just above its limit.

mod sampled;

use unjank_host::address_space::FutexId;
use unjank_host::language_runtime::LanguageRuntime;
use unjank_host::program_code::CodeLocation;
use unjank_host::sched::ThreadId;

use super::super::observed::{Code, Futex, Naps, Title, Turns, Waits};
use super::*;

const PRICES: Prices = Prices {
    yielding: Nanos(400),
    traced: Nanos(500),
    wake_nobody: Nanos(250),
    park: Nanos::from_micros(20),
};
const ALONE: OtherThreads = OtherThreads { runnable: 0, idle: 0, same_cpu: 0 };

/// A second of a thread, traced for a fifth of it.
fn thread(cpu_millis: u64, change: impl FnOnce(&mut ObservedThread, &mut Calls)) -> ObservedThread {
    let mut seen = ObservedThread::new(ThreadId(7), "w");
    let mut calls = Calls { watched: Nanos::from_millis(200), ..Calls::default() };
    seen.watched = Nanos::from_millis(1_000);
    seen.cpu = Nanos::from_millis(cpu_millis);
    seen.user = seen.cpu;
    seen.ready = Some(Nanos::ZERO);
    change(&mut seen, &mut calls);
    seen.calls = Some(calls);
    seen
}

fn untraced(cpu_millis: u64, change: impl FnOnce(&mut ObservedThread)) -> ObservedThread {
    ObservedThread { calls: None, ..thread(cpu_millis, |seen, _| change(seen)) }
}

fn kinds(seen: &ObservedThread, others: OtherThreads) -> Vec<DiagnosisKind> {
    diagnose(seen, &others, &PRICES).iter().map(|it| it.kind).collect()
}

fn evidence(seen: &ObservedThread, others: OtherThreads) -> String {
    diagnose(seen, &others, &PRICES)[0].evidence.clone()
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a field takes")]
fn futex(is_lock: bool, wait: Option<u64>, crowd: u64) -> Option<Futex> {
    Some(Futex {
        id: FutexId::Private { process: 1, address: 0x1000 },
        name: None,
        threads: 3,
        is_lock,
        wait: wait.map(Nanos::from_micros),
        crowd,
        waits: 0,
        waited: Nanos::ZERO,
    })
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a field takes")]
fn code(samples: u64, lines: usize, pauses: Option<bool>) -> Option<Code> {
    Some(Code { samples, lines, pauses, ..Code::default() })
}

#[test]
fn time_without_a_cpu_is_no_sleep_and_hides_none() {
    let percent_asleep = |cpu, ready| {
        let ready = Nanos::from_millis(ready);
        let seen = thread(cpu, |seen, _| seen.ready = Some(ready));
        (100.0 * seen.waiting_share()).round() as u32
    };
    assert_eq!(
        [(500, 0), (100, 800), (200, 800)].map(|(cpu, ready)| percent_asleep(cpu, ready)),
        [50, 50, 0]
    );
    assert_eq!((percent_asleep(25, 950), percent_asleep(25, 951)), (50, 0), "too little is left");
}

#[test]
fn waits_for_threads_that_are_not_watched_are_not_healthy() {
    let outside = |waits, waited: u64| {
        let waited = Nanos::from_millis(waited);
        let shared = FutexId::Shared { device: (0, 1), inode: 7, offset: 0 };
        let other = futex(false, None, 0).map(|it| Futex { id: shared, waits, waited, ..it });
        thread(1, |_, calls| calls.outside = other)
    };
    let first = |seen: &ObservedThread| kinds(seen, ALONE)[0];
    let (fine, unknown) = (DiagnosisKind::Fine, DiagnosisKind::CannotTell);
    for (waits, waited, expected) in
        [(20, 0, unknown), (19, 0, fine), (2, 40, unknown), (2, 39, fine), (1, 200, fine)]
    {
        assert_eq!(first(&outside(waits, waited)), expected, "{waits} waits, {waited} ms of 200");
    }
    let said = evidence(&outside(2, 40), ALONE);
    assert!(said.starts_with("it waits for 20 % of its time on futex 0x0 of shared"), "{said}");
    for (rate, expected) in [(10.0, unknown), (9.9, fine)] {
        assert_eq!(first(&thread(1, |seen, _| seen.outsiders = rate)), expected);
        assert_eq!(first(&thread(1, |seen, _| seen.partner = Some(rate))), expected);
    }
    let locked = thread(1, |seen, calls| {
        (seen.partner, calls.lock) = (Some(99.0), futex(true, None, 0));
    });
    assert_eq!(first(&locked), fine, "the waits on the lock's futex are known, and few");
}

#[test]
fn a_short_watch_decides_nothing() {
    let mut seen = thread(100, |_, calls| calls.yields = 400_000);
    seen.watched = Nanos::from_millis(199);
    assert_eq!(kinds(&seen, ALONE), [DiagnosisKind::CannotTell]);
    let brief = thread(900, |seen, calls| {
        calls.watched = Nanos::from_millis(39);
        calls.yields = 400_000;
        seen.system = seen.user;
    });
    assert_eq!(kinds(&brief, ALONE), [DiagnosisKind::CannotTell]);
    assert!(evidence(&brief, ALONE).ends_with("its system calls were traced for 39.0 ms only"));
}

#[test]
fn yields_are_a_storm_from_a_thousand_a_second_that_cost_something() {
    let storm = |yields| {
        thread(500, |seen, calls| {
            calls.yields = yields;
            seen.involuntary = 100;
        })
    };
    assert_eq!(kinds(&storm(199), ALONE), [DiagnosisKind::Fine]);
    assert_eq!(kinds(&storm(200), ALONE), [DiagnosisKind::Fine], "half a thousandth of a CPU");
    assert_eq!(kinds(&storm(20_000), ALONE), [DiagnosisKind::Yields]);
    let found = diagnose(&storm(20_000), &OtherThreads { runnable: 2, ..ALONE }, &PRICES);
    assert!((found[0].wasted - 0.05).abs() < 1e-9, "{found:?}");
    assert!(found[0].evidence.contains("100,000 calls of sched_yield a second, 10 % of its CPU"));
    assert!(found[0].evidence.contains("0.1 % let another thread run"));
    assert!(
        found[0].evidence.ends_with(", while 2 threads were ready and did not run"),
        "{found:?}"
    );
    let all = diagnose(&storm(1_000_000), &ALONE, &PRICES);
    assert!((all[0].wasted - 0.5).abs() < 1e-9, "no more than it used");
}

#[test]
fn polls_that_find_nothing_are_counted() {
    let polls = |polls| thread(900, |_, calls| calls.empty_polls = polls);
    assert_eq!(kinds(&polls(199), ALONE), [DiagnosisKind::CannotTell], "busy, and not sampled");
    assert_eq!(kinds(&polls(200), ALONE), [DiagnosisKind::CannotTell]);
    assert_eq!(kinds(&polls(20_000), ALONE), [DiagnosisKind::Polls]);
    let interrupted = thread(900, |_, calls| {
        calls.empty_polls = 20_000;
        calls.naps.polls = 100;
    });
    assert_eq!(kinds(&interrupted, ALONE), [DiagnosisKind::Polls]);
}

#[test]
fn naps_are_a_loop_from_fifty_a_second() {
    let naps = |sleeps, polls, waits, voluntary| {
        thread(50, |seen, calls| {
            let time = Nanos::from_millis(100);
            calls.naps = Naps { sleeps, polls, waits, time };
            seen.voluntary = voluntary;
        })
    };
    assert_eq!(kinds(&naps(9, 0, 0, 45), ALONE), [DiagnosisKind::Fine]);
    let found = diagnose(&naps(100, 0, 0, 1_000), &ALONE, &PRICES);
    assert_eq!(found[0].kind, DiagnosisKind::Naps);
    assert!((found[0].wasted - 0.025).abs() < 1e-9, "half of its sleeps are naps: {found:?}");
    assert_eq!(
        found[0].evidence,
        "500 sleeps a second, 1.00 ms each, in vain; 2.5 % of a CPU, and it notices what it waits \
         for 1.00 ms late on average"
    );
    assert!(evidence(&naps(0, 100, 1, 0), ALONE).contains("polls with a time limit"));
    assert!(evidence(&naps(0, 1, 100, 0), ALONE).contains("timed waits on a futex"));
}

#[test]
fn waits_for_a_lock_are_short_or_long() {
    let waits = |woken, changed, micros: u64, futex: Option<Futex>| {
        thread(100, move |_, calls| {
            calls.waits =
                Waits { woken, changed, time: Nanos::from_micros(micros), ..Waits::default() };
            let waited =
                |it: Futex| Futex { waits: woken + changed, waited: calls.waits.time, ..it };
            calls.lock = futex.clone().filter(|it| it.is_lock).map(waited);
            calls.busiest = futex;
            calls.wakes = woken;
        })
    };
    assert_eq!(kinds(&waits(1_000, 0, 10_000, None), ALONE), [DiagnosisKind::Fine]);
    assert_eq!(kinds(&waits(19, 0, 300, futex(true, Some(15), 0)), ALONE), [DiagnosisKind::Fine]);
    assert_eq!(
        kinds(&waits(20, 0, 300, futex(true, Some(15), 0)), ALONE),
        [DiagnosisKind::ShortWaits]
    );
    assert_eq!(
        kinds(&waits(20, 0, 4_000, futex(true, None, 0)), ALONE),
        [DiagnosisKind::LongWaits]
    );
    assert_eq!(
        kinds(&waits(3, 0, 60_000, futex(true, Some(20_000), 0)), ALONE),
        [DiagnosisKind::LongWaits]
    );
    assert_eq!(
        kinds(&waits(1, 0, 60_000, futex(true, Some(60_000), 0)), ALONE),
        [DiagnosisKind::Fine]
    );
    assert_eq!(kinds(&waits(3, 0, 600, futex(true, Some(200), 0)), ALONE), [DiagnosisKind::Fine]);
    assert_eq!(kinds(&waits(399, 0, 600, futex(false, Some(15), 0)), ALONE), [DiagnosisKind::Fine]);
    assert_eq!(
        kinds(&waits(400, 0, 600, futex(false, Some(15), 0)), ALONE),
        [DiagnosisKind::Handoffs]
    );
    assert_eq!(
        kinds(&waits(400, 0, 6_000, futex(false, Some(150), 0)), ALONE),
        [DiagnosisKind::Fine]
    );
    let found = evidence(&waits(10, 30, 300, futex(true, Some(15), 0)), ALONE);
    assert!(
        found.contains("200 waits and 50 wake-ups a second") && found.contains("0x1000, which 3")
    );
    assert!(found.ends_with("the futex had changed before the thread slept"), "{found}");
}

#[test]
fn the_gil_of_cpython_has_a_name_and_a_remedy_of_its_own() {
    let held = thread(100, |_, calls| {
        let name = Some("_PyRuntime".to_owned());
        let (waits, waited) = (40, Nanos::from_millis(100));
        calls.lock = futex(true, Some(5_000), 0).map(|it| Futex { name, waits, waited, ..it });
    });
    let found = &diagnose(&held, &ALONE, &PRICES)[0];
    assert_eq!(found.kind, DiagnosisKind::LongWaits);
    assert!(found.evidence.contains("(the GIL of CPython)"), "{found:?}");
    assert!(found.action.is_some_and(|action| action.contains("processes")));
}

#[test]
fn a_title_that_says_it_waits_is_certain_from_a_fifth_of_the_looks_on() {
    let says = |waiting, looks| {
        let seen = thread(5, |seen, _| seen.owner.title = Some(Title { looks, waiting }));
        let found = &diagnose(&seen, &ALONE, &PRICES)[0];
        (found.kind, found.certainty)
    };
    assert_eq!(says(2, 10), (DiagnosisKind::LongWaits, Certainty::Certain));
    assert_eq!(says(1, 10), (DiagnosisKind::LongWaits, Certainty::Suspected));
    assert_eq!(says(2, 2), (DiagnosisKind::LongWaits, Certainty::Suspected), "too few looks");
    assert_eq!(says(0, 10).0, DiagnosisKind::Fine);
}

#[test]
fn taking_turns_is_suspected_and_certain_where_the_jvm_counts() {
    let turns = Turns { members: 8, waiting: 0.8, woken: 500.0, by_members: 0.9 };
    let seen = thread(100, |seen, _| seen.turns = Some(turns));
    let found = &diagnose(&seen, &ALONE, &PRICES)[0];
    assert_eq!((found.kind, found.certainty), (DiagnosisKind::TakesTurns, Certainty::Suspected));
    assert!(found.evidence.contains("90 % of these by 7 threads"), "{found:?}");
    let counted = |rate| {
        let mut seen = seen.clone();
        seen.owner.monitors = Some(rate);
        diagnose(&seen, &ALONE, &PRICES)[0].certainty
    };
    assert_eq!(counted(500.0), Certainty::Certain);
    assert_eq!(counted(4.9), Certainty::Suspected, "they take turns for something else");
    let lock = thread(100, |seen, calls| {
        seen.turns = Some(turns);
        let (waits, waited) = (40, Nanos::from_millis(100));
        calls.lock = futex(true, Some(5_000), 0).map(|it| Futex { waits, waited, ..it });
    });
    assert_eq!(kinds(&lock, ALONE), [DiagnosisKind::LongWaits], "the lock says it already");
}

#[test]
fn samples_in_a_lock_s_slow_path_name_it() {
    let sampled = |samples, share| {
        thread(500, |seen, _| {
            let lock = Some(("internal/sync.(*Mutex).lockSlow".to_owned(), share));
            seen.code = code(samples, 40, None).map(|it| Code { lock, ..it });
        })
    };
    assert_eq!(kinds(&sampled(50, 0.02), ALONE), [DiagnosisKind::LockCode]);
    assert!(
        evidence(&sampled(50, 0.02), ALONE).ends_with("mostly internal/sync.(*Mutex).lockSlow")
    );
    assert_eq!(kinds(&sampled(49, 0.02), ALONE), [DiagnosisKind::Fine]);
    assert_eq!(kinds(&sampled(50, 0.019), ALONE), [DiagnosisKind::Fine]);
}

#[test]
fn sleeps_of_go_s_runtime_are_no_sleep_loop() {
    let sleeps = |runtime: Option<LanguageRuntime>| {
        thread(5, |seen, calls| {
            calls.naps = Naps { sleeps: 100, time: Nanos::from_millis(100), ..Naps::default() };
            seen.owner.runtimes = runtime.into_iter().collect();
        })
    };
    assert_eq!(kinds(&sleeps(None), ALONE), [DiagnosisKind::Naps]);
    assert_eq!(kinds(&sleeps(Some(LanguageRuntime::Go)), ALONE), [DiagnosisKind::Fine]);
    let found = evidence(&sleeps(Some(LanguageRuntime::Go)), ALONE);
    assert!(found.ends_with("short sleeps are those of Go's runtime"), "{found}");
}

#[test]
fn wakes_of_nobody_are_half_of_all_at_least() {
    let wakes =
        |wakes, nobody| thread(100, |_, calls| (calls.wakes, calls.nobody) = (wakes, nobody));
    assert_eq!(kinds(&wakes(199, 199), ALONE), [DiagnosisKind::Fine]);
    assert_eq!(kinds(&wakes(400, 200), ALONE), [DiagnosisKind::WakesNobody]);
    assert_eq!(kinds(&wakes(401, 200), ALONE), [DiagnosisKind::Fine]);
}

#[test]
fn a_herd_is_woken_together_for_nothing() {
    let herd = |in_crowds, for_nothing, crowd| {
        thread(50, |_, calls| {
            calls.waits = Waits { woken: in_crowds, in_crowds, for_nothing, ..Waits::default() };
            calls.busiest = futex(false, Some(1_000), crowd);
        })
    };
    assert_eq!(kinds(&herd(10, 10, 2), ALONE), [DiagnosisKind::Fine], "two are no crowd");
    assert_eq!(kinds(&herd(10, 3, 8), ALONE), [DiagnosisKind::Fine], "seldom");
    assert_eq!(kinds(&herd(100, 10, 8), ALONE), [DiagnosisKind::Fine], "mostly for something");
    assert_eq!(kinds(&herd(10, 8, 8), ALONE), [DiagnosisKind::Herd]);
    assert!(evidence(&herd(10, 8, 8), ALONE).contains("up to 8 by one call"));
    let alone = thread(50, |_, _| {});
    assert_eq!(kinds(&alone, ALONE), [DiagnosisKind::Fine]);
}

#[test]
fn a_real_time_thread_that_does_not_sleep_is_named_first() {
    let yields = thread(500, |seen, calls| {
        seen.realtime = true;
        calls.yields = 20_000;
    });
    assert_eq!(kinds(&yields, ALONE), [DiagnosisKind::Realtime, DiagnosisKind::Yields]);
    let naps = thread(50, |seen, calls| {
        seen.realtime = true;
        calls.naps = Naps { sleeps: 100, time: Nanos::from_millis(100), ..Naps::default() };
    });
    assert_eq!(kinds(&naps, ALONE), [DiagnosisKind::Naps], "it lets others run");
}

#[test]
fn the_worst_comes_first() {
    let sure_and_not = thread(950, |seen, calls| {
        seen.code = code(500, 2, Some(false));
        (calls.wakes, calls.nobody) = (400, 400);
    });
    let idle = OtherThreads { idle: 1, ..ALONE };
    assert_eq!(kinds(&sure_and_not, idle), [DiagnosisKind::WakesNobody, DiagnosisKind::Spins]);
    let both = thread(900, |_, calls| {
        calls.yields = 20_000;
        calls.empty_polls = 100_000;
    });
    assert_eq!(kinds(&both, ALONE), [DiagnosisKind::Polls, DiagnosisKind::Yields]);
}

#[test]
fn every_kind_has_a_name_and_bad_ones_an_action() {
    use DiagnosisKind::*;
    let all = [
        Realtime,
        Yields,
        Spins,
        Polls,
        Naps,
        ShortWaits,
        LongWaits,
        TakesTurns,
        LockCode,
        Handoffs,
        WakesNobody,
        Herd,
        Fine,
        CannotTell,
    ];
    for kind in all {
        assert_eq!(kind.action().is_some(), kind.is_bad(), "{kind:?}");
        assert!(!kind.words().is_empty());
        let plain = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(kind.name().chars().all(plain));
    }
}
