//! Decides whether this machine reproduces the paper's values.
//!
//! The paper gives averages of ten runs and no spread, so only our values have
//! intervals: *yes* if ours includes the paper's value and excludes zero (Table 3:
//! lies within 1 %), *no* if it excludes the paper's value, *cannot tell* otherwise.

use unjank_host::Nanos;
use unjank_measure::number::range;
use unjank_measure::record::Answer;
use unjank_measure::{Fact, Quantity, Unit, Verdict};

use super::results::FigureRow;
use crate::power::table::Row as Period;
use crate::simulate::paper::{FIG_2_RANGE, FIG_3_CHANGE};

/// All of the paper's differences in Table 3 are smaller.
const SMALL: f64 = 0.01;

const FIG_2: &str =
    "Does this machine reproduce Fig. 2 of Jo & Suh: launches 2 to 5 % shorter with the service?";
const FIG_3: &str =
    "Does this machine reproduce Fig. 3 of Jo & Suh: a basic launch time 3.34 % shorter?";

/// The verdict on Fig. 2; `None` if nothing was measured.
pub(super) fn fig2(lines: &[FigureRow]) -> Option<Verdict> {
    let measured: Vec<(&FigureRow, &Fact)> =
        lines.iter().filter_map(|line| Some((line, difference(line)?))).collect();
    if measured.is_empty() {
        return lines.iter().find_map(|line| too_few(line, "fig2", FIG_2));
    }
    let answers = measured.iter().map(|(_, fact)| {
        let Some([low, high]) = fact.interval else { return Answer::CannotTell };
        match () {
            () if high < FIG_2_RANGE[0] || low > FIG_2_RANGE[1] => Answer::No,
            () if high < 0.0 => Answer::Yes,
            () => Answer::CannotTell,
        }
    });
    let parts = measured.iter().map(|(line, fact)| {
        let load = match line.load {
            Some(Nanos(0)) | None => "without load".to_owned(),
            Some(load) => format!("with {load}"),
        };
        format!("{} {load}", with_interval(fact))
    });
    let parts: Vec<String> = parts.collect();
    let shrinks = measured.windows(2).all(|pair| pair[0].1.value <= pair[1].1.value);
    let course = if shrinks { "as in the paper" } else { "unlike in the paper" };
    Some(verdict(
        "fig2",
        FIG_2,
        all(answers),
        None,
        format!(
            "{}; {course}, {} for longer loads; the paper gives no spread",
            parts.join(", "),
            if shrinks { "always less" } else { "not always less" }
        ),
    ))
}

/// The verdict on Fig. 3; `None` if nothing was measured.
pub(super) fn fig3(line: &FigureRow) -> Option<Verdict> {
    let Some(fact) = difference(line) else { return too_few(line, "fig3", FIG_3) };
    let answer = match fact.interval {
        Some([low, high]) if !(low..=high).contains(&FIG_3_CHANGE) => Answer::No,
        Some([_, high]) if high < 0.0 => Answer::Yes,
        _ => Answer::CannotTell,
    };
    Some(verdict(
        "fig3",
        FIG_3,
        answer,
        Some(quantity(fact)),
        format!(
            "{}; the paper gives neither a spread nor the length of its basic work, on which the \
             share depends",
            with_interval(fact)
        ),
    ))
}

/// The verdict on Table 3; `None` if nothing was compared.
pub(super) fn table3(periods: &[Period]) -> Option<Verdict> {
    let compared: Vec<(String, f64, [f64; 2])> = periods
        .iter()
        .filter_map(|period| {
            let ratio = period.effect.as_ref()?.ratio?;
            let interval = ratio.interval.map(|end| end - 1.0);
            Some((period.rate.to_string(), ratio.value - 1.0, interval))
        })
        .collect();
    if compared.is_empty() {
        return None;
    }
    let answers = compared.iter().map(|(_, _, [low, high])| match () {
        () if *low > SMALL || *high < -SMALL => Answer::No,
        () if *low > -SMALL && *high < SMALL => Answer::Yes,
        () => Answer::CannotTell,
    });
    let parts = compared.iter().map(|(every, change, [low, high])| {
        let interval = range(&percent(*low), &percent(*high));
        format!("{} ({interval}) every {every}", percent(*change))
    });
    let parts: Vec<String> = parts.collect();
    Some(verdict(
        "table3",
        "Does this machine reproduce Table 3 of Jo & Suh: idle energy within 1 % of that at 100 ms?",
        all(answers),
        None,
        format!("{}; the paper has −0.53 to −0.69 % and gives no spread", parts.join(", ")),
    ))
}

