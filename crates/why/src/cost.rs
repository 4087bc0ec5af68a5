//! The cost of recording: launches with and without it, in alternating pairs.

use unjank_measure::experiment::{Arm, Pair, Plan, Question, Trials};
use unjank_measure::record::{Cell, Column, Direction, Number, Table};
use unjank_measure::{Fact, Findings, Monitor, Series, Unit};
use unjank_units::Nanos;

/// The goal for the cost, as a share of a launch. A recording that costs more distorts the launch.
const GOAL: f64 = 0.03;
const ARMS: [&str; 2] = ["not recorded", "recorded"];

/// A launch, with or without a recording.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// From its beginning until it was ready.
    pub took: Nanos,
    /// The number of events that were recorded.
    pub events: usize,
}

/// Measures the cost of recording in pairs of launches in alternating order, one of each pair
/// recorded, after a pair for warm-up. `launch` gets whether to record, and returns `None` if the
/// user wants to stop.
///
/// # Errors
/// The first error of `launch`.
pub fn measure<E>(
    pairs: usize,
    seed: u64,
    monitor: &dyn Monitor,
    mut launch: impl FnMut(bool) -> Result<Option<Trial>, E>,
) -> Result<Findings, E> {
    let plan = Plan { pairs, warm_up: 1, seed };
    let trials = plan.run(monitor, |arm| launch(arm == Arm::B))?;
    let whole =
        |pair: Pair<Option<Trial>>| Some(Pair { order: pair.order, a: pair.a?, b: pair.b? });
    Ok(findings(Trials { plan, pairs: trials.pairs.into_iter().filter_map(whole).collect() }))
}

fn findings(trials: Trials<Trial>) -> Findings {
    let mut findings = Findings::default();
    let Trials { plan, pairs } = trials;
    let sides: [fn(&Pair<Trial>) -> Trial; 2] = [|pair| pair.a, |pair| pair.b];
    for (arm, side) in ARMS.into_iter().zip(sides) {
        let mut series = Series::new("why/cost/total").with_label("arm", arm);
        for pair in &pairs {
            series.record(side(pair).took);
        }
        findings.series.push(series.finish());
    }
    let mut events: Vec<usize> = pairs.iter().map(|pair| pair.b.events).collect();
    events.sort_unstable();
    let Some(&events) = events.get(events.len() / 2) else {
        findings.warn("no pair of launches was measured");
        return findings;
    };
    let time = |trial: Trial| trial.took.get() as f64;
    let times = |pair: &Pair<Trial>| Pair { order: pair.order, a: time(pair.a), b: time(pair.b) };
    let times = Trials { plan, pairs: pairs.iter().map(times).collect() };
    let question = Question {
        text: "Does recording make the launch longer?".to_owned(),
        subject: "why/cost".to_owned(),
        unit: Unit::Nanoseconds,
        better: Direction::Smaller,
        min_effect: GOAL,
    };
    let conclusion = times.conclude(&question);
    conclusion.note(&mut findings);
    let n = conclusion.pairs as u64;
    let fact = |name: &str, value: f64, unit| Fact { n: Some(n), ..Fact::new(name, value, unit) };
    findings.facts.push(fact("why/cost/events", events as f64, Unit::Count));
    if let Some(median) = conclusion.median() {
        let cost = match median.ratio {
            Some(ratio) => {
                let interval = ratio.interval.map(|end| end - 1.0);
                Number::new(ratio.value - 1.0).within(Some(interval))
            }
            None => Number::new((median.b.value - median.a.value) / median.a.value.max(1.0)),
        };
        let share = fact("why/cost/share", cost.value, Unit::Change);
        let share = Fact { interval: cost.interval, ..share };
        findings.facts.push(share.with_better(Direction::Smaller));
        findings.tables.push(table([median.a.value, median.b.value], cost, events, n));
    }
    findings
}

fn table([without, with]: [f64; 2], cost: Number, events: usize, pairs: u64) -> Table {
    let columns = [
        Column::text("launches"),
        Column::of("median", Unit::Nanoseconds),
        Column::of("cost", Unit::Change),
        Column::of("events", Unit::Count),
    ];
    let [not_recorded, recorded] = ARMS;
    let mut table = Table::new("why/cost", "What recording costs", columns);
    table.push([not_recorded.into(), Cell::number(without), Cell::Empty, Cell::Empty]);
    table.push([recorded.into(), Cell::number(with), cost.into(), Cell::number(events as f64)]);
    table.with_note(format!("{pairs} pairs of launches; the cost is the median within pairs"))
}
