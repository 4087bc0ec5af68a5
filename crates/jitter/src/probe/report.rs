//! From what the threads saw to findings.

use unjank_host::sched::timer_slack;
use unjank_host::tracefs::Trace;
use unjank_host::{Nanos, Support};
use unjank_measure::{Change, Fact, Findings, Outlier, Series, Unit};

use super::options::{Options, Scheduling};
use super::threads::Measured;
use super::worst::WakeUp;
use crate::explain::{LateWakeUp, cause_of};

/// Outliers that are kept per scheduling, over all CPUs.
const OUTLIERS: usize = 8;

/// Adds the series, worst wake-ups and warnings of one scheduling.
pub(crate) fn note(
    measured: Measured,
    trace: Option<&Trace>,
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
    if let Scheduling::Fifo(_) = scheduling {
        let after = by_cpu.first().and_then(|(_, seen)| seen.policy_after);
        findings.changes.push(Change {
            knob: "policy of unjank's measuring threads".to_owned(),
            before: Scheduling::Other.policy().to_string(),
            during: scheduling.policy().to_string(),
            after: after.map(|policy| policy.to_string()),
        });
    }
    let slack = match scheduling {
        Scheduling::Other => timer_slack().unwrap_or(Nanos::ZERO),
        Scheduling::Fifo(_) => Nanos::ZERO,
    };
    let mut worst: Vec<(usize, LateWakeUp)> = by_cpu
        .iter()
        .flat_map(|(cpu, seen)| {
            seen.worst.iter().map(|WakeUp { due, ran }| {
                (*cpu, LateWakeUp { thread: seen.thread, due, ran, timer_slack: slack })
            })
        })
        .collect();
    worst.sort_by_key(|(_, late)| std::cmp::Reverse(late.ran.since(late.due)));
    worst.truncate(OUTLIERS);
    findings.outliers.extend(worst.into_iter().map(|(cpu, late)| Outlier {
        series: name.to_owned(),
        at: late.due.since(start).get(),
        value: late.ran.since(late.due).get(),
        cpu: Some(cpu),
        cause: trace.map(|trace| match cause_of(trace, &late) {
            Support::Yes(cause) => cause.to_string(),
            Support::No(reason) => reason,
        }),
    }));

    let mut all: Option<Series> = None;
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
    if scheduling == Scheduling::Other {
        let fact = Fact::new("jitter/native/timer_slack", slack.get() as f64, Unit::Nanoseconds);
        findings.facts.push(fact);
    }
    let period = options.period.get() as f64;
    if findings.fact_named("jitter/native/period").is_none() {
        findings.facts.push(Fact::new("jitter/native/period", period, Unit::Nanoseconds));
    }
}
