//! Properties of paired experiments, tested on thousands of simulated ones with
//! a known truth: intervals cover it, no difference is found where there is
//! none, and one is found where there is.

use std::convert::Infallible;

use rand::{RngExt as _, SeedableRng as _};
use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use unjank_host::Nanos;
use unjank_measure::experiment::{Arm, Conclusion, Plan, Question, Trials};
use unjank_measure::{Answer, Direction, Series, Silent, Unit};

/// Simulated experiments per statement. A true rate of 95 % is seen within
/// ±3.3 points of it 99.7 times of 100.
const EXPERIMENTS: u64 = 400;
const TOLERANCE: f64 = 0.033;

fn question() -> Question {
    Question {
        text: "Is B faster?".to_owned(),
        subject: "test/time".to_owned(),
        unit: Unit::Nanoseconds,
        better: Direction::Smaller,
        min_effect: 0.0,
    }
}

/// One launch of about 1 ms with 5 % of noise, on a machine that gets warmer:
/// after forty trials it is twice as slow. Arm B takes `effect` less.
fn launches(seed: u64, effect: f64) -> Trials<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut trials = 0.0;
    Plan { pairs: 20, warm_up: 0, seed }
        .run(&Silent, |arm| {
            trials += 1.0;
            let noise: f64 = StandardNormal.sample(&mut random);
            let saved = if arm == Arm::B { effect } else { 0.0 };
            Ok::<_, Infallible>(1e6 + 25e3 * trials + 50e3 * noise - saved)
        })
        .unwrap()
}

/// A thread woken 400 times a trial, one in 200 of them late; both the level
/// and the lateness differ from trial to trial.
fn wakeups(seed: u64, pairs: usize, late: impl Fn(Arm) -> f64) -> Trials<Series> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    Plan { pairs, warm_up: 0, seed }
        .run(&Silent, |arm| {
            let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
            let level = 20e3 + 1e3 * normal();
            let often = (0.005 * normal().exp()).min(0.2);
            let mut series = Series::new("test/trial");
            for _ in 0..400 {
                let noise: f64 = StandardNormal.sample(&mut random);
                let late = if random.random_bool(often) { late(arm) } else { 0.0 };
                series.record(Nanos((level + 2e3 * noise + late * random.random::<f64>()) as u64));
            }
            Ok::<_, Infallible>(series)
        })
        .unwrap()
}

/// The share of the experiments for which `holds`.
fn share(conclusions: &[Conclusion], holds: impl Fn(&Conclusion) -> bool) -> f64 {
    conclusions.iter().filter(|conclusion| holds(conclusion)).count() as f64
        / conclusions.len() as f64
}

fn covers(conclusion: &Conclusion, quantity: &str, truth: f64) -> bool {
    let effect =
        conclusion.effects.iter().find(|effect| effect.quantity == quantity).expect("asked for");
    let [low, high] = effect.difference.expect("bounded").interval;
    (low..=high).contains(&truth)
}

#[test]
fn intervals_cover_the_truth_in_spite_of_drift() {
    for effect in [0.0, 80e3] {
        let conclusions: Vec<Conclusion> =
            (0..EXPERIMENTS).map(|seed| launches(seed, effect).conclude(&question())).collect();
        let covered = share(&conclusions, |conclusion| covers(conclusion, "p50", -effect));
        assert!((covered - 0.95).abs() <= TOLERANCE, "effect {effect}: {covered}");
        if effect == 0.0 {
            let undecided = share(&conclusions, |conclusion| {
                conclusion.effects[0].answer == Answer::CannotTell
            });
            assert!((undecided - 0.95).abs() <= TOLERANCE, "equal arms: {undecided}");
        }
    }
}

#[test]
fn arms_with_the_same_values_have_the_same_interval() {
    let mut trials = launches(1, 0.0);
    trials.pairs.truncate(8);
    for pair in &mut trials.pairs {
        pair.b = pair.a;
    }
    let conclusion = trials.conclude(&question());
    let median = conclusion.median().unwrap();
    let [a, b] = [median.a, median.b].map(|side| side.interval.unwrap());
    assert!(a[0] < a[1], "{a:?}");
    assert_eq!(a.map(f64::to_bits), b.map(f64::to_bits), "{a:?} and {b:?}");
}

#[test]
fn a_planted_effect_is_found_and_has_the_right_sign() {
    // One and a half times the smallest effect that the experiments claim to
    // find.
    let minimum = launches(0, 0.0).conclude(&question()).effects[0].minimum_effect.unwrap();
    for (effect, answer) in [(1.5 * minimum, Answer::Better), (-1.5 * minimum, Answer::Worse)] {
        let conclusions: Vec<Conclusion> =
            (0..100).map(|seed| launches(seed, effect).conclude(&question())).collect();
        let found = share(&conclusions, |conclusion| conclusion.effects[0].answer == answer);
        assert!(found >= 0.8, "effect {effect}: {found}");
    }
}

#[test]
fn tails_of_pooled_trials_are_covered_too() {
    let conclusions: Vec<Conclusion> =
        (0..100).map(|seed| wakeups(seed, 20, |_| 100e3).conclude(&question())).collect();
    for quantity in ["p50", "p90", "p99"] {
        // Of 100 experiments a true 95 % shows as 88 or more, 99.8 times of 100.
        let covered = share(&conclusions, |conclusion| covers(conclusion, quantity, 0.0));
        assert!(covered >= 0.88, "{quantity}: {covered}");
    }
    let quiet = share(&conclusions, |conclusion| {
        conclusion.effects.iter().all(|effect| effect.answer == Answer::CannotTell)
    });
    assert!(quiet >= 0.88, "{quiet}");
}

#[test]
fn a_planted_tail_is_found_where_the_median_is_the_same() {
    let late = |arm| if arm == Arm::A { 400e3 } else { 100e3 };
    let conclusion = wakeups(1, 30, late).conclude(&question());
    let answer = |quantity| {
        conclusion.effects.iter().find(|effect| effect.quantity == quantity).unwrap().answer
    };
    assert_eq!(answer("p50"), Answer::CannotTell);
    assert_eq!(answer("p99.9"), Answer::Better);
}

#[test]
fn the_same_seed_gives_the_same_answer_to_the_last_digit() {
    let [one, other] = [0, 1].map(|_| launches(9, 30e3).conclude(&question()));
    assert_eq!(one, other);
}
