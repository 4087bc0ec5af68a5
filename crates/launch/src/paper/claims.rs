//! The paper's claims beside the results.
//!
//! The paper gives averages of ten runs and no spread, so only our values have
//! intervals. A change of launch times holds if ours overlaps the paper's range and
//! excludes zero, and fails if it lies outside of that range. A difference of Table 3
//! holds if ours lies within 1 %, as all of the paper's do, and fails if it lies outside.

use unjank_host::Nanos;
use unjank_host::energy::Origin;
use unjank_measure::claim::{Claim, Means};
use unjank_measure::{Answer, Fact, Unit};

use super::results::{FigureRow, PaperResults};
use super::{NORMAL, PERIODS};
use crate::power::paper as table3;
use crate::power::table::Row as Period;
use crate::simulate::paper::{FIG_2_RANGE, FIG_3_CHANGE};

/// All of the paper's differences in Table 3 are smaller.
const SMALL: f64 = 0.01;

/// Fig. 3 has one value: half a percent less or more is in its range.
const FIG_3_RANGE: [f64; 2] = [FIG_3_CHANGE - 0.005, FIG_3_CHANGE + 0.005];

/// Why absolute energies are not judged.
const ANOTHER_DEVICE: &str = "it is the energy of another device; differences can be compared";

impl PaperResults {
    /// Each claim of the paper beside what was measured by `means`. Without
    /// measured launches, Fig. 2 and 3 have the model's prediction.
    pub fn claims(&self, means: Means) -> Vec<Claim> {
        let mut claims: Vec<Claim> =
            self.total.iter().map(|line| fig2(line, means, self.reason())).collect();
        claims.extend(shrinking(&self.total, means, self.reason()));
        claims.extend(self.basic.iter().map(|line| fig3(line, means, self.reason())));
        for period in PERIODS {
            let measured = self.periods.iter().find(|known| known.rate == period);
            claims.push(energy(period, measured, means, self.reason()));
        }
        for period in PERIODS.into_iter().filter(|period| *period != NORMAL) {
            let measured = self.periods.iter().find(|known| known.rate == period);
            claims.push(difference(period, measured, means, self.reason()));
        }
        claims
    }

    /// Why something was not measured.
    fn reason(&self) -> &str {
        let reason = self.findings.unsupported.first().map(|missing| &*missing.reason);
        reason.unwrap_or("it was left out, or the run was ended early")
    }
}

fn fig2(line: &FigureRow, means: Means, reason: &str) -> Claim {
    let [most, least] = FIG_2_RANGE.map(|end| Unit::Change.show(end));
    let claim = Claim::new(
        "Jo & Suh, Fig. 2",
        format!("launch time with the service, {}", load_of(line)),
        format!("{least} to {most}"),
    );
    change(claim, line, FIG_2_RANGE, means, reason)
}

fn fig3(line: &FigureRow, means: Means, reason: &str) -> Claim {
    let what = "basic launch time with the service";
    let claim = Claim::new("Jo & Suh, Fig. 3", what, Unit::Change.show(FIG_3_CHANGE));
    change(claim, line, FIG_3_RANGE, means, reason)
}

/// Judges a change of launch times by the paper's range.
fn change(
    claim: Claim,
    line: &FigureRow,
    [least, most]: [f64; 2],
    means: Means,
    reason: &str,
) -> Claim {
    let Some(row) = &line.measured else {
        let modelled = claim.with(line.predicted, Unit::Change, None, 0).by(Means::Modelled);
        return modelled.untold(format!("not measured, only modelled: {reason}"));
    };
    let pairs = row.baseline.1.n.unwrap_or_default();
    let Some(fact) = &row.difference else {
        return claim.untold(format!("{pairs} pairs are too few to compare"));
    };
    let n = fact.n.unwrap_or_default();
    let claim = claim.with(fact.value, Unit::Change, fact.interval, n).by(means);
    match fact.interval {
        None => claim.untold(format!("{n} pairs are too few for an interval")),
        Some([low, high]) if high < least || low > most => {
            claim.answered(Answer::No, "the interval lies outside of the published range")
        }
        Some([_, high]) if high < 0.0 => claim.answered(Answer::Yes, ""),
        Some(_) => claim.untold("the interval includes no change"),
    }
}

