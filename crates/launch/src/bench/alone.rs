//! One condition by itself: how long a launch takes. Its launches are pairs of the condition with
//! itself, which show how small a difference the noise of the machine would hide.

use unjank_host::energy::Origin;
use unjank_measure::experiment::{Pair, Trials};
use unjank_measure::stats::bootstrap::quantile;
use unjank_measure::stats::order::quantile_interval;
use unjank_measure::{Cell, Column, Fact, Findings, Number, Table, Unit};

use super::launcher::Launch;
use super::metric::{Metric, what};

/// The name of the table.
const TABLE: &str = "launch/bench/launches";

/// Adds a row with the median of the launches in one metric. `floor` is the noise floor.
pub(super) fn note(
    metric: &Metric,
    arm: &str,
    trials: &Trials<Launch>,
    origin: Option<Origin>,
    floor: Option<Fact>,
    findings: &mut Findings,
) {
    let both = |pair: &Pair<Launch>| [pair.a.clone(), pair.b.clone()];
    let launches: Vec<Launch> = trials.pairs.iter().flat_map(both).collect();
    let mut values: Vec<f64> = launches.iter().filter_map(metric.value).collect();
    let Some(median) = quantile(&mut values, 0.5) else {
        findings.warn(format!("{}: no launch has the value", metric.name));
        return;
    };
    let labelled = |fact: Fact| {
        let fact = fact.with_label("arm", arm);
        match origin.filter(|_| metric.unit == Unit::Joules) {
            Some(origin) => fact.with_label("origin", origin.to_string()),
            None => fact,
        }
    };
    values.sort_by(f64::total_cmp);
    // As that of the series.
    let ranks = quantile_interval(values.len() as u64, 0.5);
    let interval = ranks.map(|ranks| ranks.map(|rank| values[rank as usize - 1]));
    // Times are a series, which has its median.
    if metric.unit != Unit::Nanoseconds {
        let mut fact = Fact::new(format!("{}/median", metric.name), median, metric.unit);
        (fact.interval, fact.n) = (interval, Some(values.len() as u64));
        findings.facts.push(labelled(fact));
    }
    let late = launches.iter().filter(|launch| !launch.was_ready()).count();
    let number = |value| Cell::from(Number::new(value).of(metric.unit));
    let row = [
        what(&metric.name).into(),
        Number::new(median).of(metric.unit).within(interval).into(),
        number(values[0]),
        number(values[values.len() - 1]),
        (values.len() as f64).into(),
        Cell::maybe((late > 0).then_some(late as f64)),
    ];
    let share = floor.as_ref().map(|floor| floor.value);
    findings.facts.extend(floor.map(labelled));
    let place = findings.tables.iter().position(|table| table.name == TABLE);
    let place = place.unwrap_or_else(|| {
        findings.tables.push(empty(arm));
        findings.tables.len() - 1
    });
    let table = &mut findings.tables[place];
    table.rows.push(row.to_vec());
    if let Some(share) = share {
        table.notes.push(format!(
            "{}: between two conditions, {} pairs would not show a difference below {} here.",
            what(&metric.name),
            trials.pairs.len(),
            Unit::Ratio.show(share)
        ));
    }
}

fn empty(arm: &str) -> Table {
    let columns = [
        Column::text("launch"),
        Column::of("median (95 % interval)", Unit::Nanoseconds),
        Column::of("shortest", Unit::Nanoseconds),
        Column::of("longest", Unit::Nanoseconds),
        Column::of("n", Unit::Count),
        Column::of("not ready", Unit::Count),
    ];
    Table::new(TABLE, format!("Launches {arm}"), columns)
}

/// `Launching xterm takes 123 ms (120–130 ms), the median of 20 launches`; of several programs, the
/// shortest and the longest median.
pub(super) fn headline(program: &str, findings: &Findings) -> Option<String> {
    let rows = findings.tables.iter().filter(|table| table.name == TABLE).flat_map(|it| &it.rows);
    let totals: Vec<(Number, f64)> = rows
        .filter_map(|row| match row[..] {
            [Cell::Text(ref what), Cell::Number(median), _, _, Cell::Number(n), _] => {
                what.ends_with("total").then_some((median, n.value))
            }
            _ => None,
        })
        .collect();
    let show = |value| Unit::Nanoseconds.show(value);
    match totals[..] {
        [] => None,
        [(median, n)] => {
            let interval = median.interval.map_or_else(String::new, |[low, high]| {
                format!(" ({} to {})", show(low), show(high))
            });
            let time = show(median.value);
            Some(format!("Launching {program} takes {time}{interval}, the median of {n} launches"))
        }
        _ => {
            let medians = || totals.iter().map(|(median, _)| median.value);
            let shortest = show(medians().fold(f64::INFINITY, f64::min));
            let longest = show(medians().fold(0.0, f64::max));
            Some(format!("Launching {program} takes {shortest} to {longest}, medians of each load"))
        }
    }
}
