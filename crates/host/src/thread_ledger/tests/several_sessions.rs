//! Several sessions that change the same threads.

use proptest::prelude::*;

use super::*;

#[test]
fn sessions_are_undone_newest_first() {
    let machine = Machine::new();
    for priority in [70, 80] {
        let mut ledger = machine.begin(Some(77), false);
        machine.change(&mut ledger, 78, fifo(priority));
        ledger.keep().unwrap();
    }
    let all = |mode| machine.restore(Selection::All, mode);
    let would: Vec<String> = all(Mode::DryRun)[1].changes.iter().map(ToString::to_string).collect();
    assert_eq!(
        would,
        ["t78 (thread 78): would be put back: fifo:70 reset-on-fork → other"],
        "as after the newest"
    );
    assert_eq!(machine.now(78), fifo(80));
    assert_eq!(outcomes(&all(Mode::Act)), [RestoreOutcome::PutBack, RestoreOutcome::PutBack]);
    assert_eq!(machine.now(78), OTHER);
}

/// What a session does.
#[derive(Debug, Clone, Copy)]
enum Step {
    Change { thread: u32, priority: u8 },
    Limit { millis: u64 },
    Finish,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (78..80_u32, 1..4_u8).prop_map(|(thread, priority)| Step::Change { thread, priority }),
        (1..4_u64).prop_map(|millis| Step::Limit { millis }),
        Just(Step::Finish),
        Just(Step::Kill),
    ]
}

proptest! {
    #[test]
    fn threads_end_as_they_were_in_whichever_order_sessions_end(
        steps in prop::collection::vec((0..3_usize, step()), 1..20),
        last in Just([0, 1, 2]).prop_shuffle(),
    ) {
        let machine = Machine::new();
        let begin = || machine.begin(Some(77), true);
        let mut sessions = [None, None, None];
        let last = last.map(|session| (session, Step::Finish));
        for (session, step) in steps.into_iter().chain(last) {
            let session = &mut sessions[session];
            match step {
                Step::Change { thread, priority } => {
                    machine.change(session.get_or_insert_with(begin), thread, fifo(priority));
                }
                Step::Limit { millis } => {
                    let ledger = session.get_or_insert_with(begin);
                    ledger.limit(77, Nanos::from_millis(millis), true).unwrap();
                }
                Step::Finish => drop(session.take().map(Ledger::finish)),
                Step::Kill => drop(session.take()),
            }
        }
        // As a keeper does after a kill, and as its dry run says.
        let all = |mode| machine.restore(Selection::CutOff, mode);
        let would = outcomes(&all(Mode::DryRun)).into_iter().map(|outcome| match outcome {
            RestoreOutcome::WouldPutBack => RestoreOutcome::PutBack,
            other => other,
        });
        let would: Vec<RestoreOutcome> = would.collect();
        prop_assert_eq!(would, outcomes(&all(Mode::Act)));
        let now = [78, 79].map(|id| machine.now(id));
        let all = (now, machine.limit(), machine.ledgers());
        prop_assert_eq!(all, ([OTHER; 2], UNLIMITED, 0));
    }
}

#[test]
fn the_first_of_two_sessions_waits_for_the_second() {
    let machine = Machine::new();
    let begin = || machine.begin(Some(77), true);
    let [mut first, mut second] = [begin(), begin()];
    machine.change(&mut first, 78, fifo(70));
    machine.change(&mut second, 78, fifo(80));
    let reports = first.finish();
    let waits = reports[0].to_string();
    assert!(waits.contains("has changed it since, and puts back both when it ends"), "{waits}");
    let reports = second.finish();
    let said: Vec<String> = reports.iter().map(ThreadReport::to_string).collect();
    assert_eq!(
        said,
        [
            "t78 (thread 78): fifo:80 reset-on-fork → fifo:70 reset-on-fork, as it was",
            "t78 (thread 78): fifo:70 reset-on-fork → other, as it was",
        ]
    );
    assert_eq!(machine.ledgers(), 0);
}

#[test]
fn a_limit_stays_as_long_as_a_session_needs_it() {
    let machine = Machine::new();
    let begin = || machine.begin(Some(77), true);
    let [mut first, mut second] = [begin(), begin()];
    let long = Nanos::from_millis(1_000);
    for session in [&mut first, &mut second] {
        assert_eq!(session.limit(77, long, false).unwrap(), Some(long));
    }
    first.finish();
    assert_eq!(machine.limit().soft, Some(long), "the second one needs it");
    second.finish();
    assert_eq!((machine.limit(), machine.ledgers()), (UNLIMITED, 0));
}

#[test]
fn a_limit_between_two_others_goes_back() {
    let machine = Machine::new();
    let begin = || machine.begin(Some(77), true);
    let mut sessions = [begin(), begin()];
    for (session, millis) in [(0, 3), (1, 3), (0, 2), (1, 1)] {
        sessions[session].limit(77, Nanos::from_millis(millis), true).unwrap();
    }
    for session in sessions {
        session.finish();
    }
    assert_eq!((machine.limit(), machine.ledgers()), (UNLIMITED, 0));
}

#[test]
fn a_session_under_kept_changes_waits_until_they_are_restored() {
    let machine = Machine::new();
    let begin = |tied| machine.begin(Some(77), tied);
    let [mut first, mut second] = [begin(true), begin(false)];
    machine.change(&mut first, 78, fifo(70));
    machine.change(&mut second, 78, fifo(80));
    second.keep().unwrap();
    let waits = first.finish()[0].to_string();
    assert!(waits.contains("unjank rt restore puts back both"), "{waits}");
    let found = machine.restore(Selection::CutOff, Mode::Act);
    assert!(found.iter().all(|ledger| !ledger.is_unresolved()), "{found:?}");
    assert_eq!((machine.now(78), machine.ledgers()), (fifo(80), 2));
    let found = machine.restore(Selection::All, Mode::Act);
    assert_eq!(outcomes(&found), [RestoreOutcome::PutBack, RestoreOutcome::PutBack]);
    assert_eq!((machine.now(78), machine.ledgers()), (OTHER, 0));
}