/// The longest load against the shortest: the paper's changes shrink as the load grows.
/// `None` with fewer than two loads.
fn shrinking(lines: &[FigureRow], means: Means, reason: &str) -> Option<Claim> {
    let loads = || lines.iter().filter(|line| line.load.is_some());
    let (shortest, longest) =
        (loads().min_by_key(|line| line.load)?, loads().max_by_key(|line| line.load)?);
    if shortest.load == longest.load {
        return None;
    }
    let of = |line: &FigureRow| load_of(line);
    let what = format!("share saved {}, less that {}", of(longest), of(shortest));
    let claim = Claim::new("Jo & Suh, Fig. 2", what, "less the longer the load");
    let measured = |line: &FigureRow| line.measured.as_ref()?.difference.clone();
    let (Some(first), Some(last)) = (measured(shortest), measured(longest)) else {
        return Some(claim.untold(format!("not measured: {reason}")));
    };
    // Saved: the change with the other sign.
    let value = first.value - last.value;
    let interval = first.interval.zip(last.interval).map(|(first_ends, last_ends)| {
        of_difference((first.value, first_ends), (last.value, last_ends))
    });
    let n = first.n.unwrap_or_default().min(last.n.unwrap_or_default());
    let claim = claim.with(value, Unit::Change, interval, n).by(means);
    Some(claim.judged_below(0.0, "it grows"))
}

fn load_of(line: &FigureRow) -> String {
    match line.load {
        Some(Nanos::ZERO) | None => "without load".to_owned(),
        Some(load) => format!("with a load of {load}"),
    }
}

/// The interval of `one` − `other` from those of two independent values: the square-and-add
/// rule (Zou & Donner, Statistics in Medicine 27, 2008).
fn of_difference(one: (f64, [f64; 2]), other: (f64, [f64; 2])) -> [f64; 2] {
    let value = one.0 - other.0;
    let below = (one.0 - one.1[0]).hypot(other.1[1] - other.0);
    let above = (one.1[1] - one.0).hypot(other.0 - other.1[0]);
    [value - below, value + above]
}

/// The energy at a sampling period, which no other device can confirm.
fn energy(period: Nanos, measured: Option<&Period>, means: Means, reason: &str) -> Claim {
    let published = table3::energy(period)
        .map_or_else(String::new, |energy| format!("{:.3} mWh", energy.0 / 3.6));
    let what = format!("idle energy in a minute at {}", millis(period));
    let claim = Claim::new("Jo & Suh, Table 3", what, published);
    let Some(average) = measured.and_then(|period| period.average.as_ref()) else {
        return claim.untold(format!("not measured: {reason}"));
    };
    // The paper's energy for our window is its energy for a minute, scaled.
    let scaled = measured.and_then(|period| period.paper).zip(table3::energy(period));
    let in_a_minute = |joules: f64| {
        let times = scaled.map_or(1.0, |(window, minute)| minute.0 / window.0);
        joules * times / 3_600.0
    };
    let n = average.n.unwrap_or_default();
    let interval = average.interval.map(|ends| ends.map(in_a_minute));
    claim
        .with(in_a_minute(average.value), Unit::WattHours, interval, n)
        .by(means_of(average, means))
        .untold(ANOTHER_DEVICE)
}

fn difference(period: Nanos, measured: Option<&Period>, means: Means, reason: &str) -> Claim {
    let published =
        table3::difference(period).map_or_else(String::new, |share| Unit::Change.show(share));
    let what = format!("idle energy at {} against {}", millis(period), millis(NORMAL));
    let claim = Claim::new("Jo & Suh, Table 3", what, published);
    let found = measured.and_then(|row| Some((row, row.effect.as_ref()?.ratio?)));
    let Some((row, ratio)) = found else {
        return claim.untold(format!("not measured: {reason}"));
    };
    let interval = ratio.interval.map(|end| end - 1.0);
    let average = row.average.as_ref();
    let n = average.and_then(|fact| fact.n).unwrap_or_default();
    claim
        .with(ratio.value - 1.0, Unit::Change, Some(interval), n)
        .by(average.map_or(means, |fact| means_of(fact, means)))
        .judged_by([-SMALL, SMALL])
}

