//! Claims: a published result, and what comes out here.
//!
//! Publications often state a value without an interval, or in words. So a claim holds if
//! the whole interval of our value agrees with it, fails if no part of it does, and is
//! undecided otherwise. Where a machine cannot have the published value, only its direction
//! is judged: longer, less.

use crate::number::counted;
use crate::record::{Answer, Cell, Column, Number, Table, Unit, Verdict};

/// The table of claims.
pub const CLAIMS: &str = "reproduce/claims";
/// The table of reasons why claims fail or are undecided.
pub const REASONS: &str = "reproduce/reasons";

const HOLDS: &str = "holds";
const FAILS: &str = "fails";

/// How a value was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// Measured on real hardware.
    Measured,
    /// Measured on an emulated machine.
    Emulated,
    /// Computed by a model.
    Modelled,
}

/// A published result beside ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Authors and place: `Jo & Suh, Fig. 2`.
    pub source: String,
    /// What the value is, in a few words.
    pub what: String,
    /// The published value, as the authors word it.
    pub published: String,
    /// Our value: a number with its unit and its 95 % interval, if there is one; or a word.
    pub ours: Cell,
    /// The number of samples behind it.
    pub n: u64,
    /// How it was obtained.
    pub means: Means,
    /// [`Answer::Yes`] if it holds, [`Answer::No`] if it fails, else [`Answer::CannotTell`].
    pub answer: Answer,
    /// Why it fails, or why nothing can be told: a sentence without a full stop. May be
    /// empty.
    pub reason: String,
}

impl Means {
    /// The means in one word: `measured`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Emulated => "emulated",
            Self::Modelled => "modelled",
        }
    }
}

impl Claim {
    /// A claim for which there is no value yet.
    pub fn new(
        source: impl Into<String>,
        what: impl Into<String>,
        published: impl Into<String>,
    ) -> Self {
        Self {
            source: source.into(),
            what: what.into(),
            published: published.into(),
            ours: Cell::Empty,
            n: 0,
            means: Means::Measured,
            answer: Answer::CannotTell,
            reason: String::new(),
        }
    }

    /// Adds our value in `unit`, over `n` samples. It is not judged yet.
    #[must_use]
    pub fn with(mut self, value: f64, unit: Unit, interval: Option<[f64; 2]>, n: u64) -> Self {
        self.ours = Number::new(value).of(unit).within(interval).into();
        self.n = n;
        self
    }

    /// Adds a word as our value, over `n` samples. It is not judged yet.
    #[must_use]
    pub fn with_word(mut self, word: impl Into<String>, n: u64) -> Self {
        self.ours = Cell::Text(word.into());
        self.n = n;
        self
    }

    /// Says how our value was obtained.
    #[must_use]
    pub fn by(self, means: Means) -> Self {
        Self { means, ..self }
    }

    /// Sets the answer, and the reason unless it holds.
    #[must_use]
    pub fn answered(self, answer: Answer, reason: impl Into<String>) -> Self {
        let reason = if answer == Answer::Yes { String::new() } else { reason.into() };
        Self { answer, reason, ..self }
    }

    /// Nothing can be told, for this reason.
    #[must_use]
    pub fn untold(self, reason: impl Into<String>) -> Self {
        self.answered(Answer::CannotTell, reason)
    }

    /// Judges our number by its interval: it must lie within `range` as a whole. A claim
    /// without a number stays as it is.
    #[must_use]
    pub fn judged_by(self, [least, most]: [f64; 2]) -> Self {
        let Cell::Number(ours) = self.ours else { return self };
        let Some([low, high]) = ours.interval else {
            let reason = format!("{} are too few for an interval", samples(self.n));
            return self.untold(reason);
        };
        if high < least || low > most {
            self.answered(Answer::No, "the interval lies outside of the published value")
        } else if low >= least && high <= most {
            self.answered(Answer::Yes, "")
        } else {
            self.untold("a part of the interval lies outside of the published value")
        }
    }

    /// The whole interval must lie below `limit`. If it lies above, the claim fails for the
    /// reason `otherwise`.
    #[must_use]
    pub fn judged_below(self, limit: f64, otherwise: &str) -> Self {
        self.judged(|[low, high]| (high < limit, low > limit), limit, otherwise)
    }

