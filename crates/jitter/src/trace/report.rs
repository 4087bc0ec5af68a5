//! Findings about the wake-ups of a recording.

use std::collections::BTreeMap;

use unjank_host::input::{Stop, Stopped};
use unjank_host::tracefs::{Roster, Trace, WakeUp, seconds};
use unjank_host::{Nanos, Support, Timestamp};
use unjank_measure::number::{counted, grouped};
use unjank_measure::record::{Cell as Shown, Column, Quantity, Table};
use unjank_measure::{Answer, Fact, Findings, Outlier, Unit, Verdict};

use super::options::Options;
use super::wakes::{SERIES, ThreadWakes, Wakes};
use crate::explain::{Blame, Cause, cause_of_wait};

/// Rows of the table of the longest wake-ups.
const LONGEST: usize = 10;
/// Rows of the table of culprits.
const CULPRITS: usize = 8;
/// The time before a late wake-up that is explained together with it.
const BEFORE: Nanos = Nanos::from_millis(10);

pub(super) fn findings(
    trace: &Trace,
    roster: &Roster,
    options: &Options,
    wakes: Wakes,
    stop: &Stop,
) -> Result<Findings, Stopped> {
    let Wakes { all, late, threads, longest, in_gaps, without_switch, maybe_late } = wakes;
    let mut findings = Findings::default();
    let n = all.n();
    let late_ones: Vec<&WakeUp> =
        longest.iter().filter(|wakeup| wakeup.latency() > options.late).collect();
    let mut causes = Vec::new();
    for wakeup in &late_ones {
        if stop.is_requested() {
            return Err(Stopped);
        }
        causes.extend(cause_of_wait(trace, wakeup).yes());
    }
    findings.verdicts.push(verdict(trace, roster, options, [late, maybe_late, n], longest.first()));
    findings.series.push(all.finish());
    let fact = Fact::new("jitter/trace/late", late as f64, Unit::Count);
    findings.facts.push(Fact { n: Some(n), ..fact });
    findings.tables.push(threads_table(trace, roster, options, &threads, stop)?);
    findings.tables.push(longest_table(trace, roster, &longest));
    findings.tables.extend(culprits_table(&causes, late));
    let (from, _) = options.window;
    findings.outliers.extend(longest.iter().take(LONGEST).map(|wakeup| Outlier {
        series: SERIES.to_owned(),
        labels: BTreeMap::new(),
        at: wakeup.ran.since(from).get(),
        value: wakeup.latency().get(),
        cpu: trace.cpus.get(wakeup.place).map(|cpu| cpu.cpu),
        cause: Some(with_name(trace, roster, wakeup)),
    }));
    if without_switch > 0 {
        let fact = Fact::new("jitter/trace/without_switch", without_switch as f64, Unit::Count);
        findings.facts.push(fact);
        findings.warn(format!(
            "left out {} for which the recording lacks the switch to the thread",
            counted(without_switch as usize, "wake-up", "wake-ups")
        ));
    }
    if in_gaps > 0 {
        findings.warn(format!(
            "left out {} during which the recording lost events",
            counted(in_gaps as usize, "wake-up", "wake-ups")
        ));
    }
    Ok(findings)
}

/// Whether every thread ran soon after it was woken.
fn verdict(
    trace: &Trace,
    roster: &Roster,
    options: &Options,
    [late, maybe_late, n]: [u64; 3],
    longest: Option<&WakeUp>,
) -> Verdict {
    let limit = options.late;
    let answer = match (late, maybe_late) {
        (0, 0) => Answer::Yes,
        (0, _) => Answer::CannotTell,
        _ => Answer::No,
    };
    let mut reason = match late {
        0 => format!(
            "none of {} took longer than {limit}",
            counted(n as usize, "wake-up", "wake-ups")
        ),
        late => format!(
            "{} of {} took longer than {limit}",
            grouped(late),
            counted(n as usize, "wake-up", "wake-ups")
        ),
    };
    if let Some(longest) = longest {
        reason = format!("{reason}; the longest: {}", with_name(trace, roster, longest));
    }
    if maybe_late > 0 {
        let more = counted(maybe_late as usize, "more wake-up", "more wake-ups");
        reason = format!("{reason}; {more} may have: the recording lacks the switch to the thread");
    }
    let question = format!("Did every thread run within {limit} after it was woken?");
    let mut verdict = Verdict::new("jitter/trace", question, answer, reason);
    verdict.measured = longest.map(|longest| Quantity {
        name: "longest time from the wake-up to the run".to_owned(),
        value: longest.latency().get() as f64,
        unit: Unit::Nanoseconds,
        interval: None,
        at_least: None,
        n,
    });
    let late = longest.filter(|longest| longest.latency() > limit);
    verdict.next = late.zip(options.why.as_ref()).map(|(it, why)| next(roster, it, why));
    verdict
}