/// The verdict on too few launches to compare.
fn too_few(line: &FigureRow, part: &str, question: &str) -> Option<Verdict> {
    let n = line.measured.as_ref()?.baseline.1.n.unwrap_or_default();
    let reason = format!("{n} pairs are too few for an interval");
    Some(verdict(part, question, Answer::CannotTell, None, reason))
}

/// `No` if any is `No`, `Yes` if all are.
fn all(answers: impl Iterator<Item = Answer>) -> Answer {
    answers.fold(Answer::Yes, |so_far, one| match (so_far, one) {
        (Answer::No, _) | (_, Answer::No) => Answer::No,
        (Answer::Yes, Answer::Yes) => Answer::Yes,
        _ => Answer::CannotTell,
    })
}

fn difference(line: &FigureRow) -> Option<&Fact> {
    line.measured.as_ref()?.difference.as_ref()
}

fn quantity(fact: &Fact) -> Quantity {
    Quantity {
        name: fact.name.clone(),
        value: fact.value,
        unit: fact.unit,
        interval: fact.interval,
        at_least: None,
        n: fact.n.unwrap_or_default(),
    }
}

fn verdict(
    part: &str,
    question: &str,
    answer: Answer,
    measured: Option<Quantity>,
    reason: String,
) -> Verdict {
    Verdict { measured, ..Verdict::new(format!("launch/paper/{part}"), question, answer, reason) }
}

fn with_interval(fact: &Fact) -> String {
    let n = fact.n.unwrap_or_default();
    match fact.interval {
        Some([low, high]) => {
            let interval = range(&percent(low), &percent(high));
            format!("{} ({interval}, n = {n})", percent(fact.value))
        }
        None => format!("{} (no interval, n = {n})", percent(fact.value)),
    }
}

fn percent(share: f64) -> String {
    Unit::Change.show(share)
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_measure::Unit;

    use super::*;
    use crate::bench::Row;

    fn line(load: u64, value: f64, interval: Option<[f64; 2]>) -> FigureRow {
        let mut difference = Fact::new("launch/bench/x/total/difference", value, Unit::Ratio);
        (difference.interval, difference.n) = (interval, Some(20));
        let arm = || ("arm".to_owned(), Fact::new("x", 1.0, Unit::Nanoseconds));
        let (baseline, other) = (arm(), arm());
        let difference = Some(difference);
        let row = Row {
            name: "x".to_owned(),
            baseline,
            other,
            difference,
            answer: Answer::Better,
            reason: String::new(),
            noise_floor: None,
        };
        FigureRow { load: Some(Nanos::from_millis(load)), measured: Some(row), predicted: -0.03 }
    }

    #[test]
    fn a_figure_is_reproduced_if_no_interval_contradicts_it() {
        let answer = |lines: &[FigureRow]| fig2(lines).unwrap().answer;
        let good = line(0, -0.04, Some([-0.06, -0.01]));
        let open = line(200, -0.02, Some([-0.06, 0.01]));
        let against = line(400, 0.0, Some([-0.01, 0.01]));
        assert_eq!(answer(std::slice::from_ref(&good)), Answer::Yes);
        assert_eq!(answer(&[good.clone(), open.clone()]), Answer::CannotTell);
        assert_eq!(answer(&[good.clone(), open, against]), Answer::No);
        assert_eq!(answer(&[line(0, -0.04, None)]), Answer::CannotTell);
        assert_eq!(fig2(&[FigureRow { measured: None, ..good.clone() }]), None);
        let mut few = good;
        few.measured.as_mut().unwrap().difference = None;
        assert_eq!(answer(std::slice::from_ref(&few)), Answer::CannotTell);
        assert_eq!(fig3(&few).unwrap().answer, Answer::CannotTell);
    }

    #[test]
    fn the_reason_names_the_trend_over_loads() {
        let at = |load, value| line(load, value, Some([-0.06, -0.01]));
        let reason = |lines: &[FigureRow]| fig2(lines).unwrap().reason;
        let shrinking = reason(&[at(0, -0.04), at(200, -0.02)]);
        assert!(shrinking.contains("; as in the paper, always less for longer"), "{shrinking}");
        let growing = reason(&[at(0, -0.02), at(200, -0.04)]);
        assert!(growing.contains("; unlike in the paper, not always less"), "{growing}");
    }

    #[test]
    fn the_basic_launch_time_needs_the_papers_value_and_no_zero() {
        let answer = |interval| fig3(&line(0, -0.03, interval)).unwrap().answer;
        assert_eq!(answer(Some([-0.05, -0.01])), Answer::Yes);
        assert_eq!(answer(Some([-0.05, 0.01])), Answer::CannotTell);
        assert_eq!(answer(Some([-0.03, -0.01])), Answer::No);
        assert_eq!(answer(Some([-0.08, -0.05])), Answer::No);
        assert_eq!(answer(None), Answer::CannotTell);
    }
}