    /// The whole interval must lie above `limit`. If it lies below, the claim fails for the
    /// reason `otherwise`.
    #[must_use]
    pub fn judged_above(self, limit: f64, otherwise: &str) -> Self {
        self.judged(|[low, high]| (low > limit, high < limit), limit, otherwise)
    }

    fn judged(self, sides: impl Fn([f64; 2]) -> (bool, bool), limit: f64, otherwise: &str) -> Self {
        let Cell::Number(ours) = self.ours else { return self };
        match ours.interval.map(sides) {
            None => {
                let reason = format!("{} are too few for an interval", samples(self.n));
                self.untold(reason)
            }
            Some((true, _)) => self.answered(Answer::Yes, ""),
            Some((_, true)) => self.answered(Answer::No, otherwise),
            Some((false, false)) => {
                let limit = ours.unit.unwrap_or(Unit::Count).show(limit);
                self.untold(format!("the interval includes {limit}"))
            }
        }
    }

    /// The answer in words: `holds`, `fails`, `cannot tell`.
    pub fn words(&self) -> &'static str {
        match self.answer {
            Answer::Yes => HOLDS,
            Answer::No => FAILS,
            _ => "cannot tell",
        }
    }
}

fn samples(n: u64) -> String {
    counted(usize::try_from(n).unwrap_or(usize::MAX), "sample", "samples")
}

/// Whether all `claims` hold: the answer to `question` about `subject`.
pub fn verdict(subject: &str, question: &str, claims: &[Claim]) -> Verdict {
    let number = |answer| claims.iter().filter(|claim| claim.answer == answer).count();
    let [hold, fail] = [Answer::Yes, Answer::No].map(number);
    let answer = match () {
        () if fail > 0 => Answer::No,
        () if hold < claims.len() || hold == 0 => Answer::CannotTell,
        () => Answer::Yes,
    };
    Verdict::new(subject, question, answer, summed(hold, fail, claims.len()))
}

/// How many claims of a table of [`tables`] hold, in a sentence without a full stop.
pub fn summary(claims: &Table) -> String {
    let number = |words: &str| {
        let is = |row: &&Vec<Cell>| row.last() == Some(&Cell::from(words));
        claims.rows.iter().filter(is).count()
    };
    summed(number(HOLDS), number(FAILS), claims.rows.len())
}

/// Whether there is a value beside any published one.
pub fn has_values(claims: &Table) -> bool {
    let ours = |row: &Vec<Cell>| row.get(3).is_some_and(|cell| *cell != Cell::Empty);
    claims.rows.iter().any(ours)
}

fn summed(hold: usize, fail: usize, all: usize) -> String {
    let rest = all - hold - fail;
    let failing = if fail == 1 { "fails" } else { "fail" };
    let parts = [
        format!("{hold} of {} hold", counted(all, "claim", "claims")),
        format!("{fail} {failing}"),
        format!("{rest} {} undecided", if rest == 1 { "is" } else { "are" }),
    ];
    let there = [true, fail > 0, rest > 0];
    let parts = parts.into_iter().zip(there).filter_map(|(part, there)| there.then_some(part));
    parts.collect::<Vec<_>>().join(", ")
}

/// The claims, and the reasons of those that do not hold.
pub fn tables(claims: &[Claim]) -> [Table; 2] {
    let columns = [
        Column::text("paper"),
        Column::text("claim"),
        Column::text("published"),
        Column::of("here (95 % interval)", Unit::Count),
        Column::of("n", Unit::Count),
        Column::text("how"),
        Column::text("answer"),
    ];
    let rows = claims.iter().map(|claim| {
        let has = claim.ours != Cell::Empty;
        [
            claim.source.as_str().into(),
            claim.what.as_str().into(),
            claim.published.as_str().into(),
            claim.ours.clone(),
            if claim.n > 0 { Cell::number(claim.n as f64) } else { Cell::Empty },
            if has { claim.means.name().into() } else { Cell::Empty },
            claim.words().into(),
        ]
    });
    let table = Table::new(CLAIMS, "Published values, and those here", columns).with_rows(rows);
    [table, reasons(claims)]
}

