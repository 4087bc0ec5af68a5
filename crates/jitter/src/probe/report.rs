//! Turns the threads' measurements into findings.

use std::collections::BTreeMap;

use unjank_host::sched::{Policy, ThreadId, policy_of, timer_slack};
use unjank_host::tracefs::{Lost, Trace};
use unjank_host::{Nanos, Support};
use unjank_measure::{Change, Fact, Findings, Outlier, Series, Unit};

use super::options::{Options, Scheduling};
use super::setup::ThreadSetup;
use super::threads::Measured;
use super::wakeup::Observed;
use super::worst::WakeUp;
use crate::explain::{Blame, Cause, CulpritTotal, LateWakeUp, Phase, cause_of};

/// Outliers that are kept per scheduling, over all threads.
const OUTLIERS: usize = 8;
/// Worst wake-ups per scheduling whose causes are summed up.
const EXPLAINED: usize = 64;
/// Culprits that are listed; the others are summed up.
const CULPRITS: usize = 8;

/// The fact with the period of the first thread.
pub(crate) const PERIOD: &str = "jitter/native/period";
/// The label of a thread's own period in nanoseconds, where periods differ.
pub(crate) const PERIOD_LABEL: &str = "period_ns";

/// Adds the series, worst wake-ups and warnings of one scheduling.
pub(crate) fn note(
    measured: Measured,
    trace: Option<&Trace>,
    options: &Options,
    scheduling: Scheduling,
    findings: &mut Findings,
) {
    let name = scheduling.series_name();
    warn(&measured, name, findings);
    note_policy(&measured, options, scheduling, findings);
    let slack = match scheduling {
        Scheduling::Other => timer_slack().unwrap_or(Nanos::ZERO),
        _ => Nanos::ZERO,
    };
    let mut worst = worst_of(&measured, slack);
    if let Some(trace) = trace {
        note_lost(trace, scheduling, findings);
        blame(trace, &worst, scheduling, findings);
    }
    worst.truncate(OUTLIERS);
    let start = measured.start;
    findings.outliers.extend(worst.into_iter().map(|(cpu, late)| Outlier {
        series: name.to_owned(),
        labels: BTreeMap::new(),
        at: late.due.since(start).get(),
        value: late.ran.since(late.due).get(),
        cpu,
        cause: trace.map(|trace| match cause_of(trace, &late) {
            Support::Yes(cause) => cause.to_string(),
            Support::No(reason) => reason,
        }),
    }));
    note_series(measured, options, findings);
    if scheduling == Scheduling::Other {
        let fact = Fact::new("jitter/native/timer_slack", slack.get() as f64, Unit::Nanoseconds);
        findings.facts.push(fact);
    }
    let period = options.period.get() as f64;
    if findings.fact_named(PERIOD).is_none() {
        findings.facts.push(Fact::new(PERIOD, period, Unit::Nanoseconds));
    }
}

/// Adds warnings that a reader needs to judge the run.
fn warn(measured: &Measured, name: &str, findings: &mut Findings) {
    let Measured { by_thread, start, unlocked, interrupted } = measured;
    if let Some(reason) = unlocked {
        findings.warn(format!(
            "memory could not be locked, so a late wake-up may be a page fault: {reason}"
        ));
    }
    if *interrupted {
        findings.warn(format!("{name} was interrupted before its end"));
    }
    if let Some((setup, wakeup)) =
        by_thread.iter().find_map(|(setup, seen)| Some((setup, seen.broke?)))
    {
        let whose = match setup.cpu {
            Some(cpu) => format!("on CPU {cpu}"),
            None => format!("of thread {}", setup.index),
        };
        findings.warn(format!(
            "{name} stopped at a wake-up {} late {whose}, {} after the start",
            wakeup.latency(),
            wakeup.due.since(*start)
        ));
    }
}

/// Records the threads' policy before, during and after the run.
fn note_policy(
    measured: &Measured,
    options: &Options,
    scheduling: Scheduling,
    findings: &mut Findings,
) {
    let during = scheduling.policy(options.period);
    if during.is_realtime() {
        // Threads inherit the policy of their creator.
        let inherited = policy_of(ThreadId::current()).map(|(policy, _)| policy);
        let before = inherited.unwrap_or(Scheduling::Other.policy(options.period));
        let after = measured.by_thread.first().and_then(|(_, seen)| seen.policy_after);
        findings.changes.push(Change {
            knob: "policy of unjank's measuring threads".to_owned(),
            before: before.to_string(),
            during: during.to_string(),
            after: after.map(|policy| policy.to_string()),
        });
    }
}

/// The worst wake-ups of all threads, worst first, with their CPUs.
fn worst_of(measured: &Measured, timer_slack: Nanos) -> Vec<(Option<usize>, LateWakeUp)> {
    let of_thread = |(setup, seen): &(ThreadSetup, Observed)| {
        let (cpu, thread) = (setup.cpu, seen.thread);
        let late = move |WakeUp { due, ran }| (cpu, LateWakeUp { thread, due, ran, timer_slack });
        seen.worst.iter().map(late).collect::<Vec<_>>()
    };
    let mut worst: Vec<_> = measured.by_thread.iter().flat_map(of_thread).collect();
    worst.sort_by_key(|(_, late)| std::cmp::Reverse(late.ran.since(late.due)));
    worst.truncate(EXPLAINED);
    worst
}

