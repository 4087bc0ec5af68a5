//! The decision table that this crate shares with the Java library
//! (`SpinPolicyTest` there reads the same file).
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde::Deserialize;
use unjank_backoff::spin_policy::{Circumstances, Expected, Spin, Step, nap};
use unjank_backoff::ticks::{self, Ticks};

#[derive(Deserialize)]
struct Table {
    step: Vec<SpinCase>,
    expected: Vec<ExpectedCase>,
    budget: Vec<BudgetCase>,
    nap: Vec<NapCase>,
}

#[derive(Deserialize)]
struct SpinCase {
    name: String,
    budget: u64,
    steps: Vec<StepCase>,
    /// The pauses of all steps together.
    pauses: u32,
}

#[derive(Deserialize)]
struct StepCase {
    waited: u64,
    seen: Vec<Circumstance>,
    times: u32,
    extend: Option<u64>,
    then: Then,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Circumstance {
    RealTime,
    SwitchedOut,
    OthersParked,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Then {
    Look { looks: u32, pauses: u32 },
    Word(String),
}

#[derive(Deserialize)]
struct ExpectedCase {
    name: String,
    before: u32,
    waited: u64,
    after: u32,
}

#[derive(Deserialize)]
struct BudgetCase {
    name: String,
    expected: u32,
    park: u64,
    squeezed: bool,
    budget: u64,
}

#[derive(Deserialize)]
struct NapCase {
    before: u32,
    nap: u64,
}

/// Reads the table, and sets one tick to one nanosecond.
fn table() -> Table {
    ticks::set_rate(1 << 20);
    serde_json::from_str(include_str!("../fixtures/spin_policy.json")).unwrap()
}

fn circumstances(seen: &[Circumstance]) -> Circumstances {
    let mut all = Circumstances::default();
    for one in seen {
        match one {
            Circumstance::RealTime => all.real_time = true,
            Circumstance::SwitchedOut => all.switched_out = true,
            Circumstance::OthersParked => all.others_parked = true,
        }
    }
    all
}

impl Then {
    fn step(&self) -> Step {
        match self {
            Self::Look { looks, pauses } => Step::Look { looks: *looks, pauses: *pauses },
            Self::Word(word) => {
                assert_eq!(word, "park");
                Step::Park
            }
        }
    }
}

#[test]
fn steps() {
    for case in table().step {
        let mut spin = Spin::new(Ticks(case.budget));
        for (n, step) in case.steps.iter().enumerate() {
            if let Some(budget) = step.extend {
                spin.extend(Ticks(budget));
            }
            let seen = circumstances(&step.seen);
            let last = (0..step.times).map(|_| spin.step(Ticks(step.waited), seen)).last();
            assert_eq!(last, Some(step.then.step()), "{}, step {n}", case.name);
        }
        assert_eq!(spin.pauses(), case.pauses, "{}", case.name);
    }
}

#[test]
fn expectations() {
    for case in table().expected {
        let after = Expected(case.before).with(Ticks(case.waited));
        assert_eq!(after, Expected(case.after), "{}", case.name);
    }
}

#[test]
fn budgets() {
    for case in table().budget {
        let budget = Expected(case.expected).budget(Ticks(case.park), case.squeezed);
        assert_eq!(budget, Ticks(case.budget), "{}", case.name);
    }
}

#[test]
fn naps() {
    for case in table().nap {
        assert_eq!(nap(case.before).as_nanos(), u128::from(case.nap), "{} before", case.before);
    }
}

#[test]
fn one_tick_is_one_nanosecond() {
    let table = table();
    assert_eq!(Ticks::from_nanos(123_456_789), Ticks(123_456_789));
    let cases = [table.step.len(), table.expected.len(), table.budget.len(), table.nap.len()];
    assert!(cases.iter().all(|&cases| cases > 0), "{cases:?}");
}
