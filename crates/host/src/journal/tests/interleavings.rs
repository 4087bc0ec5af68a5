//! Any steps of a session, any writes of other programs, kills of the session
//! and of the restore after it at any step: in the end every knob reads its
//! first value, or another program's.

use proptest::prelude::*;

use super::*;
use crate::journal::{Knob, failpoint};

const KNOBS: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone)]
enum Step {
    Change(usize, u8),
    ChangeAll(u8),
    Set(usize, u8),
    Drop(usize),
    SomebodyWrites(usize, u8),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..3_usize, 0..4_u8).prop_map(|(knob, value)| Step::Change(knob, value)),
        1 => (0..4_u8).prop_map(Step::ChangeAll),
        3 => (0..4_usize, 0..4_u8).prop_map(|(guard, value)| Step::Set(guard, value)),
        2 => (0..4_usize).prop_map(Step::Drop),
        2 => (0..3_usize, 0..4_u8).prop_map(|(knob, value)| Step::SomebodyWrites(knob, value)),
    ]
}

fn first(knob: usize) -> String {
    format!("first-{}", KNOBS[knob])
}

/// Does `steps` in a session that dies after `kill` steps of its own; returns
/// whether it died.
fn run(bench: &Bench, steps: &[Step], kill: u32, theirs: &mut [Vec<String>; 3]) -> bool {
    let path = |knob: usize| format!("/sys/{}", KNOBS[knob]);
    let ours = |value: &u8| format!("ours-{value}");
    let session = bench.open();
    let mut guards: Vec<Knob> = Vec::new();
    failpoint::kill_after(kill);
    for step in steps {
        match step {
            Step::Change(knob, value) => guards.extend(session.change(path(*knob), &ours(value))),
            Step::ChangeAll(value) => {
                let batch = [0, 1, 2].map(|knob| (path(knob), ours(value)));
                guards.extend(session.change_all(&batch).unwrap_or_default());
            }
            Step::Set(guard, value) => {
                if let Some(guard) = guards.get(*guard) {
                    let _killed = guard.set(&ours(value));
                }
            }
            Step::Drop(guard) if *guard < guards.len() => drop(guards.remove(*guard)),
            Step::Drop(_) => {}
            Step::SomebodyWrites(knob, value) => {
                let value = format!("theirs-{value}-which-is-long");
                bench.write(KNOBS[*knob], &value);
                theirs[*knob].push(value);
            }
        }
    }
    drop((guards, session));
    failpoint::disarm()
}

/// Returns whether the session died of it.
fn check(steps: &[Step], kill: u32, late: Option<usize>, second_kill: u32) -> bool {
    let knobs = [0, 1, 2].map(|knob| (KNOBS[knob], first(knob)));
    let knobs: Vec<_> = knobs.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let bench = Bench::new(&knobs);
    let mut theirs = [const { Vec::new() }; 3];
    let died = run(&bench, steps, kill, &mut theirs);
    if let Some(knob) = late {
        bench.write(KNOBS[knob], "theirs-late");
        theirs[knob].push("theirs-late".to_owned());
    }
    failpoint::kill_after(second_kill);
    bench.restore();
    failpoint::disarm();
    let found = bench.restore();
    assert!(!found.iter().any(FoundJournal::is_unresolved), "{found:?}");
    assert!(bench.journals().is_empty());
    for knob in 0..3 {
        let now = bench.read(KNOBS[knob]);
        assert!(
            now == first(knob) || theirs[knob].contains(&now),
            "{} reads {now} after {steps:?}, killed after {kill} and {second_kill}",
            KNOBS[knob]
        );
    }
    died
}

#[test]
fn a_kill_at_every_single_step_is_harmless() {
    let steps = [
        Step::Change(0, 0),
        Step::ChangeAll(1),
        Step::Set(0, 2),
        Step::Set(2, 2),
        Step::Set(2, 1),
        Step::Drop(1),
        Step::SomebodyWrites(1, 0),
        Step::Change(2, 3),
    ];
    let survived = (0..200).find(|&kill| !check(&steps, kill, None, kill % 7));
    let length = survived.expect("the session has an end");
    assert!(length > 40, "{length} steps are fewer than the session takes");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn every_knob_ends_with_its_first_value_or_another_programs(
        steps in proptest::collection::vec(any_step(), 0..12),
        kill in 0..90_u32,
        late in proptest::option::of(0..3_usize),
        second_kill in 0..12_u32,
    ) {
        check(&steps, kill, late, second_kill);
    }
}
