//! The printed tables: one line per thread, and the diagnoses with remedies.

use std::collections::BTreeSet;

use unjank_host::Nanos;
use unjank_measure::{Cell, Column, Table, Unit};

use super::diagnosis::{Certainty, Diagnosis, DiagnosisKind};
use super::observed::{Calls, rate};
use super::options::Options;
use super::thread_report::ThreadReport;

/// The first `top` threads, the most wasteful first, and their diagnoses. Similar
/// threads share one diagnosis row.
pub(super) fn tables(reports: &[ThreadReport], options: &Options) -> Vec<Table> {
    let shown = &reports[..options.top.min(reports.len())];
    let processes: BTreeSet<u32> = reports.iter().map(|it| it.observed.owner.process).collect();
    let several = processes.len() > 1;
    let mut threads = Table::new("lock/doctor/threads", TITLE, columns())
        .with_rows(shown.iter().map(|report| row(report, several)));
    if reports.len() > shown.len() {
        let more = reports.len() - shown.len();
        threads = threads.with_note(format!("{more} more threads: --limit shows them"));
    }
    vec![threads, diagnoses(shown, several)]
}

const TITLE: &str = "Threads, the most wasteful first";

/// The first column is empty if there is only one process.
fn columns() -> [Column; 11] {
    [
        Column::text("process"),
        Column::text("name"),
        Column::text("thread"),
        Column::text("diagnosis"),
        Column::of("wasted", Unit::Ratio),
        Column::of("CPU", Unit::Ratio),
        Column::of("ready", Unit::Ratio),
        Column::of("yields", Unit::PerSecond),
        Column::of("naps", Unit::PerSecond),
        Column::of("futex calls", Unit::PerSecond),
        Column::of("switches", Unit::PerSecond),
    ]
}

fn row(report: &ThreadReport, several: bool) -> Vec<Cell> {
    let seen = &report.observed;
    let often = |count: u64, time: Nanos| (count > 0).then(|| rate(count, time));
    let called = |count: fn(&Calls) -> u64| {
        Cell::maybe(seen.calls.as_ref().and_then(|calls| often(count(calls), calls.watched)))
    };
    let worst = report.worst();
    let doubt = if worst.certainty == Certainty::Suspected { "?" } else { "" };
    let process = format!("{} {}", seen.owner.program, seen.owner.process);
    vec![
        Cell::maybe(several.then_some(process)),
        seen.name.as_str().into(),
        seen.thread.0.to_string().into(),
        format!("{}{doubt}", worst.kind.words()).into(),
        Cell::maybe(worst.kind.is_bad().then(|| report.wasted())),
        seen.cpu_share().into(),
        Cell::maybe(seen.ready_share()),
        called(|calls| calls.yields),
        called(|calls| calls.naps.count() + calls.empty_polls),
        called(|calls| calls.waits.woken + calls.waits.changed + calls.wakes),
        Cell::maybe(often(seen.voluntary + seen.involuntary, seen.watched)),
    ]
}

/// Diagnoses with evidence and remedy.
fn diagnoses(shown: &[ThreadReport], several: bool) -> Table {
    let columns = ["thread", "diagnosis", "seen", "to do"].map(Column::text);
    let mut table = Table::new("lock/doctor/diagnoses", "What is wrong, and what to do", columns);
    let unhealthy = |it: &&ThreadReport| it.worst().kind != DiagnosisKind::Fine;
    let unhealthy: Vec<&ThreadReport> = shown.iter().filter(unhealthy).collect();
    for alike in unhealthy.chunk_by(|one, other| signature(one) == signature(other)) {
        let [report, others @ ..] = alike else { continue };
        let who = who(report, others.len(), several);
        table = table.with_rows(report.diagnoses.iter().map(|it| diagnosis_row(&who, it)));
    }
    table
}

fn diagnosis_row(who: &str, diagnosis: &Diagnosis) -> [Cell; 4] {
    let doubt = if diagnosis.certainty == Certainty::Suspected { ", suspected" } else { "" };
    [
        who.into(),
        format!("{}{doubt}", diagnosis.kind.words()).into(),
        diagnosis.evidence.as_str().into(),
        Cell::maybe(diagnosis.action),
    ]
}

fn who(report: &ThreadReport, others: usize, several: bool) -> String {
    let seen = &report.observed;
    let process = || format!(" of process {} ({})", seen.owner.process, seen.owner.program);
    let of = if several { process() } else { String::new() };
    let more = if others > 0 { format!(", and {others} more like it") } else { String::new() };
    format!("{} ({}){of}{more}", seen.thread, seen.name)
}

/// Equal for threads that share a diagnosis row.
fn signature(report: &ThreadReport) -> (&str, Vec<DiagnosisKind>) {
    let numbered = |last: char| last.is_ascii_digit() || matches!(last, '-' | '#' | '_' | ' ');
    let name = report.observed.name.trim_end_matches(numbered);
    (name, report.diagnoses.iter().map(|it| it.kind).collect())
}