fn millis(period: Nanos) -> String {
    format!("{} ms", period.get() / 1_000_000)
}

/// Modelled if the energy is.
fn means_of(energy: &Fact, means: Means) -> Means {
    let modelled = Origin::Modelled.to_string();
    if energy.labels.get("origin") == Some(&modelled) { Means::Modelled } else { means }
}

#[cfg(test)]
mod tests {
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
    fn a_change_holds_if_it_includes_the_papers_and_excludes_zero() {
        let answer = |line: &FigureRow| fig2(line, Means::Measured, "").answer;
        let good = line(0, -0.04, Some([-0.06, -0.01]));
        assert_eq!(answer(&good), Answer::Yes);
        assert_eq!(answer(&line(0, -0.02, Some([-0.06, 0.01]))), Answer::CannotTell);
        assert_eq!(answer(&line(0, 0.0, Some([-0.01, 0.01]))), Answer::No);
        assert_eq!(answer(&line(0, -0.04, None)), Answer::CannotTell);
        let mut few = good;
        few.measured.as_mut().unwrap().difference = None;
        assert_eq!(answer(&few), Answer::CannotTell);
    }

    #[test]
    fn the_basic_launch_time_needs_the_papers_value() {
        let answer = |interval| fig3(&line(0, -0.03, interval), Means::Measured, "").answer;
        assert_eq!(answer(Some([-0.05, -0.01])), Answer::Yes);
        assert_eq!(answer(Some([-0.04, -0.037])), Answer::Yes);
        assert_eq!(answer(Some([-0.05, 0.01])), Answer::CannotTell);
        assert_eq!(answer(Some([-0.028, -0.01])), Answer::No);
        assert_eq!(answer(Some([-0.08, -0.05])), Answer::No);
        assert_eq!(answer(None), Answer::CannotTell);
    }

    #[test]
    fn savings_shrink_if_the_interval_of_the_difference_says_so() {
        let of =
            |lines: &[FigureRow]| shrinking(lines, Means::Measured, "").map(|claim| claim.answer);
        let without = line(0, -0.05, Some([-0.06, -0.04]));
        assert_eq!(of(std::slice::from_ref(&without)), None);
        let little = line(800, -0.01, Some([-0.02, 0.0]));
        assert_eq!(of(&[without.clone(), little.clone()]), Some(Answer::Yes));
        assert_eq!(of(&[little, without.clone()]), Some(Answer::Yes), "in any order");
        let more = line(800, -0.09, Some([-0.10, -0.08]));
        assert_eq!(of(&[without.clone(), more]), Some(Answer::No));
        let unclear = line(800, -0.04, Some([-0.06, -0.02]));
        assert_eq!(of(&[without, unclear]), Some(Answer::CannotTell));
    }

    #[test]
    fn independent_errors_add_in_quadrature() {
        let [low, high] = of_difference((5.0, [2.0, 6.0]), (1.0, [0.0, 5.0]));
        assert!((low - (4.0 - 5.0)).abs() < 1e-12, "{low}");
        assert!((high - (4.0 + 2.0_f64.sqrt())).abs() < 1e-12, "{high}");
    }

    #[test]
    fn what_was_not_measured_says_why() {
        let mut results = PaperResults::default();
        results.total.push(FigureRow { measured: None, ..line(0, 0.0, None) });
        results.findings.not_supported("launch/paper", "there is no governor");
        let claims = results.claims(Means::Measured);
        assert_eq!(claims.len(), 1 + 4 + 3);
        assert_eq!(claims[0].means, Means::Modelled);
        assert!(claims.iter().all(|claim| claim.answer == Answer::CannotTell));
        assert!(claims.iter().all(|claim| claim.reason.ends_with("there is no governor")));
    }
}
