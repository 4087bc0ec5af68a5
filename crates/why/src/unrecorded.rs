//! Findings without a recording: the resources that the program used, and how long it
//! waited for a CPU, by the kernel's counters.

use unjank_host::process::usage::Usage;
use unjank_host::sched::ThreadId;
use unjank_host::thread_activity::{self, Activity};
use unjank_host::{Error, Nanos, Result, Root, Timestamp};
use unjank_measure::record::{Column, Number, Quantity, Table, Verdict};
use unjank_measure::{Answer, Fact, Findings, Monitor, Series, Unit};

/// One number of the program.
struct Measured {
    name: &'static str,
    text: &'static str,
    of: &'static str,
    value: f64,
    unit: Unit,
}

/// The processes over which numbers of a launch are summed up.
const ALL: &str = "all its processes that ended";
/// The threads that the other numbers of a launch, and all of a window, belong to.
const FIRST: &str = "first thread";
const CHOSEN: &str = "the thread";
/// As many clock ticks of CPU time are needed to split it. The kernel knows the whole to the
/// nanosecond, and divides it by what it found the program doing at each tick (`cputime_adjust` of
/// `kernel/sched/cputime.c`): with 50 ticks, the share of the kernel is known to ±14 points (95 %).
const TICKS_FOR_SPLIT: u64 = 50;
/// The interval between two looks at a thread.
const LOOK: Nanos = Nanos::from_millis(50);

/// The kernel's counters for a launch.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// From its beginning until it was ready.
    pub took: Nanos,
    /// The resources that all its processes that ended used.
    pub used: Usage,
    /// How long its first thread was ready but did not run, if this kernel counts it.
    pub delay: Option<Nanos>,
}

/// Findings about launches that were not recorded, for this `reason`. The one of median length is
/// shown. `tick` is the length of the kernel's clock tick.
pub fn launches(mut launches: Vec<Counted>, tick: Nanos, reason: &str) -> Findings {
    let mut findings = Findings::default();
    launches.sort_by_key(|launch| launch.took);
    let Some(typical) = launches.get(launches.len().saturating_sub(1) / 2) else {
        findings.warn("no launch was measured");
        return findings;
    };
    let totals: Vec<Nanos> = launches.iter().map(|launch| launch.took).collect();
    let measured = of_launch(&typical.used, typical.delay, tick);
    note(&totals, typical.took, &measured, reason, &mut findings);
    if typical.delay.is_none() {
        findings.not_supported("why/run_delay", "this kernel does not count it");
    }
    findings
}

/// Watches a thread of a running process for the time `all`. Nothing is recorded, for this
/// `reason`.
///
/// # Errors
/// The thread has ended.
pub fn window(
    (process, thread): (u32, ThreadId),
    all: Nanos,
    root: &Root,
    reason: &str,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    let look = || thread_activity::of(root, process, thread);
    let gone = || Error::Invalid(format!("thread {} has ended", thread.0));
    let first = look()?.ok_or_else(gone)?;
    let began = Timestamp::now();
    let (mut last, mut now) = (first.clone(), began);
    let mut findings = Findings::default();
    while now.since(began) < all && !monitor.stop_requested() {
        monitor.progress(now.since(began).get() as f64 / all.get() as f64, "watching");
        (now + LOOK).min(began + all).sleep_until();
        let Some(activity) = look()? else {
            findings.warn(format!("the thread ended after {}", now.since(began)));
            break;
        };
        (last, now) = (activity, Timestamp::now());
    }
    let length = now.since(began);
    note(&[length], length, &of_window(&first, &last), reason, &mut findings);
    Ok(findings)
}

fn of_launch(used: &Usage, delay: Option<Nanos>, tick: Nanos) -> Vec<Measured> {
    let time = |name, text, time: Nanos| Measured {
        name,
        text,
        of: ALL,
        value: time.get() as f64,
        unit: Unit::Nanoseconds,
    };
    let count = |name, text, count: u64| Measured {
        name,
        text,
        of: ALL,
        value: count as f64,
        unit: Unit::Count,
    };
    let cpu = used.user + used.system;
    let mut measured = if cpu < tick.times(TICKS_FOR_SPLIT) {
        vec![time("why/cpu", "computing", cpu)]
    } else {
        vec![
            time("why/user", "computing outside the kernel", used.user),
            time("why/system", "computing in the kernel", used.system),
        ]
    };
    let waited = |delay| Measured { of: FIRST, ..time("why/run_delay", "run-queue", delay) };
    measured.extend(delay.map(waited));
    let read = used.read.get() as f64;
    measured.extend([
        count("why/major_faults", "page faults that read from storage", used.major_faults),
        count("why/minor_faults", "other page faults", used.minor_faults),
        Measured { unit: Unit::Bytes, value: read, ..count("why/read", "read from storage", 0) },
        count("why/voluntary", "sleeps and waits", used.voluntary),
        count("why/involuntary", "preemptions", used.involuntary),
    ]);
    measured
}

