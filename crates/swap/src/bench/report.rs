//! Findings of the experiment.

use std::collections::BTreeMap;

use rand_core::Rng as _;
use unjank_measure::record::{Column, Number, Table};
use unjank_measure::stats::{Contrast, DRAWS, random};
use unjank_measure::{Cell, Direction, Fact, Findings, Quantity, Series, Unit, Verdict};

use super::arm::Arm;
use super::charts;
use super::modelled::Modelled;
use super::options::Options;
use super::plan::Plan;
use super::run::Measured;
use super::runs::{Runs, io, median, middle};
use crate::trace::PAGE;

/// What is missing if an arm is not possible.
pub(super) fn missing(arm: Arm) -> String {
    format!("swap/bench/{arm}")
}

/// The smallest difference of launch times that matters.
const MATTERS: f64 = 0.05;

/// A number of a run.
type Of = fn(&Measured) -> f64;

/// Findings of all runs, and of the model.
pub(super) fn findings(
    plan: &Plan<'_>,
    options: &Options,
    measured: &[Runs],
    modelled: &[(Arm, Modelled)],
) -> Findings {
    let mut findings = Findings::default();
    findings.tables.extend(rounds(measured));
    findings.tables.extend(storage(measured));
    findings.tables.extend(beside(measured, modelled));
    findings.verdicts.extend(verdicts(measured));
    findings.headline = headline(measured);
    for (arm, runs) in measured {
        let mut series = Series::new("swap/bench/launch").with_label("arm", arm.to_string());
        for launch in runs.iter().flat_map(|run| &run.launches).filter(|it| it.round > 0) {
            series.record(launch.time);
        }
        findings.series.push(series.finish());
    }
    let bytes = |name: &str, value: u64| Fact::new(name, value as f64, Unit::Bytes);
    for (arm, runs) in measured {
        let limit = runs.last().map_or(0, |run| run.limit.get());
        let limit = bytes("swap/bench/limit", limit).with_label("arm", arm.to_string());
        findings.facts.push(limit);
    }
    findings.curves.extend(charts::rounds(measured).into_iter().chain(charts::tiers(measured)));
    findings.facts.extend(charts::waits(measured));
    findings.facts.extend([
        bytes("swap/bench/memory", options.memory.get()),
        bytes("swap/bench/footprint", plan.footprint() * PAGE),
        bytes("swap/bench/pinned", options.pinned.get()),
        Fact::new("swap/bench/launches", plan.launches() as f64, Unit::Count),
    ]);
    findings
}

/// Launch times by round: Fig. 2.
fn rounds(measured: &[Runs]) -> Option<Table> {
    let count = measured.iter().flat_map(|(_, runs)| runs).flat_map(|run| &run.launches);
    let count = count.map(|launch| launch.round + 1).max()?;
    let columns = std::iter::once(Column::text("arm"))
        .chain((1..=count).map(|round| Column::of(format!("round {round}"), Unit::Nanoseconds)));
    let title = "Median time that a launch waits for its pages, by round";
    let row = |(arm, runs): &Runs| {
        let of_round = |round: usize| {
            let launches = runs.iter().flat_map(|run| &run.launches);
            let times = launches.filter(|launch| launch.round == round);
            spread(times.map(|launch| launch.time.get() as f64).collect())
        };
        let cells = (0..count).map(|round| Cell::maybe(of_round(round)));
        std::iter::once(Cell::from(arm.to_string())).chain(cells).collect::<Vec<_>>()
    };
    Some(
        Table::new("swap/bench/rounds", title, columns)
            .with_rows(measured.iter().map(row))
            .with_note("± is the standard deviation over the apps and runs."),
    )
}

