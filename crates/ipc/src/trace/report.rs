//! Findings about the calls of a recording.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use unjank_host::Nanos;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Roster, Trace, seconds};
use unjank_measure::number::{counted, grouped};
use unjank_measure::record::{Cell as Shown, Column, Quantity, Table};
use unjank_measure::stats::ExactTimes;
use unjank_measure::{Answer, Fact, Findings, Outlier, Series, Unit, Verdict};

use super::calls::{Call, Calls};
use super::options::Options;

/// Rows of the table of the longest calls.
const LONGEST: usize = 10;
/// The parts of a call.
const PARTS: [&str; 3] = ["to the server", "in the server", "back to the client"];

pub(super) fn findings(
    trace: &Trace,
    roster: &Roster,
    options: &Options,
    found: &Calls,
) -> Findings {
    let (from, to) = options.window;
    let mut findings = Findings::default();
    let mut calls = Series::new("ipc/trace/call").with_course(from, to.since(from));
    found.returned.iter().for_each(|call| calls.record_at(call.returned, call.length()));
    let mut one_way = Series::new("ipc/trace/one_way").with_course(from, to.since(from));
    found.one_way.iter().for_each(|it| one_way.record_at(it.received, it.length()));
    let (n, messages) = (calls.n(), one_way.n());
    let missed =
        found.returned.iter().filter(|call| call.length() > options.deadline).count() as u64;
    let mut longest: Vec<&Call> = found.returned.iter().collect();
    longest.sort_by_key(|call| (Reverse(call.length()), call.sent));
    longest.truncate(LONGEST);
    if n > 0 {
        findings.verdicts.push(verdict(roster, options, found, (missed, n), longest.first()));
        let share = Fact::new("ipc/trace/deadline_missed", missed as f64 / n as f64, Unit::Ratio);
        findings.facts.push(Fact { n: Some(n), ..share });
        findings.series.push(calls.finish());
    } else {
        findings.headline = Some("This recording has no call with a reply".to_owned());
    }
    let unfinished = Fact::new("ipc/trace/unfinished", found.unfinished as f64, Unit::Count);
    findings.facts.push(unfinished);
    if messages > 0 {
        findings.series.push(one_way.finish());
    }
    if n > 0 {
        let pairs = pairs(roster, found);
        findings.tables.push(calls_table(options, &pairs));
        findings.tables.push(parts_table(options, &pairs, found.has_waits));
        findings.tables.push(longest_table(roster, &longest, found.has_waits));
    }
    findings.tables.extend(one_way_table(roster, options, found));
    findings.outliers.extend(longest.iter().map(|call| Outlier {
        series: "ipc/trace/call".to_owned(),
        labels: BTreeMap::new(),
        at: call.returned.since(from).get(),
        value: call.length().get(),
        cpu: None,
        cause: Some(described(roster, call, found.has_waits)),
    }));
    warn(trace, found, &mut findings);
    findings
}

fn warn(trace: &Trace, found: &Calls, findings: &mut Findings) {
    if found.in_gaps > 0 {
        findings.warn(format!(
            "left out {} during which the recording lost events",
            counted(found.in_gaps as usize, "call or message", "calls and messages")
        ));
    } else if trace.lost.dropped > 0 {
        findings.warn("the kernel could not record some events, so calls may be missing");
    }
    if !found.has_waits {
        findings.not_supported(
            "ipc/trace/waits",
            "the recording does not have sched/sched_switch and sched/sched_waking, which show how \
             long woken threads waited for a CPU",
        );
    }
}

fn verdict(
    roster: &Roster,
    options: &Options,
    found: &Calls,
    (missed, n): (u64, u64),
    longest: Option<&&Call>,
) -> Verdict {
    let deadline = options.deadline;
    let calls = counted(n as usize, "call", "calls");
    let answer = if missed == 0 { Answer::Yes } else { Answer::No };
    let mut reason = match missed {
        0 => format!("none of {calls} took longer than {deadline}"),
        missed => format!("{} of {calls} took longer than {deadline}", grouped(missed)),
    };
    if let Some(longest) = longest {
        let how = described(roster, longest, found.has_waits);
        reason = format!("{reason}; the longest, {how}");
    }
    let question = format!("Did every call over binder return within {deadline}?");
    let mut verdict = Verdict::new("ipc/trace", question, answer, reason);
    verdict.measured = longest.map(|longest| Quantity {
        name: "longest time from a call to its reply".to_owned(),
        value: longest.length().get() as f64,
        unit: Unit::Nanoseconds,
        interval: None,
        at_least: None,
        n,
    });
    let late = longest.filter(|call| call.length() > deadline);
    verdict.next = late.zip(options.why.as_ref()).map(|(call, why)| {
        format!("{why} {}", roster.why_options(call.client, call.sent, call.returned))
    });
    verdict
}

