//! Turns observations into findings.

use unjank_host::{Root, process::pid};
use unjank_measure::{Answer, Direction, Fact, Findings, Unit, Verdict};

use super::diagnose::Blind;
use super::observed::{Prices, rate, share};
use super::options::Options;
use super::surroundings::{Totals, surroundings};
use super::tables::tables;
use super::thread_report::{ThreadReport, used_over};
use super::verdict::{Coverage, overall};
use super::watch::Watched;

/// Adds facts, series, verdicts and warnings.
pub(super) fn report(
    options: &Options,
    root: &Root,
    watched: Watched,
    prices: &Prices,
    reports: &[ThreadReport],
    totals: &Totals,
    findings: &mut Findings,
) {
    let name = pid::command_line(root, options.process)
        .and_then(|words| words.first().map(|word| word.to_string_lossy().into_owned()))
        .or_else(|| {
            reports
                .iter()
                .find(|it| it.observed.thread.0 == options.process)
                .map(|it| it.observed.name.clone())
        });
    let who = match name {
        Some(name) => format!("process {} ({name})", options.process),
        None => format!("process {}", options.process),
    };
    let who = match watched.roster.processes().count() {
        0 | 1 => who,
        2 => format!("{who} with one process that it has started"),
        count => format!("{who} with {} processes that it has started", count - 1),
    };
    let length = watched.roster.length();
    let (answer, reason) = overall(reports, length, &coverage(&watched, reports));
    let question = format!("Do the threads of {who} wait without waste?");
    findings.verdicts.push(verdict(question, answer, reason));
    findings.tables.extend(tables(reports, options));
    for sentence in surroundings(totals) {
        findings.warn(sentence);
    }
    if watched.ended {
        findings.warn(format!("{who} ended after {}; results until then", watched.length));
    }
    if watched.roster.lost() > 0 {
        let lost = match watched.roster.lost() {
            1 => "one short-lived thread is not judged".to_owned(),
            many => format!("{many} short-lived threads are not judged"),
        };
        findings.warn(lost);
    }
    if findings.unsupported.iter().any(|missing| missing.what.starts_with("system calls")) {
        findings.warn(
            "system calls were not traced, so yields and sleep loops are suspicions at best and locks are not judged: run it as root",
        );
    }
    facts(&watched, prices, reports, totals, findings);
    for report in reports.iter().take(options.top) {
        thread_facts(report, findings);
    }
    findings.series.push(watched.looks.finish());
    if let Some(tally) = watched.tally {
        let series = [tally.naps, tally.waits].into_iter().filter(|series| series.n() > 0);
        findings.series.extend(series.map(unjank_measure::Series::finish));
    }
}

/// How much of the waits of all threads was observed.
fn coverage(watched: &Watched, reports: &[ThreadReport]) -> Coverage {
    let owners = || reports.iter().map(|it| &it.observed.owner);
    let blind = |of: fn(&Blind<'_>) -> bool| {
        reports.iter().filter_map(|it| Blind::of(&it.observed)).filter(of).count()
    };
    Coverage {
        traced: watched.tally.as_ref().map(|tally| tally.traced),
        waits: reports
            .iter()
            .filter_map(|it| Some(it.observed.calls.as_ref()?.waits))
            .map(|waits| waits.woken + waits.changed)
            .sum(),
        runtimes: owners().flat_map(|owner| owner.runtimes.iter().copied()).collect(),
        monitors: owners().filter_map(|owner| owner.monitors).fold(0.0, f64::max),
        foreign: watched.roster.processes().foreign(),
        lost: watched.roster.lost(),
        outside: blind(|it| matches!(it, Blind::Outside(..) | Blind::Outsiders(_))),
        slept: blind(|it| matches!(it, Blind::Slept(_))),
        virtual_threads: reports.iter().any(|it| it.observed.runs_virtual_threads()),
        paired: blind(|it| matches!(it, Blind::Partner(_))),
    }
}

fn verdict(question: String, answer: Answer, reason: String) -> Verdict {
    Verdict::new("lock/doctor", question, answer, reason)
}

/// Facts about the process and about the watching.
fn facts(
    watched: &Watched,
    prices: &Prices,
    reports: &[ThreadReport],
    totals: &Totals,
    findings: &mut Findings,
) {
    let used = used_over(watched.roster.length(), reports);
    let mut fact = |name: &str, value: f64, unit: Unit| {
        let fact = Fact::new(format!("lock/doctor/{name}"), value, unit);
        findings.facts.push(fact.with_better(Direction::Smaller));
    };
    fact("processes", watched.roster.processes().count() as f64, Unit::Count);
    fact("threads", reports.len() as f64, Unit::Count);
    fact("cpu", used, Unit::Ratio);
    fact("wasted", totals.wasted, Unit::Ratio);
    fact("runnable", totals.runnable, Unit::Count);
    fact("own_cpu", share(watched.own_cpu, watched.length), Unit::Ratio);
    if let Some(tally) = &watched.tally {
        fact("traced", share(tally.traced, watched.length), Unit::Ratio);
    }
    if let Some((periods, _)) = watched.throttled {
        fact("throttled_periods", periods as f64, Unit::Count);
    }
    if let Some(stolen) = watched.stolen {
        fact("stolen", stolen, Unit::Ratio);
    }
    fact("yield", prices.yielding.get() as f64, Unit::Nanoseconds);
    if let Some(traced) = watched.traced_yield {
        fact("yield_while_traced", traced.get() as f64, Unit::Nanoseconds);
    }
    fact("wake_nobody", prices.wake_nobody.get() as f64, Unit::Nanoseconds);
    fact("park_wake", prices.park.get() as f64, Unit::Nanoseconds);
}

/// Facts about one thread.
fn thread_facts(report: &ThreadReport, findings: &mut Findings) {
    let seen = &report.observed;
    let mut fact = |name: &str, value: f64, unit: Unit| {
        let fact = Fact::new(format!("lock/doctor/thread/{name}"), value, unit)
            .with_better(Direction::Smaller)
            .with_label("process", seen.owner.process.to_string())
            .with_label("thread", seen.thread.0.to_string())
            .with_label("name", seen.name.clone())
            .with_label("diagnosis", report.worst().kind.name());
        findings.facts.push(fact);
    };
    fact("cpu", seen.cpu_share(), Unit::Ratio);
    fact("wasted", report.wasted(), Unit::Ratio);
    if let Some(ready) = seen.ready_share() {
        fact("ready", ready, Unit::Ratio);
    }
    fact("voluntary_switches", rate(seen.voluntary, seen.watched), Unit::PerSecond);
    fact("involuntary_switches", rate(seen.involuntary, seen.watched), Unit::PerSecond);
    let Some(calls) = &seen.calls else { return };
    for (name, count) in [
        ("yields", calls.yields),
        ("naps", calls.naps.count()),
        ("empty_polls", calls.empty_polls),
        ("futex_waits", calls.waits.woken + calls.waits.changed),
        ("futex_wakes", calls.wakes),
        ("wakes_of_nobody", calls.nobody),
    ] {
        if count > 0 {
            fact(name, rate(count, calls.watched), Unit::PerSecond);
        }
    }
}