/// Storage traffic and its skew: Figs. 1 and 5.
fn storage(measured: &[Runs]) -> Option<Table> {
    let without = measured.iter().find(|(arm, _)| *arm == Arm::NoSwap);
    let without = without.and_then(|(_, runs)| median(runs, io));
    let columns = [
        Column::text("arm"),
        Column::of("storage I/O", Unit::Bytes),
        Column::of("to no swap", Unit::Times),
        Column::of("hottest tenth", Unit::Ratio),
        Column::of("swapped in", Unit::Pages),
        Column::of("swapped out", Unit::Pages),
        Column::of("from the fast part", Unit::Ratio),
        Column::of("files read", Unit::Pages),
        Column::of("killed", Unit::Count),
        Column::of("memory of zram", Unit::Bytes),
    ];
    let row = |(_, runs): &Runs, arm: Arm| {
        let number = |value: Option<f64>| Cell::maybe(value.map(Cell::number));
        let of = |what: &dyn Fn(&Measured) -> f64| median(runs, what);
        let hottest = |run: &Measured| run.hottest.0 as f64 / run.hottest.1.max(1) as f64;
        let fast =
            |run: &Measured| run.traffic.fast_reads as f64 / run.traffic.page_ins.max(1) as f64;
        let zram = runs.last().and_then(|run| run.zram).map(|size| size.get() as f64);
        let swaps = |cell: Cell| if arm.swaps() { cell } else { Cell::Empty };
        [
            arm.to_string().into(),
            number(of(&|run| io(run) * PAGE as f64)),
            number(of(&io).zip(without).map(|(all, without)| all / without.max(1.0))),
            number(of(&hottest)),
            swaps(number(of(&|run| run.traffic.page_ins as f64))),
            swaps(number(of(&|run| run.traffic.page_outs as f64))),
            swaps(number(of(&fast))),
            number(of(&|run| run.waited[1] as f64)),
            number(of(&|run| run.killed[0] as f64)),
            number(zram),
        ]
    };
    let title = "Storage traffic of all launches (medians of the runs)";
    let table = Table::new("swap/bench/storage", title, columns)
        .with_rows(measured.iter().map(|runs| row(runs, runs.0)))
        .with_note(
            "Storage I/O: pages that swap reads from storage and writes to it, and pages of files \
             that are read. Hottest tenth: the share of touches that waited for a page that fell \
             to the tenth of the pages that were waited for most.",
        );
    (!table.rows.is_empty()).then_some(table)
}

