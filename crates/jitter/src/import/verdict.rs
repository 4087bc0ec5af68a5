//! The verdict on an imported run. Of wake-ups beyond a histogram only bounds are known.

use unjank_measure::{Answer, Findings, Quantity, Unit, Verdict};

use super::findings::Beyond;
use super::imported::Imported;
use crate::explain;

impl Imported {
    /// The verdict of `jitter native` on [`findings`](Self::findings). The answer is
    /// `CannotTell` if it depends on how late the wake-ups beyond the histograms were.
    pub fn verdict(&self, findings: &Findings) -> Verdict {
        let mut verdict = explain::verdict(findings);
        let Some(low) = self.least_verdict() else { return verdict };
        let (Some(least), Some(most)) = (low.measured, &mut verdict.measured) else {
            return verdict;
        };
        let both = most.interval.zip(least.interval);
        most.interval = both.map(|(most, least)| [most[0].min(least[0]), most[1].max(least[1])]);
        if low.answer != verdict.answer {
            verdict.answer = Answer::CannotTell;
            verdict.reason = format!(
                "the answer depends on {} wake-ups beyond the histogram: they were at least {} \
                 late, and how much later is known of the latest only; p99 is at least {}",
                Unit::Count.show(self.beyond() as f64),
                self.nanos(self.least_beyond()),
                shown(&least)
            );
        }
        verdict
    }

    /// Says that wake-ups beyond the histograms affect the quantile of the verdict.
    pub(super) fn note_bounds(&self, findings: &mut Findings) {
        let Some(most) = explain::verdict(findings).measured else { return };
        let Some(least) = self.least_verdict().and_then(|low| low.measured) else { return };
        if least.value < most.value {
            let (name, low, high) = (&most.name, shown(&least), shown(&most));
            findings.warn(format!(
                "wake-ups beyond the histogram also affect the {name}: it is between {low} and \
                 {high}"
            ));
        }
    }

    /// The verdict if wake-ups beyond the histograms were as early as they can have been;
    /// `None` without such wake-ups.
    fn least_verdict(&self) -> Option<Verdict> {
        (self.beyond() > 0).then(|| explain::verdict(&self.counted(Beyond::Least)))
    }
}

fn shown(quantity: &Quantity) -> String {
    quantity.unit.show(quantity.value)
}