/// Adds the parts of the worst delays, and their culprits.
fn blame(
    trace: &Trace,
    worst: &[(Option<usize>, LateWakeUp)],
    scheduling: Scheduling,
    findings: &mut Findings,
) {
    let causes: Vec<Cause> =
        worst.iter().filter_map(|(_, late)| cause_of(trace, late).yes()).collect();
    let unexplained = worst.len() - causes.len();
    if unexplained > 0 {
        findings.warn(format!(
            "{}: the trace does not explain {unexplained} of the {} worst wake-ups",
            scheduling.series_name(),
            worst.len()
        ));
    }
    let blame = Blame::of(&causes);
    let named = |what: &str, value: f64, unit| {
        Fact::new(format!("jitter/native/{}/{what}", scheduling.name()), value, unit)
    };
    if blame.wakeups == 0 {
        return;
    }
    let parts = [
        (Phase::Timer, blame.timer_late),
        (Phase::Wait, blame.waited),
        (Phase::Run, blame.ran_late),
    ];
    for (phase, time) in parts {
        let share = Fact {
            n: Some(blame.wakeups),
            ..named("late_share", blame.share(time), Unit::Ratio)
                .with_label("part", phase.name())
                .averaged()
        };
        findings.facts.push(share);
    }
    let listed = blame.culprits.len().min(CULPRITS);
    let (listed, rest) = blame.culprits.split_at(listed);
    // Part by part, so that a table groups them.
    for (phase, _) in parts {
        let of_part = |total: &&CulpritTotal| total.phase == phase;
        let fact = |who: String, held: Nanos| {
            named("culprit", held.get() as f64, Unit::Nanoseconds)
                .summed()
                .with_label("part", phase.name())
                .with_label("who", who)
        };
        findings.facts.extend(listed.iter().filter(of_part).map(|total| {
            let fact = Fact { n: Some(total.wakeups), ..fact(total.who.to_string(), total.held) };
            match total.thread_numbers() {
                Some(numbers) => fact.with_label("threads", numbers),
                None => fact,
            }
        }));
        let rest: Vec<&CulpritTotal> = rest.iter().filter(of_part).collect();
        if !rest.is_empty() {
            let held = rest.iter().fold(Nanos::ZERO, |sum, total| sum + total.held);
            let who = match rest.len() {
                1 => "one other".to_owned(),
                more => format!("{more} others together"),
            };
            findings.facts.push(fact(who, held));
        }
    }
}

/// Adds the number of events that the trace lost. Wake-ups at that time may have
/// no cause.
fn note_lost(trace: &Trace, scheduling: Scheduling, findings: &mut Findings) {
    let Lost { overwritten, dropped } = trace.lost;
    let name = format!("jitter/native/{}/events_lost", scheduling.name());
    let lost = overwritten.saturating_add(dropped);
    findings.facts.push(Fact {
        n: Some(lost.saturating_add(trace.len() as u64)),
        ..Fact::new(name, lost as f64, Unit::Count).summed()
    });
    if overwritten > 0 {
        findings.warn(format!(
            "{}: the trace buffer was full and {overwritten} events were overwritten, so the \
             first wake-ups have no cause (a shorter --for avoids this)",
            scheduling.series_name()
        ));
    }
    if dropped > 0 {
        findings.warn(format!(
            "{}: the kernel could not record {dropped} events; wake-ups at that time have no cause",
            scheduling.series_name()
        ));
    }
}

/// Adds the series over all threads and, if there are several, one for each.
fn note_series(measured: Measured, options: &Options, findings: &mut Findings) {
    let mut all: Option<Series> = None;
    let mut singles = Vec::new();
    let several = measured.by_thread.len() > 1;
    for (setup, seen) in measured.by_thread {
        match &mut all {
            None => all = Some(seen.series.clone()),
            Some(all) => all.absorb(&seen.series),
        }
        if several {
            singles.push(labelled(seen.series.without_course(), &setup, options).finish());
        }
    }
    findings.series.extend(all.map(Series::finish));
    findings.series.extend(singles);
}

/// One thread's series, with the labels that identify it.
fn labelled(mut series: Series, setup: &ThreadSetup, options: &Options) -> Series {
    let alone = options.threads <= options.cpus.len();
    series = match setup.cpu.filter(|_| alone) {
        Some(cpu) => series.with_label("cpu", cpu.to_string()),
        None => series.with_label("thread", setup.index.to_string()),
    };
    if options.priority_step > 0
        && let Policy::Fifo(priority) | Policy::RoundRobin(priority) = setup.policy
    {
        series = series.with_label("priority", priority.get().to_string());
    }
    if options.distance > Nanos::ZERO {
        series = series.with_label(PERIOD_LABEL, setup.period.get().to_string());
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_events_are_counted_and_warned_about() {
        let noted = |lost| {
            let mut findings = Findings::default();
            let trace = Trace { lost, ..Trace::default() };
            note_lost(&trace, Scheduling::Other, &mut findings);
            let fact = findings.fact_named("jitter/native/other/events_lost").cloned();
            (fact.map(|fact| (fact.value as u64, fact.n)), findings.warnings)
        };
        assert_eq!(noted(Lost::default()), (Some((0, Some(0))), Vec::new()));
        let (fact, warnings) = noted(Lost { overwritten: 5, dropped: 2 });
        assert_eq!(fact, Some((7, Some(7))));
        assert!(warnings[0].contains("5 events were overwritten"), "{warnings:?}");
        assert!(warnings[1].contains("could not record 2 events"), "{warnings:?}");
    }
}
