//! Computes Table 3 from trials: averages, and differences from the reference.

use unjank_host::{Joules, Nanos};
use unjank_measure::experiment::{Question, Trials, family};
use unjank_measure::{Direction, Effect, Fact, Unit};

use super::rates::{Arm, MeasuredRates};
use super::{notes, paper};

/// One column of Table 3.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The sampling period, as requested.
    pub rate: Nanos,
    /// The sampling period that the kernel set.
    pub actual: Nanos,
    /// The average energy of a window, with its interval; `None` without a
    /// trial.
    pub average: Option<Fact>,
    /// The comparison with the reference; `None` for the reference itself.
    pub effect: Option<Effect>,
    /// The paper's energy, scaled to the time of this window.
    pub paper: Option<Joules>,
    /// The paper's difference, as a share.
    pub paper_difference: Option<f64>,
}

impl MeasuredRates {
    /// The rows of Table 3, in the order in which the periods were given.
    pub fn table(&self) -> Vec<Row> {
        let reference = self.arms.iter().position(|arm| arm.rate == self.options.reference);
        let mut effects = self.effects(reference).into_iter();
        let counted = self.options.window.counted().as_secs_f64() / paper::TIME.as_secs_f64();
        let row = |(place, arm): (usize, &Arm)| Row {
            rate: arm.rate,
            actual: arm.actual,
            average: self.average(arm, "launch/power/energy", |(all, _)| Some(*all)),
            effect: if Some(place) == reference { None } else { effects.next() },
            paper: paper::energy(arm.rate).map(|energy| Joules(energy.0 * counted)),
            paper_difference: paper::difference(arm.rate)
                .filter(|_| self.options.reference == paper::REFERENCE),
        };
        self.arms.iter().enumerate().map(row).collect()
    }

    fn effects(&self, reference: Option<usize>) -> Vec<Effect> {
        let Some(reference) = reference else { return Vec::new() };
        let others = (0..self.arms.len()).filter(|&arm| arm != reference);
        let asked: Vec<(Trials<f64>, Question)> = others
            .map(|arm| {
                let trials = Trials::of_rounds(self.plan, &self.rounds, reference, arm);
                (trials, self.question(self.arms[arm].rate))
            })
            .collect();
        let outcomes = family(&asked, self.options.min_effect);
        outcomes.into_iter().filter_map(|outcome| outcome.effects.into_iter().next()).collect()
    }

    pub(super) fn question(&self, rate: Nanos) -> Question {
        let reference = self.options.reference;
        Question {
            text: format!("Does sampling every {rate} take less energy than every {reference}?"),
            subject: format!("launch/power/every {rate}"),
            unit: Unit::Joules,
            better: Direction::Smaller,
            min_effect: self.options.min_effect,
        }
    }

    pub(super) fn average(
        &self,
        arm: &Arm,
        name: &str,
        energy: impl Fn(&(Joules, Option<Joules>)) -> Option<Joules>,
    ) -> Option<Fact> {
        let values: Vec<f64> =
            arm.trials.iter().filter_map(energy).map(|joules| joules.0).collect();
        let fact = notes::mean(name, &values, Unit::Joules, self.plan.seed)?;
        Some(
            fact.with_label("every", arm.rate.to_string())
                .with_label("meter", &self.about.name)
                .with_label("origin", self.about.origin.to_string()),
        )
    }
}
