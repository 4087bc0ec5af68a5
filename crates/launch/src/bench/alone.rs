//! One condition by itself: how long a launch takes. Its launches are pairs of the condition with
//! itself, which show how small a difference the noise of the machine would hide.

use unjank_measure::experiment::Trials;
use unjank_measure::stats::order::quantile_interval;
use unjank_measure::{Cell, Column, Fact, Findings, Number, Table, Unit};

use super::launcher::Launch;
use super::metric::{Metric, in_words};

/// The launches in one metric.
pub(super) struct Measured {
    metric: String,
    unit: Unit,
    median: f64,
    /// The 95 % interval of the median, as that of the series.
    interval: Option<[f64; 2]>,
    least: f64,
    most: f64,
    n: usize,
    never_ready: usize,
    /// Launches, with those that lack the value, and those of them that succeeded.
    launches: usize,
    succeeded: usize,
    pairs: usize,
    /// The smallest difference that would have been found, as a share of the median.
    noise_floor: Option<f64>,
}

impl Measured {
    /// `None` if no launch has the value.
    pub(super) fn of(
        metric: &Metric,
        trials: &Trials<Launch>,
        noise_floor: Option<f64>,
    ) -> Option<Self> {
        let launches = || trials.pairs.iter().flat_map(|pair| [&pair.a, &pair.b]);
        let mut values: Vec<f64> = launches().filter_map(metric.value).collect();
        values.sort_by(f64::total_cmp);
        // By rank, as that of the series.
        let median = *values.get(values.len().checked_sub(1)? / 2)?;
        let ranks = quantile_interval(values.len() as u64, 0.5);
        Some(Self {
            metric: metric.name.clone(),
            unit: metric.unit,
            median,
            interval: ranks.map(|ranks| ranks.map(|rank| values[rank as usize - 1])),
            least: values[0],
            most: values[values.len() - 1],
            n: values.len(),
            never_ready: launches().filter(|launch| !launch.was_ready()).count(),
            launches: launches().count(),
            succeeded: launches().filter(|launch| launch.succeeded()).count(),
            pairs: trials.pairs.len(),
            noise_floor,
        })
    }

    /// The median as a fact. Times have none, because their series has it.
    pub(super) fn fact(&self) -> Option<Fact> {
        let mut fact = Fact::new(format!("{}/median", self.metric), self.median, self.unit);
        (fact.interval, fact.n) = (self.interval, Some(self.n as u64));
        (self.unit != Unit::Nanoseconds).then_some(fact)
    }

    fn row(&self) -> Vec<Cell> {
        let number = |value| Number::new(value).of(self.unit);
        vec![
            in_words(&self.metric).into(),
            number(self.median).within(self.interval).into(),
            number(self.least).into(),
            number(self.most).into(),
            (self.n as f64).into(),
            Cell::maybe((self.never_ready > 0).then_some(self.never_ready as f64)),
        ]
    }

    fn note(&self) -> Option<String> {
        Some(format!(
            "{}: between two conditions, {} pairs would not show a difference below {} here.",
            in_words(&self.metric),
            self.pairs,
            Unit::Ratio.show(self.noise_floor?)
        ))
    }
}

/// Adds the headline and the table.
pub(super) fn note(program: &str, arm: &str, measured: &[Measured], findings: &mut Findings) {
    let columns = [
        Column::text("launch"),
        Column::of("median (95 % interval)", Unit::Nanoseconds),
        Column::of("shortest", Unit::Nanoseconds),
        Column::of("longest", Unit::Nanoseconds),
        Column::of("n", Unit::Count),
        Column::of("not ready", Unit::Count),
    ];
    let mut table = Table::new("launch/bench/launches", format!("Launches {arm}"), columns);
    table.rows = measured.iter().map(Measured::row).collect();
    table.notes = measured.iter().filter_map(Measured::note).collect();
    findings.tables.push(table);
    findings.headline = headline(program, measured);
}

/// `Launching xterm takes 123 ms (120 ms to 130 ms), the median of 20 launches`; of several loads,
/// the shortest and the longest median. A program that never succeeded does not launch.
fn headline(program: &str, measured: &[Measured]) -> Option<String> {
    let totals = || measured.iter().filter(|it| it.metric.ends_with("/total"));
    let show = |value| Unit::Nanoseconds.show(value);
    let first = totals().next()?;
    if totals().all(|it| it.succeeded == 0) {
        let all: usize = totals().map(|it| it.launches).sum();
        return Some(format!(
            "None of {all} launches of {program} succeeded; the times are those of failed launches"
        ));
    }
    if totals().count() > 1 {
        let shortest = totals().map(|it| it.median).fold(f64::INFINITY, f64::min);
        let longest = totals().map(|it| it.median).fold(0.0, f64::max);
        let (shortest, longest) = (show(shortest), show(longest));
        return Some(format!(
            "Launching {program} takes {shortest} to {longest}, medians of each load"
        ));
    }
    let interval = first.interval.map(|[low, high]| format!(" ({} to {})", show(low), show(high)));
    let (time, n) = (show(first.median), first.n);
    let interval = interval.unwrap_or_default();
    Some(format!("Launching {program} takes {time}{interval}, the median of {n} launches"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(median: f64, succeeded: usize) -> Measured {
        Measured {
            metric: "launch/bench/total".to_owned(),
            unit: Unit::Nanoseconds,
            median,
            interval: None,
            least: median,
            most: median,
            n: 4,
            never_ready: 0,
            launches: 4,
            succeeded,
            pairs: 2,
            noise_floor: None,
        }
    }

    #[test]
    fn the_headline_says_how_long_a_launch_takes_unless_none_succeeded() {
        let of = |measured: &[Measured]| headline("xterm", measured).unwrap();
        let one = of(&[measured(2e6, 1)]);
        assert_eq!(one, "Launching xterm takes 2.00 ms, the median of 4 launches");
        let loads = of(&[measured(2e6, 0), measured(3e6, 4)]);
        assert_eq!(loads, "Launching xterm takes 2.00 ms to 3.00 ms, medians of each load");
        let none = of(&[measured(2e6, 0), measured(3e6, 0)]);
        assert!(none.starts_with("None of 8 launches of xterm succeeded; "), "{none}");
    }
}