/// Measured beside simulated.
fn beside(measured: &[Runs], modelled: &[(Arm, Modelled)]) -> Option<Table> {
    let columns = [
        Column::text("arm"),
        Column::text("what"),
        Column::of("measured", Unit::Pages),
        Column::of("modelled", Unit::Pages),
        Column::of("difference", Unit::Change),
    ];
    let mut table = Table::new("swap/bench/modelled", "Measured beside the model", columns);
    for (arm, runs) in measured {
        let Some((_, model)) = modelled.iter().find(|(known, _)| known == arm) else { continue };
        let rows: [(&str, Of, u64); 4] = [
            ("swapped in", |run| run.traffic.page_ins as f64, model.page_ins),
            ("swapped out", |run| run.traffic.page_outs as f64, model.page_outs),
            ("files read", |run| run.waited[1] as f64, model.file_reads),
            ("storage I/O", io, model.storage),
        ];
        for (what, of, model) in rows {
            let Some(value) = median(runs, of).filter(|value| *value > 0.0 || model > 0) else {
                continue;
            };
            let difference = (model > 0).then(|| Cell::number(value / model as f64 - 1.0));
            table.push([
                arm.to_string().into(),
                what.into(),
                Cell::number(value),
                Cell::number(model as f64),
                Cell::maybe(difference),
            ]);
        }
        if *arm == Arm::NoSwap {
            let kills = median(runs, |run| run.killed[0] as f64).unwrap_or_default();
            table.notes.push(format!(
                "no-swap: {kills} apps were killed, and the model kills {}.",
                model.kills
            ));
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Whether launches are shorter than with swap on storage.
fn verdicts(measured: &[Runs]) -> Vec<Verdict> {
    let Some((_, plain)) = measured.iter().find(|(arm, _)| *arm == Arm::Swap) else {
        return Vec::new();
    };
    let others = measured.iter().filter(|(arm, _)| *arm != Arm::Swap);
    others.filter_map(|(arm, runs)| verdict(*arm, plain, runs)).collect()
}

fn verdict(arm: Arm, plain: &[Measured], runs: &[Measured]) -> Option<Verdict> {
    let pairs: Vec<[f64; 2]> = plain
        .iter()
        .zip(runs)
        .flat_map(|(one, other)| one.launches.iter().zip(&other.launches))
        .filter(|(one, _)| one.round > 0)
        .map(|(one, other)| [one.time.get() as f64, other.time.get() as f64])
        .collect();
    let [a, b] = medians(&pairs)?;
    let mut random = random::seeded(0, &format!("swap/bench/{arm}"));
    let mut sample = Vec::with_capacity(pairs.len());
    let draws = (0..DRAWS / 5).filter_map(|_| {
        sample.clear();
        let pick = |_| pairs[random.next_u64() as usize % pairs.len()];
        sample.extend((0..pairs.len()).map(pick));
        medians(&sample)
    });
    let weighed = Contrast::new(a, b, draws.collect()).weigh(MATTERS);
    let question = format!("Do launches after the first wait less with {arm} than with swap?");
    let answer = weighed.answer(Direction::Smaller, weighed.p_value);
    let show = |time: f64| Unit::Nanoseconds.show(time);
    let reason = format!("a launch waits {} instead of {}, medians", show(b), show(a));
    let effect = weighed.ratio.map(|ratio| Quantity {
        name: format!("wait of a launch with {arm}, relative to swap"),
        value: ratio.value - 1.0,
        unit: Unit::Change,
        interval: Some(ratio.interval.map(|end| end - 1.0)),
        at_least: None,
        n: pairs.len() as u64,
    });
    let labels = BTreeMap::from([("arm".to_owned(), arm.to_string())]);
    let verdict = Verdict::new("swap/bench", question, answer, reason);
    Some(Verdict { effect, labels, ..verdict })
}

/// What happened, in a sentence, if there is nothing to compare with.
fn headline(measured: &[Runs]) -> Option<String> {
    let is_answered = measured.iter().any(|(arm, _)| *arm == Arm::Swap) && measured.len() > 1;
    let (arm, runs) = measured.first().filter(|_| !is_answered)?;
    let io = median(runs, io)? * PAGE as f64;
    Some(format!("with {arm}, all launches move {} to and from storage", Unit::Bytes.show(io)))
}

fn medians(pairs: &[[f64; 2]]) -> Option<[f64; 2]> {
    let of = |place: usize| middle(pairs.iter().map(|pair| pair[place]).collect());
    Some([of(0)?, of(1)?])
}

/// The median and the standard deviation.
fn spread(values: Vec<f64>) -> Option<Number> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt());
    Some(Number { deviation, ..Number::new(middle(values)?) })
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_measure::Answer;

    use super::super::run::Launched;
    use super::super::surroundings::Traffic;
    use super::*;

    fn run(time: u64, reads: u64) -> Measured {
        let launch = |index: usize| Launched {
            actor: 1 + index % 3,
            round: index / 3,
            starts: index < 3,
            time: Nanos(time + index as u64),
        };
        let traffic = Traffic {
            page_ins: reads,
            page_outs: reads,
            reads,
            writes: reads,
            ..Traffic::default()
        };
        Measured {
            launches: (0..15).map(launch).collect(),
            traffic,
            waited: [reads, 10],
            ..Measured::default()
        }
    }

    #[test]
    fn a_faster_arm_is_better_and_its_traffic_is_beside() {
        let tier: Arm = "tier:1MiB".parse().unwrap();
        let all = [
            (Arm::Swap, vec![run(10_000_000, 500), run(11_000_000, 600)]),
            (Arm::NoSwap, vec![run(9_000_000, 0); 2]),
            (tier, vec![run(2_000_000, 100); 2]),
        ];
        let verdicts = verdicts(&all);
        let answers: Vec<Answer> = verdicts.iter().map(|verdict| verdict.answer).collect();
        assert_eq!(answers, [Answer::Better, Answer::Better]);
        let effect = verdicts[1].effect.as_ref().unwrap();
        assert!((-0.9..-0.7).contains(&effect.value), "{effect:?}");
        let rounds = rounds(&all).unwrap();
        assert_eq!((rounds.columns.len(), rounds.rows.len()), (6, 3));
        let storage = storage(&all).unwrap();
        let Cell::Number(relative) = &storage.rows[0][2] else { panic!("a number") };
        assert!((relative.value - 101.0).abs() < 1e-9, "1,010 pages to 10");
        let model = Modelled { page_ins: 400, ..Modelled::default() };
        let beside = beside(&all, &[(Arm::Swap, model)]).unwrap();
        let Cell::Number(difference) = &beside.rows[0][4] else { panic!("a number") };
        assert!((difference.value - 0.25).abs() < 1e-9, "500 to 400");
        assert_eq!(headline(&all), None);
        assert!(headline(&all[1..2]).unwrap().starts_with("with no-swap, all launches move"));
    }
}
