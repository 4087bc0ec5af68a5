//! Compares the frequency changes of kernel and model: sequence and times.

use unjank_host::{Hertz, Nanos};

use super::observe::Changes;
use crate::model::simulate::evaluation_timing::Mistimed;

/// The most changes in a message.
const SHOWN: usize = 12;

/// The kernel's changes compared with the model's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comparison {
    same_sequence: bool,
    /// The largest difference of two times; `None` without changes, or with
    /// another sequence.
    pub(super) worst: Option<Nanos>,
    within: bool,
    /// The kernel's first evaluation that breaks the model's rule.
    mistimed: Option<Mistimed>,
}

impl Comparison {
    /// Compares them; times may differ by `period`.
    pub(super) fn of(
        kernel: &Changes,
        model: &Changes,
        mistimed: &[Mistimed],
        period: Nanos,
    ) -> Self {
        let same_sequence = kernel.len() == model.len()
            && kernel.iter().zip(model).all(|(kernel, model)| kernel.khz == model.khz);
        let differences =
            kernel.iter().zip(model).map(|(one, other)| Nanos(one.at.0.abs_diff(other.at.0)));
        let worst = if same_sequence { differences.max() } else { None };
        let within = worst.is_none_or(|worst| worst <= period);
        Self { same_sequence, worst, within, mistimed: mistimed.first().copied() }
    }

    /// Whether the sequence is the same, each time within a period, and all
    /// evaluations follow the model's rule.
    pub(super) fn agrees(&self) -> bool {
        self.same_sequence && self.within && self.mistimed.is_none()
    }

    /// The reason, in one sentence.
    pub(super) fn in_words(&self, kernel: &Changes, model: &Changes, period: Nanos) -> String {
        if let Some(Mistimed { requested, due }) = self.mistimed {
            let kernel = requested.map_or("never did".to_owned(), |at| format!("did at {at}"));
            return format!(
                "the model would have evaluated the load at {due}; the kernel {kernel}"
            );
        }
        if !self.same_sequence {
            return format!("kernel: {}; model: {}", sequence(kernel), sequence(model));
        }
        match self.worst {
            None => "neither changes the frequency".to_owned(),
            Some(worst) => format!(
                "the same {} changes, at most {worst} apart; the period is {period}",
                kernel.len()
            ),
        }
    }
}

/// The first few changes: `200 MHz at 10.0 ms, 1.20 GHz at 20.0 ms`.
fn sequence(changes: &Changes) -> String {
    if changes.is_empty() {
        return "no change".to_owned();
    }
    let shown: Vec<String> = changes
        .iter()
        .take(SHOWN)
        .map(|change| format!("{} at {}", Hertz::from(change.khz), change.at))
        .collect();
    let more = changes.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Khz;
    use crate::model::simulate::Transition;

    fn changes(course: &[(u64, u32)]) -> Changes {
        course
            .iter()
            .map(|(at, mhz)| Transition {
                at: Nanos::from_millis(*at),
                clock: 0,
                khz: Khz(mhz * 1_000),
            })
            .collect()
    }

    #[test]
    fn the_same_sequence_within_a_period_agrees() {
        let period = Nanos::from_millis(100);
        let kernel = changes(&[(10, 1200), (500, 200)]);
        let near = changes(&[(15, 1200), (420, 200)]);
        let comparison = Comparison::of(&kernel, &near, &[], period);
        assert!(comparison.agrees());
        assert_eq!(
            comparison.in_words(&kernel, &near, period),
            "the same 2 changes, at most 80.0 ms apart; the period is 100 ms"
        );
        assert!(
            !Comparison::of(&kernel, &changes(&[(15, 1200), (601, 200)]), &[], period).agrees()
        );
        assert!(Comparison::of(&changes(&[]), &changes(&[]), &[], period).agrees());
    }

    #[test]
    fn another_sequence_disagrees() {
        let period = Nanos::from_millis(100);
        let (kernel, model) = (changes(&[(10, 1200)]), changes(&[(10, 1000), (20, 1200)]));
        let comparison = Comparison::of(&kernel, &model, &[], period);
        assert!(!comparison.agrees() && comparison.worst.is_none());
        assert_eq!(
            comparison.in_words(&kernel, &model, period),
            "kernel: 1.20 GHz at 10.0 ms; model: 1.00 GHz at 10.0 ms, 1.20 GHz at 20.0 ms"
        );
    }

    #[test]
    fn a_mistimed_evaluation_disagrees() {
        let period = Nanos::from_millis(100);
        let kernel = changes(&[(10, 1200)]);
        let reason = |requested| {
            let mistimed = Mistimed { requested, due: Nanos::from_millis(104) };
            let comparison = Comparison::of(&kernel, &kernel, &[mistimed], period);
            assert!(!comparison.agrees());
            comparison.in_words(&kernel, &kernel, period)
        };
        let begin = "the model would have evaluated the load at 104 ms; the kernel";
        assert_eq!(reason(Some(Nanos::from_millis(108))), format!("{begin} did at 108 ms"));
        assert_eq!(reason(None), format!("{begin} never did"));
    }
}
