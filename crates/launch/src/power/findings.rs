//! Turns Table 3 into findings: facts, answers, and whether the paper's differences
//! exceed the spread measured here.

use std::collections::BTreeMap;

use unjank_measure::record::Axis;
use unjank_measure::{Curve, Fact, Findings, Point, Unit};

use super::rates::MeasuredRates;
use super::table::Row;
use super::{idle_states, notes, tables};

impl MeasuredRates {
    /// Everything for the record.
    pub fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        notes::about(&self.about, &mut findings);
        let table = self.table();
        findings.tables.push(tables::table(&table, self.options.window));
        for (row, arm) in table.iter().zip(&self.arms) {
            findings.facts.extend(row.average.clone());
            let cpu = self.average(arm, "launch/power/cpu_energy", |(_, cpu)| *cpu);
            findings.facts.extend(cpu);
            if let Some(effect) = &row.effect {
                findings.verdicts.push(effect.verdict(self.question(row.rate).text));
            }
            if row.actual != row.rate {
                findings.warn(format!(
                    "the kernel set the sampling period {} instead of {}",
                    row.actual, row.rate
                ));
            }
        }
        findings.facts.push(self.order());
        findings.curves.push(curve(&table));
        findings.series.push(self.reading.clone().finish());
        notes::samples(self.samples, &mut findings);
        for (rate, reason) in &self.refused {
            findings.not_supported(format!("launch/power/energy every {rate}"), reason.clone());
        }
        let idle = self.arms.iter().map(|arm| (Some(arm.rate.to_string()), arm.idle.as_slice()));
        idle_states::note(&idle.collect::<Vec<_>>(), self.plan.seed, &mut findings);
        self.note_end(&mut findings);
        for warning in about_the_paper(&table) {
            findings.warn(warning);
        }
        findings
    }

    /// The order of the trials that ran.
    fn order(&self) -> Fact {
        let round = |round: &Vec<(usize, f64)>| {
            let rates = round.iter().map(|(arm, _)| self.arms[*arm].rate.to_string());
            rates.collect::<Vec<_>>().join(" ")
        };
        let order: Vec<String> = self.rounds.iter().map(round).collect();
        Fact::new("launch/power/rounds", self.complete_rounds() as f64, Unit::Count)
            .with_label("order", order.join(" | "))
            .with_label("seed", self.plan.seed.to_string())
    }

    fn complete_rounds(&self) -> usize {
        self.rounds.iter().filter(|round| round.len() == self.arms.len()).count()
    }

    /// Adds why it ended early, and the energy of the trial under way.
    fn note_end(&self, findings: &mut Findings) {
        let Some(reason) = &self.stopped else { return };
        let (complete, planned) = (self.complete_rounds(), self.plan.pairs);
        findings.warn(format!("stopped after {complete} of {planned} rounds: {reason}"));
        if let Some((rate, spent)) = &self.partial {
            findings.facts.push(
                Fact::new("launch/power/partial_energy", spent.energy.0, Unit::Joules)
                    .with_label("every", rate.to_string())
                    .with_label("time", spent.time.to_string())
                    .with_label("ended", reason.clone()),
            );
            findings.warn(format!(
                "the trial under way, every {rate}, does not count: the meter had {} in {}",
                Unit::Joules.show(spent.energy.0),
                spent.time
            ));
        }
    }
}

fn curve(table: &[Row]) -> Curve {
    let point = |row: &Row| {
        let average = row.average.as_ref()?;
        let interval = average.interval;
        Some(Point { x: row.actual.get() as f64, y: average.value, interval })
    };
    let mut points: Vec<Point> = table.iter().filter_map(point).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    Curve {
        name: "launch/power/energy_by_rate".to_owned(),
        x: Axis::new("sampling period", Unit::Nanoseconds),
        y: Axis::new("energy of a window", Unit::Joules),
        labels: BTreeMap::new(),
        points,
    }
}

/// Compares the paper's differences with our intervals.
fn about_the_paper(table: &[Row]) -> Vec<String> {
    let compared = table.iter().filter_map(|row| {
        let ratio = row.effect.as_ref()?.ratio?;
        Some((row.rate, row.paper_difference?, ratio.interval.map(|end| end - 1.0)))
    });
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for (rate, theirs, [low, high]) in compared {
        let change = format!("{:+.2} % every {rate}", theirs * 100.0).replace('-', "−");
        let among_zero = low <= 0.0 && high >= 0.0;
        let holds = (low..=high).contains(&theirs);
        if among_zero && holds { inside.push(change) } else { outside.push(change) }
    }
    if inside.is_empty() && outside.is_empty() {
        return Vec::new();
    }
    let mut warnings = vec![
        "Jo & Suh (Table 3) give averages of ten runs and no spread, so their differences may be \
         noise; there, all three periods other than 100 ms, shorter and longer, took less energy"
            .to_owned(),
    ];
    if !inside.is_empty() {
        warnings.push(format!(
            "the intervals here include both zero and the paper's difference: {}",
            inside.join(", ")
        ));
    }
    if !outside.is_empty() {
        warnings.push(format!(
            "the intervals here exclude zero or the paper's difference (another device): {}",
            outside.join(", ")
        ));
    }
    warnings
}
