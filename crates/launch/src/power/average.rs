//! The mean power over one window.

use unjank_host::energy::{About, Meter, Spent};
use unjank_host::{Error, Nanos, Result, Root};
use unjank_measure::record::Axis;
use unjank_measure::{Curve, Fact, Findings, Monitor, Point, Unit};

use super::idle_states::{self, IdleWatch};
use super::notes::{self, mean};

/// Parts of the window, each with its own power.
const PARTS: u64 = 20;

/// The length of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The whole length, including `discard`.
    pub whole: Nanos,
    /// The part at its beginning that does not count.
    pub discard: Nanos,
}

impl Window {
    /// # Errors
    /// `Invalid` if nothing is left to count.
    pub fn check(&self) -> Result<()> {
        if self.discard >= self.whole {
            let Self { whole, discard } = self;
            return Err(Error::Invalid(format!(
                "{discard} of {whole} are discarded: nothing is left to count"
            )));
        }
        Ok(())
    }

    /// The length that counts.
    pub fn counted(&self) -> Nanos {
        self.whole - self.discard
    }
}

/// Reads `meter` over one window.
///
/// # Errors
/// The window is too short, or the meter cannot be read.
pub fn average(
    window: Window,
    meter: &mut dyn Meter,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    window.check()?;
    let stop = || monitor.stop_requested();
    monitor.progress(0.0, "settling");
    let mut parts: Vec<Spent> = Vec::new();
    let mut idle = Vec::new();
    if window.discard == Nanos::ZERO || meter.pass(window.discard, &stop) {
        let watch = IdleWatch::begin(root)?;
        let begin = meter.read()?;
        let mut last = begin.clone();
        for part in 0..PARTS {
            monitor.progress(part as f64 / PARTS as f64, "reading the meter");
            let whole = meter.pass(Nanos(window.counted().get() / PARTS), &stop);
            let now = meter.read()?;
            let spent = now.since(&last);
            if spent.time > Nanos::ZERO {
                parts.push(spent);
            }
            if !whole || now.ended.is_some() {
                break;
            }
            last = now;
        }
        idle.push(watch.end(window.counted(), root)?);
    }
    let mut findings = findings(meter.about(), &parts, seed);
    idle_states::note(&[(None, &idle)], seed, &mut findings);
    Ok(findings)
}

fn findings(about: &About, parts: &[Spent], seed: u64) -> Findings {
    let mut findings = Findings::default();
    notes::about(about, &mut findings);
    let Some(all) = sum(parts) else {
        findings.not_supported("launch/power/power", "the meter gave no reading in this time");
        return findings;
    };
    let powers = |energy: fn(&Spent) -> Option<f64>| -> Vec<f64> {
        let power = |part: &Spent| Some(energy(part)? / part.time.as_secs_f64());
        parts.iter().filter_map(power).collect()
    };
    let fact = |name: &str, values: Vec<f64>| {
        let fact = mean(name, &values, Unit::Watts, seed)?;
        Some(fact.with_label("meter", &about.name).with_label("origin", about.origin.to_string()))
    };
    let power = fact("launch/power/power", powers(|part| Some(part.energy.0)));
    let average = power.as_ref().map(|power| power.unit.show(power.value));
    findings.headline =
        average.map(|average| format!("{average} on average over {}, by {}", all.time, about.name));
    findings.facts.extend(power);
    findings.facts.extend(fact("launch/power/cpu_power", powers(|part| Some(part.cpu?.0))));
    findings.facts.push(
        Fact::new("launch/power/energy", all.energy.0, Unit::Joules)
            .with_label("meter", &about.name)
            .with_label("origin", about.origin.to_string()),
    );
    findings.facts.push(Fact::new("launch/power/time", all.time.get() as f64, Unit::Nanoseconds));
    notes::samples(all.samples, &mut findings);
    if let Some(reason) = &all.cut_short {
        findings.warn(format!(
            "the meter ran for only {}: {reason}; its energy until then counts",
            all.time
        ));
    }
    findings.curves.push(course(parts));
    findings
}

/// All parts together.
fn sum(parts: &[Spent]) -> Option<Spent> {
    let mut parts = parts.iter().cloned();
    let first = parts.next()?;
    Some(parts.fold(first, |sum, part| Spent {
        time: sum.time + part.time,
        energy: sum.energy + part.energy,
        cpu: sum.cpu.zip(part.cpu).map(|(sum, part)| sum + part),
        samples: sum.samples.and(part.samples),
        cut_short: part.cut_short,
    }))
}

/// Power over time.
fn course(parts: &[Spent]) -> Curve {
    let mut at = Nanos::ZERO;
    let points = parts.iter().filter_map(|part| {
        at = at + part.time;
        Some(Point { x: at.get() as f64, y: part.power()?.0, interval: None })
    });
    Curve {
        name: "launch/power/course".to_owned(),
        x: Axis::new("time", Unit::Nanoseconds),
        y: Axis::new("power", Unit::Watts),
        labels: std::collections::BTreeMap::new(),
        points: points.collect(),
    }
}