/// The command that explains the time before a run.
fn next(roster: &Roster, wakeup: &WakeUp, why: &str) -> String {
    let before = Timestamp::from_nanos(wakeup.woken.as_nanos().saturating_sub(BEFORE.get()));
    format!("{why} {}", roster.why_options(wakeup.thread, before, wakeup.ran))
}

/// `RenderThread[301] waited 21.0 ms while hog[9] ran`.
fn with_name(trace: &Trace, roster: &Roster, wakeup: &WakeUp) -> String {
    format!("{} {}", roster.thread_label(wakeup.thread), cause(trace, wakeup))
}

/// The cause in a clause, or why there is none.
fn cause(trace: &Trace, wakeup: &WakeUp) -> String {
    match cause_of_wait(trace, wakeup) {
        Support::Yes(cause) => cause.to_string(),
        Support::No(reason) => format!("waited {}: {reason}", wakeup.latency()),
    }
}

/// The cause beside a column with the length of the wait.
fn cause_beside(trace: &Trace, wakeup: &WakeUp) -> String {
    let cause = cause(trace, wakeup);
    let waited = format!("waited {}", wakeup.latency());
    let rest = cause.strip_prefix(&waited).map(|rest| rest.trim_start_matches([' ', ':']));
    rest.map_or_else(|| cause.clone(), str::to_owned)
}

fn time(time: Nanos) -> Shown {
    Shown::number(time.get() as f64)
}

fn threads_table(
    trace: &Trace,
    roster: &Roster,
    options: &Options,
    threads: &[ThreadWakes],
    stop: &Stop,
) -> Result<Table, Stopped> {
    let columns = [
        Column::text("thread"),
        Column::text("process"),
        Column::of("wake-ups", Unit::Count),
        Column::of("p50", Unit::Nanoseconds),
        Column::of("p99 (95 % interval)", Unit::Nanoseconds),
        Column::of("longest", Unit::Nanoseconds),
        Column::of(format!("over {}", options.late), Unit::Count),
        Column::text("the longest: what happened"),
    ];
    let title = "Time from the wake-up to the run, the longest first";
    let mut table = Table::new("jitter/trace/threads", title, columns);
    for it in threads.iter().take(options.limit) {
        if stop.is_requested() {
            return Err(Stopped);
        }
        table.push([
            roster.thread_label(it.thread).into(),
            roster.process_label(it.thread).unwrap_or_default().into(),
            Shown::number(it.times.n() as f64),
            Shown::maybe(it.times.quantile(0.5).map(|(median, _)| time(median))),
            it.times.quantile_cell(0.99),
            time(it.times.longest()),
            Shown::number(it.times.longer_than(options.late) as f64),
            cause_beside(trace, &it.worst).into(),
        ]);
    }
    let rest = threads.len().saturating_sub(options.limit);
    if rest > 0 {
        let more = counted(rest, "more thread", "more threads");
        table = table.with_note(format!("{more}: --limit all."));
    }
    Ok(table)
}

fn longest_table(trace: &Trace, roster: &Roster, longest: &[WakeUp]) -> Table {
    let columns = [
        Column::text("woken at"),
        Column::text("thread"),
        Column::of("waited", Unit::Nanoseconds),
        Column::text("CPU"),
        Column::text("what happened"),
    ];
    let rows = longest.iter().take(LONGEST).map(|wakeup| {
        let cpu = trace.cpus.get(wakeup.place).map(|cpu| cpu.cpu.to_string());
        [
            seconds(wakeup.woken).into(),
            roster.thread_label(wakeup.thread).into(),
            time(wakeup.latency()),
            cpu.unwrap_or_default().into(),
            cause_beside(trace, wakeup).into(),
        ]
    });
    Table::new("jitter/trace/longest", "The longest waits", columns).with_rows(rows)
}

/// Who had the CPU in late wake-ups; `None` without any.
fn culprits_table(causes: &[Cause], late: u64) -> Option<Table> {
    let blame = Blame::of(causes);
    if blame.culprits.is_empty() {
        return None;
    }
    let columns = [
        Column::text("who had the CPU"),
        Column::of("time", Unit::Nanoseconds),
        Column::of("share", Unit::Ratio),
        Column::of("wake-ups", Unit::Count),
        Column::text("threads"),
    ];
    let rows = blame.culprits.iter().take(CULPRITS).map(|culprit| {
        [
            culprit.who.to_string().into(),
            time(culprit.held),
            Shown::number(blame.share(culprit.held)),
            Shown::number(culprit.wakeups as f64),
            culprit.thread_numbers().unwrap_or_default().into(),
        ]
    });
    let title = "Who had the CPU while late threads waited";
    let table = Table::new("jitter/trace/culprits", title, columns).with_rows(rows);
    let [summed, late] = [blame.wakeups, late].map(grouped);
    Some(if summed == late {
        table
    } else {
        table.with_note(format!("Of {summed} of {late} late wake-ups, the longest with a cause."))
    })
}
