//! Experiments with more than two arms: every arm is measured once in each
//! round.

use rand::RngExt as _;

use super::{Order, Pair, Plan, Trials};
use crate::stats::random::seeded;

/// The measurements of one round, in order: the arm, and its value.
pub type Round = Vec<(usize, f64)>;

/// The order of the arms in each of `plan.pairs` rounds; it depends only on the
/// seed. Rounds come in twos, and the second runs backwards, so that a steady
/// drift adds the same to every arm.
pub fn rounds(arms: usize, plan: &Plan) -> Vec<Vec<usize>> {
    let mut random = seeded(plan.seed, "order of rounds");
    let two = std::iter::repeat_with(|| {
        let mut one: Vec<usize> = (0..arms).collect();
        for place in (1..arms).rev() {
            one.swap(place, random.random_range(0..=place as u32) as usize);
        }
        let back: Vec<usize> = one.iter().rev().copied().collect();
        [one, back]
    });
    two.flatten().take(plan.pairs).collect()
}

impl Trials<f64> {
    /// The pairs of two arms in `rounds`: one for each round in which both were
    /// measured.
    pub fn of_rounds(plan: Plan, rounds: &[Round], a: usize, b: usize) -> Self {
        let pair = |round: &Round| {
            let place = |arm| round.iter().position(|(measured, _)| *measured == arm);
            let (first, second) = (place(a)?, place(b)?);
            let order = if first < second { Order::AB } else { Order::BA };
            Some(Pair { order, a: round[first].1, b: round[second].1 })
        };
        Self { plan, pairs: rounds.iter().filter_map(pair).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Question, family};
    use crate::record::{Answer, Direction, Unit};

    const PLAN: Plan = Plan { pairs: 10, warm_up: 0, seed: 7 };

    #[test]
    fn every_round_has_every_arm_and_every_second_one_backwards() {
        let order = rounds(4, &PLAN);
        assert_eq!(order.len(), 10);
        for two in order.chunks(2) {
            let mut sorted = two[0].clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
            assert!(two[0].iter().rev().eq(&two[1]));
        }
        assert_eq!(order, rounds(4, &PLAN));
        assert_ne!(order, rounds(4, &Plan { seed: 8, ..PLAN }));
        assert!(order.chunks(2).any(|two| two[0] != order[0]), "chance decides");
    }

    #[test]
    fn rounds_hold_pairs() {
        let rounds = [vec![(2, 5.0), (0, 1.0), (1, 3.0)], vec![(1, 4.0), (0, 2.0)]];
        let trials = Trials::of_rounds(PLAN, &rounds, 0, 1);
        assert_eq!(trials.order(), "AB BA");
        assert_eq!((trials.pairs[1].a, trials.pairs[1].b), (2.0, 4.0));
        assert_eq!(Trials::of_rounds(PLAN, &rounds, 1, 2).order(), "BA");
    }

    #[test]
    fn several_questions_are_one_family() {
        let value = |arm: usize, round: usize| {
            let noise = [0.3, -0.2, 0.1, -0.4, 0.2][(round * 3 + arm * 2) % 5];
            (arm, 100.0 + noise + if arm == 2 { 5.0 } else { 0.0 })
        };
        let measured: Vec<Round> =
            (0..10).map(|round| (0..3).map(|arm| value(arm, round)).collect()).collect();
        let question = |arm: usize| Question {
            text: format!("Is arm {arm} better?"),
            subject: format!("test/{arm}"),
            unit: Unit::Joules,
            better: Direction::Smaller,
            min_effect: 0.0,
        };
        let asked: Vec<_> =
            [1, 2].map(|arm| (Trials::of_rounds(PLAN, &measured, 0, arm), question(arm))).into();
        let conclusions = family(&asked, 0.0);
        let answers: Vec<Answer> = conclusions.iter().map(|one| one.effects[0].answer).collect();
        assert_eq!(answers, [Answer::CannotTell, Answer::Worse]);
        let alone = asked[1].0.conclude(&asked[1].1);
        let (together, alone) = (&conclusions[1].effects[0], &alone.effects[0]);
        assert!(together.p_value >= alone.p_value, "the family is larger");
        assert_eq!(together.difference, alone.difference);
    }
}