/// Each reason with its claims, in the order of the claims.
fn reasons(claims: &[Claim]) -> Table {
    let mut reasons: Vec<(String, Vec<&Claim>)> = Vec::new();
    for claim in claims.iter().filter(|claim| !claim.reason.is_empty()) {
        let why = format!("{}: {}", claim.words(), claim.reason);
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, of)) => of.push(claim),
            None => reasons.push((why, vec![claim])),
        }
    }
    let columns = [Column::text("why"), Column::text("claims")];
    let rows = reasons.into_iter().map(|(why, of)| [why.into(), listed(&of).into()]);
    Table::new(REASONS, "Why claims fail or are undecided", columns).with_rows(rows)
}

/// What claims are about, with each source once if its claims are neighbours.
fn listed(claims: &[&Claim]) -> String {
    let by_source = claims.chunk_by(|one, next| one.source == next.source);
    let sources = by_source.map(|of| {
        let whats: Vec<&str> = of.iter().map(|claim| &*claim.what).collect();
        format!("{}: {}", of[0].source, whats.join("; "))
    });
    sources.collect::<Vec<_>>().join(". ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(interval: Option<[f64; 2]>) -> Claim {
        Claim::new("A & B, Fig. 1", "times the I/O", "6 to 7 times")
            .with(6.5, Unit::Times, interval, 6)
            .judged_by([6.0, 7.0])
    }

    #[test]
    fn the_whole_interval_decides() {
        let answer = |interval| claim(interval).answer;
        assert_eq!(answer(Some([6.1, 6.9])), Answer::Yes);
        assert_eq!(answer(Some([4.0, 5.9])), Answer::No);
        assert_eq!(answer(Some([5.0, 6.9])), Answer::CannotTell);
        assert_eq!(answer(None), Answer::CannotTell);
        assert_eq!(claim(None).reason, "6 samples are too few for an interval");
    }

    #[test]
    fn a_direction_needs_an_interval_on_one_side() {
        let times = |interval| {
            let claim = Claim::new("A & B", "longer", "3 times");
            claim.with(2.0, Unit::Times, interval, 6).judged_above(1.0, "it is shorter")
        };
        assert_eq!(times(Some([1.1, 3.0])).answer, Answer::Yes);
        assert_eq!(times(Some([0.5, 0.9])).reason, "it is shorter");
        assert_eq!(times(Some([0.5, 1.5])).reason, "the interval includes 1×");
        assert_eq!(times(None).answer, Answer::CannotTell);
        let below = times(None).with(2.0, Unit::Times, Some([0.5, 0.9]), 6);
        assert_eq!(below.judged_below(1.0, "").answer, Answer::Yes);
    }

    #[test]
    fn a_claim_without_a_value_says_why() {
        let missing = Claim::new("A & B", "watts", "−0.73 W").untold("there is no meter");
        assert_eq!(missing.clone().judged_by([0.0, 1.0]), missing);
        let [claims, reasons] = tables(std::slice::from_ref(&missing));
        assert_eq!(claims.rows[0][3], Cell::Empty);
        assert_eq!(reasons.rows[0][0], "cannot tell: there is no meter".into());
    }

    #[test]
    fn claims_with_the_same_reason_share_it() {
        let missing = |what| Claim::new("A & B", what, "1").untold("there is no meter");
        let [_, reasons] = tables(&[missing("watts"), missing("joules")]);
        assert_eq!(reasons.rows.len(), 1);
        assert_eq!(reasons.rows[0][1], "A & B: watts; joules".into());
    }

    #[test]
    fn one_failure_decides_and_all_must_hold() {
        let [good, bad, open] = [Some([6.1, 6.9]), Some([4.0, 5.9]), Some([5.0, 6.9])].map(claim);
        let verdict = |claims: &[Claim]| {
            let verdict = verdict("reproduce/x", "Do the results hold?", claims);
            (verdict.answer, verdict.reason)
        };
        assert_eq!(verdict(&[good.clone(), good.clone()]).0, Answer::Yes);
        assert_eq!(verdict(&[good.clone(), open.clone()]).0, Answer::CannotTell);
        assert_eq!(verdict(&[]).0, Answer::CannotTell);
        let all = (Answer::No, "1 of 3 claims hold, 1 fails, 1 is undecided".to_owned());
        let mixed = [good, bad, open];
        assert_eq!(verdict(&mixed), all);
        let [claims, _] = tables(&mixed);
        assert_eq!(summary(&claims), all.1);
        assert!(has_values(&claims));
        let [nothing, _] = tables(&[Claim::new("A & B", "watts", "1").untold("no meter")]);
        assert!(!has_values(&nothing));
    }
}