fn of_window(first: &Activity, last: &Activity) -> Vec<Measured> {
    let number = |name, text, value, unit| Measured { name, text, of: CHOSEN, value, unit };
    let time = |name, text, time: Nanos| number(name, text, time.get() as f64, Unit::Nanoseconds);
    let count = |name, text, from: u64, to: u64| {
        number(name, text, to.saturating_sub(from) as f64, Unit::Count)
    };
    let mut measured = vec![time("why/cpu", "computing", last.cpu - first.cpu)];
    let waited = first.ready.zip(last.ready).map(|(first, last)| last - first);
    measured.extend(waited.map(|waited| time("why/run_delay", "run-queue", waited)));
    measured.extend([
        count("why/voluntary", "sleeps and waits", first.voluntary, last.voluntary),
        count("why/involuntary", "preemptions", first.involuntary, last.involuntary),
    ]);
    measured
}

/// Adds the numbers and the answer. `totals` are in ascending order.
fn note(
    totals: &[Nanos],
    typical: Nanos,
    measured: &[Measured],
    reason: &str,
    findings: &mut Findings,
) {
    let mut series = Series::new("why/total");
    for &total in totals {
        series.record(total);
    }
    let series = series.finish();
    let interval = series.summary.and_then(|summary| summary.intervals[0]);
    let n = series.n;
    findings.series.push(series);
    let total = typical.get() as f64;
    findings.facts.push(Fact::new("why/total", total, Unit::Nanoseconds));
    let facts = measured.iter().map(|it| Fact::new(it.name, it.value, it.unit));
    findings.facts.extend(facts);
    findings.not_supported("why/time", reason);
    let columns = [Column::text("what"), Column::text("of"), Column::of("amount", Unit::Count)];
    let mut table = Table::new("why/used", "What is known without a recording", columns);
    for it in measured {
        let amount = Number::new(it.value).of(it.unit);
        table.push([it.text.into(), it.of.into(), amount.into()]);
    }
    findings.tables.push(table);
    let shares = measured
        .iter()
        .filter(|it| it.unit == Unit::Nanoseconds)
        .map(|it| format!("{} {:.0} %", it.text, 100.0 * it.value / total.max(1.0)));
    let shares: Vec<String> = shares.collect();
    let length = match totals {
        [shortest, .., longest] => {
            format!("{typical}, the median of {} launches of {shortest} to {longest}", totals.len())
        }
        _ => typical.to_string(),
    };
    let mut verdict = Verdict::new(
        "why",
        "Where did the time go?",
        Answer::NotAvailable,
        format!("of {length}: {}; {reason}", shares.join(", ")),
    );
    verdict.measured = Some(Quantity {
        name: "wall time".to_owned(),
        value: total,
        unit: Unit::Nanoseconds,
        interval: interval.map(|ends| ends.map(|end| end as f64)),
        at_least: None,
        n,
    });
    findings.verdicts.push(verdict);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Nanos = Nanos::from_millis(4);

    /// Launches with this CPU time, half of it in the kernel.
    fn findings(cpu: Nanos, lengths: &[u64]) -> Findings {
        let half = Nanos(cpu.get() / 2);
        let used = Usage { user: half, system: half, ..Usage::default() };
        let launch = |&took: &u64| Counted { took: Nanos::from_millis(took), used, delay: None };
        launches(lengths.iter().map(launch).collect(), TICK, "it needs root")
    }

    #[test]
    fn a_short_cpu_time_is_not_split() {
        let names = |cpu| {
            let findings = findings(cpu, &[1_000]);
            let facts = findings.facts.into_iter().map(|fact| (fact.name, fact.value / 1e6));
            facts.skip(1).take(2).collect::<Vec<_>>()
        };
        let short = names(Nanos::from_millis(198));
        assert_eq!(short[0], ("why/cpu".to_owned(), 198.0));
        let long = names(Nanos::from_millis(200));
        assert_eq!(long, [("why/user".to_owned(), 100.0), ("why/system".to_owned(), 100.0)]);
    }

    #[test]
    fn several_launches_have_their_number_and_range() {
        let verdict = |lengths: &[u64]| {
            let mut findings = findings(Nanos::from_millis(100), lengths);
            let verdict = findings.verdicts.remove(0);
            (verdict.reason, verdict.measured.unwrap())
        };
        let (reason, measured) = verdict(&[400, 200, 900]);
        let expected = "of 400 ms, the median of 3 launches of 200 ms to 900 ms: computing 25 %; it \
                        needs root";
        assert_eq!((reason.as_str(), measured.n, measured.interval), (expected, 3, None));
        assert!(verdict(&[1, 2, 3, 4, 5, 6]).1.interval.is_some());
        let (reason, measured) = verdict(&[200]);
        assert_eq!((reason.as_str(), measured.n), ("of 200 ms: computing 50 %; it needs root", 1));
    }
}
