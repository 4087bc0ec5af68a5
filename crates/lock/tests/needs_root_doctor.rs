//! `lock doctor` on programs that wait badly, with their system calls traced.
//!
//! Needs root. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that
//! it was skipped. One test, because each victim needs a CPU of its own.

mod victim;

use unjank_host::{Nanos, Root};
use unjank_lock::doctor::{Certainty, DiagnosisKind, ThreadReport};
use unjank_measure::Answer;

use victim::{SECOND, Victim, kinds};

/// Lengths of attempts, in seconds: on a busy machine a program does little in one.
const LONGER: [u64; 6] = [1, 2, 4, 8, 16, 32];

/// Watches until a thread of this name has an expected diagnosis, for longer each time. Returns the
/// last diagnoses if none is expected.
fn found(
    victim: &Victim,
    name: &str,
    expected: impl Fn(&DiagnosisKind) -> bool,
) -> Result<(), Vec<Vec<DiagnosisKind>>> {
    let mut last = Vec::new();
    for times in LONGER {
        last = kinds(&victim.examine(SECOND.times(times)), name);
        if last.iter().flatten().any(&expected) {
            return Ok(());
        }
    }
    Err(last)
}

#[test]
fn every_way_to_wait_badly_is_named() {
    if !unjank_needs::root() {
        return;
    }
    for (way, name, expected) in [
        ("yield", "yields", DiagnosisKind::Yields),
        ("sleep", "sleeps", DiagnosisKind::Naps),
        ("spin", "spins", DiagnosisKind::Spins),
        ("poll", "polls", DiagnosisKind::Polls),
        ("lock-long", "locks", DiagnosisKind::LongWaits),
        ("nobody", "wakes", DiagnosisKind::WakesNobody),
        ("herd", "sheep", DiagnosisKind::Herd),
        ("realtime", "yields", DiagnosisKind::Realtime),
        ("healthy", "waits", DiagnosisKind::Fine),
        ("compute", "computes", DiagnosisKind::Fine),
        ("churn", "yields", DiagnosisKind::Yields),
        ("rayon", "rayon-0", DiagnosisKind::Yields),
    ] {
        let found = found(&Victim::start(way), name, |kind| *kind == expected);
        assert_eq!(found, Ok(()), "{way}");
    }
    let contended =
        |kind: &DiagnosisKind| matches!(kind, DiagnosisKind::ShortWaits | DiagnosisKind::LongWaits);
    let found = found(&Victim::start("lock-short"), "locks", contended);
    assert_eq!(found, Ok(()), "how long is the machine's");

    a_lock_of_two_threads_on_words_of_their_own_is_no_certain_yes();
    a_lock_that_is_held_through_the_watch_is_seen();
    the_record_says_the_same();
    the_end_of_the_program_is_no_error();
}

fn a_lock_of_two_threads_on_words_of_their_own_is_no_certain_yes() {
    let victim = Victim::start("lock-words");
    let mut last = None;
    let seen = LONGER.iter().any(|times| {
        let examined = victim.examine(SECOND.times(*times));
        let verdict = &examined.findings.verdicts[0];
        let seen = verdict.reason.contains("2 threads wake and are woken by one other");
        let seen = seen && verdict.answer == Answer::CannotTell;
        last = Some(examined);
        seen
    });
    assert!(seen, "they wake each other, sooner or later: {last:#?}");
}

fn a_lock_that_is_held_through_the_watch_is_seen() {
    for (way, answer, certainty) in [
        ("held", Answer::No, Some(Certainty::Certain)),
        ("held-word", Answer::CannotTell, Some(Certainty::Suspected)),
        ("pool", Answer::Yes, None),
    ] {
        let victim = Victim::start(way);
        let mut last = None;
        let seen = LONGER.iter().any(|times| {
            let examined = victim.examine(SECOND.times(*times));
            let diagnoses = examined.reports.iter().map(ThreadReport::worst);
            let waits = diagnoses.filter(|it| it.kind == DiagnosisKind::LongWaits);
            let found: Vec<Certainty> = waits.map(|it| it.certainty).collect();
            let expected = certainty.map_or_else(Vec::new, |certainty| vec![certainty; 3]);
            let seen = found == expected && examined.findings.verdicts[0].answer == answer;
            last = Some(examined);
            seen
        });
        assert!(seen, "{way}: {last:#?}");
    }
}

fn the_record_says_the_same() {
    let victim = Victim::start("yield");
    let mut attempts = LONGER.iter().map(|times| victim.examine(SECOND.times(*times)));
    let examined = attempts.find(|it| it.findings.verdicts[0].answer == Answer::No);
    let examined = examined.expect("a yield storm is seen, sooner or later");
    let table = examined.findings.table_named("lock/doctor/diagnoses").expect("a table");
    let row = format!("{:?}", table.rows[0]);
    assert!(row.contains("(yields)") && row.contains("yield storm"), "{row}");
    assert!(row.contains("calls of sched_yield a second"), "{row}");
    let fact = |name: &str| examined.findings.fact_named(&format!("lock/doctor/{name}"));
    assert!(fact("thread/yields").is_some_and(|fact| fact.labels["name"] == "yields"));
    assert!(fact("own_cpu").is_some_and(|fact| fact.value > 0.0));
    assert!(fact("traced").is_some_and(|fact| fact.value > 0.05 && fact.value < 0.5));
    assert!(examined.findings.series_named("lock/doctor/look").is_some_and(|look| look.n > 1));
    assert!(examined.findings.unsupported.is_empty(), "{:?}", examined.findings.unsupported);
    let worst = &examined.reports[0].diagnoses[0];
    assert_eq!((worst.kind, worst.certainty), (DiagnosisKind::Yields, Certainty::Certain));
}

/// How much it does before its end depends on the machine: it lives longer each time.
fn the_end_of_the_program_is_no_error() {
    let seen = LONGER.iter().any(|times| yields_until_its_end(SECOND.times(*times)));
    assert!(seen, "a yield storm is seen before the end, sooner or later");
}

/// Watches a program that ends after `life`: whether its yields were seen until then.
fn yields_until_its_end(life: Nanos) -> bool {
    let victim = Victim::start("yield");
    let process = victim.id();
    let ends = std::thread::spawn(move || {
        std::thread::sleep(life.into());
        drop(victim);
    });
    let options = unjank_lock::doctor::Options {
        process,
        tree: false,
        duration: Nanos::from_millis(600_000),
        top: 20,
    };
    let examined = unjank_lock::doctor::run(&options, &Root::system(), 7, &unjank_measure::Silent);
    ends.join().expect("nothing panics");
    // On a busy machine it may end before the watch begins.
    let Ok(examined) = examined else { return false };
    assert!(examined.findings.warnings.iter().any(|it| it.contains("ended after")));
    kinds(&examined, "yields").iter().flatten().any(|kind| *kind == DiagnosisKind::Yields)
}