/// `from A to B: 1.10 ms to the server (900 µs of it T waited for a CPU), …`.
fn described(roster: &Roster, call: &Call, has_waits: bool) -> String {
    let [there, work, back] = call.parts();
    let waited = |thread: ThreadId, time: Nanos| {
        let waits = has_waits && time > Nanos::ZERO;
        let label = || roster.thread_label(thread);
        let text = waits.then(|| format!(" ({time} of it {} waited for a CPU)", label()));
        text.unwrap_or_default()
    };
    format!(
        "from {} to {}: {there} to the server{}, {work} in the server, {back} back{}",
        label(roster, call.client),
        label(roster, call.server),
        waited(call.server, call.server_waited),
        waited(call.client, call.client_waited)
    )
}

/// The process of a thread, or the thread if its process is not known.
fn label(roster: &Roster, thread: ThreadId) -> String {
    roster.process_label(thread).unwrap_or_else(|| roster.thread_label(thread))
}

/// A client and a server, with all calls between them.
struct Pair<'a> {
    client: String,
    server: String,
    calls: Vec<&'a Call>,
    times: ExactTimes,
}

/// The pairs of processes, the one with the longest call first.
fn pairs<'a>(roster: &Roster, found: &'a Calls) -> Vec<Pair<'a>> {
    let process = |thread: ThreadId| roster.process(thread).unwrap_or(thread);
    let mut pairs: HashMap<[ThreadId; 2], Vec<&Call>> = HashMap::new();
    for call in &found.returned {
        pairs.entry([call.client, call.server].map(process)).or_default().push(call);
    }
    let mut pairs: Vec<([ThreadId; 2], Vec<&Call>)> = pairs.into_iter().collect();
    let longest = |calls: &[&Call]| calls.iter().map(|call| call.length()).max();
    pairs.sort_by_key(|(key, calls)| (Reverse(longest(calls)), key.map(|it| it.0)));
    let pairs = pairs.into_iter().filter_map(|(_, calls)| {
        let first = calls.first()?;
        Some(Pair {
            client: label(roster, first.client),
            server: label(roster, first.server),
            times: calls.iter().map(|call| call.length()).collect(),
            calls,
        })
    });
    pairs.collect()
}

fn time(time: Nanos) -> Shown {
    Shown::number(time.get() as f64)
}

/// The columns of a distribution.
fn time_columns() -> [Column; 3] {
    let time = |name| Column::of(name, Unit::Nanoseconds);
    [time("p50"), time("p99 (95 % interval)"), time("longest")]
}

fn time_cells(times: &ExactTimes) -> [Shown; 3] {
    let median = Shown::maybe(times.quantile(0.5).map(|(median, _)| time(median)));
    [median, times.quantile_cell(0.99), time(times.longest())]
}

fn more(rest: usize) -> Option<String> {
    (rest > 0).then(|| format!("{}: --limit all.", counted(rest, "more pair", "more pairs")))
}

