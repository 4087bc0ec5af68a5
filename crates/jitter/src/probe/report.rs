//! From what the threads saw to findings.

use unjank_measure::{Fact, Findings, Outlier, Unit};

use super::options::{Options, Scheduling};
use super::threads::Measured;

/// Outliers that are kept per scheduling, over all CPUs.
const OUTLIERS: usize = 8;

/// Adds the series, worst wake-ups and warnings of one scheduling.
pub(crate) fn note(
    measured: Measured,
    options: &Options,
    scheduling: Scheduling,
    findings: &mut Findings,
) {
    let name = scheduling.series_name();
    let Measured { by_cpu, start, unlocked, interrupted } = measured;
    if let Some(reason) = unlocked {
        findings.warn(format!(
            "memory could not be locked, so a late wake-up may be a page fault: {reason}"
        ));
    }
    if interrupted {
        findings.warn(format!("{name} was interrupted before its end"));
    }
    if let Some((cpu, wakeup)) = by_cpu.iter().find_map(|(cpu, seen)| Some((cpu, seen.broke?))) {
        findings.warn(format!(
            "{name} stopped at a wake-up {} late on CPU {cpu}, {} after the start",
            wakeup.latency(),
            wakeup.due.since(start)
        ));
    }
    let mut outliers: Vec<Outlier> = by_cpu
        .iter()
        .flat_map(|(cpu, seen)| {
            seen.worst.iter().map(|wakeup| Outlier {
                series: name.to_owned(),
                at: wakeup.due.since(start).get(),
                value: wakeup.latency().get(),
                cpu: Some(*cpu),
                cause: None,
            })
        })
        .collect();
    outliers.sort_by_key(|outlier| std::cmp::Reverse(outlier.value));
    outliers.truncate(OUTLIERS);
    findings.outliers.extend(outliers);

    let mut all: Option<unjank_measure::Series> = None;
    let mut singles = Vec::new();
    let several = by_cpu.len() > 1;
    for (cpu, seen) in by_cpu {
        match &mut all {
            None => all = Some(seen.series.clone()),
            Some(all) => all.absorb(&seen.series),
        }
        if several {
            let single = seen.series.without_course().with_label("cpu", cpu.to_string());
            singles.push(single.finish());
        }
    }
    if let Some(all) = all {
        findings.series.push(all.finish());
    }
    findings.series.extend(singles);
    if scheduling == Scheduling::Other
        && let Ok(slack) = unjank_host::sched::timer_slack()
    {
        let fact = Fact::new("jitter/native/timer_slack", slack.get() as f64, Unit::Nanoseconds);
        findings.facts.push(fact);
    }
    let period = options.period.get() as f64;
    if findings.fact_named("jitter/native/period").is_none() {
        findings.facts.push(Fact::new("jitter/native/period", period, Unit::Nanoseconds));
    }
}