fn calls_table(options: &Options, pairs: &[Pair<'_>]) -> Table {
    let mut columns =
        vec![Column::text("client"), Column::text("server"), Column::of("calls", Unit::Count)];
    columns.extend(time_columns());
    columns.push(Column::of(format!("over {}", options.deadline), Unit::Count));
    let rows = pairs.iter().take(options.limit).map(|pair| {
        let head = [
            pair.client.as_str().into(),
            pair.server.as_str().into(),
            Shown::number(pair.times.n() as f64),
        ];
        let late = Shown::number(pair.times.longer_than(options.deadline) as f64);
        head.into_iter().chain(time_cells(&pair.times)).chain([late])
    });
    let title = "Calls over binder, from the call to the reply";
    let mut table = Table::new("ipc/trace/calls", title, columns).with_rows(rows);
    table.notes.extend(more(pairs.len().saturating_sub(options.limit)));
    table
}

fn parts_table(options: &Options, pairs: &[Pair<'_>], has_waits: bool) -> Table {
    let mut columns = vec![Column::text("client"), Column::text("server"), Column::text("part")];
    columns.extend(time_columns());
    columns
        .extend([Column::of("share", Unit::Ratio), Column::of("waiting for a CPU", Unit::Ratio)]);
    let rows = pairs.iter().take(options.limit).flat_map(|pair| {
        let whole = (pair.times.total().get() as f64).max(1.0);
        let share = move |time: Nanos| Shown::number(time.get() as f64 / whole);
        PARTS.iter().enumerate().map(move |(part, name)| {
            let times: ExactTimes = pair.calls.iter().map(|call| call.parts()[part]).collect();
            let waits = pair.calls.iter().map(|call| match part {
                0 => call.server_waited,
                _ => call.client_waited,
            });
            let waits = waits.fold(Nanos::ZERO, |sum, wait| sum + wait);
            let waits = (has_waits && part != 1).then(|| share(waits));
            let mut row: Vec<Shown> =
                vec![pair.client.as_str().into(), pair.server.as_str().into(), (*name).into()];
            row.extend(time_cells(&times));
            row.extend([share(times.total()), Shown::maybe(waits)]);
            row
        })
    });
    let title = "Where the time of these calls went";
    let table = Table::new("ipc/trace/parts", title, columns).with_rows(rows);
    table.with_note(
        "Shares are of the time of all calls of the pair; the last one is the part in which the \
         woken thread waited for a CPU.",
    )
}

fn longest_table(roster: &Roster, longest: &[&Call], has_waits: bool) -> Table {
    let times = |name| Column::of(name, Unit::Nanoseconds);
    let columns = [
        Column::text("called at"),
        Column::text("client"),
        Column::text("server"),
        times("call"),
        times("to the server"),
        times("waiting for a CPU"),
        times("in the server"),
        times("back"),
        times("waiting for a CPU then"),
    ];
    let rows = longest.iter().map(|call| {
        let [there, work, back] = call.parts().map(time);
        let wait = |wait: Nanos| Shown::maybe(has_waits.then(|| time(wait)));
        [
            seconds(call.sent).into(),
            roster.thread_label(call.client).into(),
            roster.thread_label(call.server).into(),
            time(call.length()),
            there,
            wait(call.server_waited),
            work,
            back,
            wait(call.client_waited),
        ]
    });
    Table::new("ipc/trace/longest", "The longest calls", columns).with_rows(rows)
}

/// Messages without a reply; `None` if there are none.
fn one_way_table(roster: &Roster, options: &Options, found: &Calls) -> Option<Table> {
    let process = |thread: ThreadId| roster.process(thread).unwrap_or(thread);
    let mut pairs: HashMap<[ThreadId; 2], ([ThreadId; 2], Vec<Nanos>)> = HashMap::new();
    for message in &found.one_way {
        let threads = [message.sender, message.receiver];
        let (_, times) = pairs.entry(threads.map(process)).or_insert_with(|| (threads, Vec::new()));
        times.push(message.length());
    }
    let sorted = pairs.into_iter().map(|(key, (threads, times))| {
        let times: ExactTimes = times.into_iter().collect();
        (key, threads, times)
    });
    let mut pairs: Vec<([ThreadId; 2], [ThreadId; 2], ExactTimes)> = sorted.collect();
    pairs.sort_by_key(|(key, _, times)| (Reverse(times.longest()), key.map(|it| it.0)));
    let mut columns =
        vec![Column::text("sender"), Column::text("receiver"), Column::of("messages", Unit::Count)];
    columns.extend(time_columns());
    let rows = pairs.iter().take(options.limit).map(|(_, [sender, receiver], times)| {
        let head = [
            label(roster, *sender).into(),
            label(roster, *receiver).into(),
            Shown::number(times.n() as f64),
        ];
        head.into_iter().chain(time_cells(times))
    });
    let title = "Messages without a reply, until the receiver had them";
    let mut table = Table::new("ipc/trace/one_way", title, columns).with_rows(rows);
    table.notes.extend(more(pairs.len().saturating_sub(options.limit)));
    (!pairs.is_empty()).then_some(table)
}
