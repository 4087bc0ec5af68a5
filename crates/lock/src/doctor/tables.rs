//! What people read of threads: a line for each, and what to do about those
//! that are not well.

use std::collections::BTreeSet;

use unjank_host::Nanos;
use unjank_measure::{Cell, Column, Table, Unit};

use super::diagnosis::{Certainty, Diagnosis, Kind};
use super::options::Options;
use super::patient::Patient;
use super::seen::{Calls, rate};

/// The first `top` threads, the most wasteful first, and their diagnoses; those
/// of threads that are alike are told once.
pub(super) fn tables(patients: &[Patient], options: &Options) -> Vec<Table> {
    let shown = &patients[..options.top.min(patients.len())];
    let processes: BTreeSet<u32> = patients.iter().map(|it| it.seen.owner.process).collect();
    let several = processes.len() > 1;
    let mut threads = Table::new("lock/doctor/threads", TITLE, columns())
        .with_rows(shown.iter().map(|patient| row(patient, several)));
    if patients.len() > shown.len() {
        let more = patients.len() - shown.len();
        threads = threads.with_note(format!("{more} more threads: --top shows them"));
    }
    vec![threads, diagnoses(shown, several)]
}

const TITLE: &str = "Threads, the most wasteful first";

/// The first one only where there are several processes.
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

fn row(patient: &Patient, several: bool) -> Vec<Cell> {
    let seen = &patient.seen;
    let often = |count: u64, time: Nanos| (count > 0).then(|| rate(count, time));
    let called = |count: fn(&Calls) -> u64| {
        Cell::maybe(seen.calls.as_ref().and_then(|calls| often(count(calls), calls.watched)))
    };
    let worst = patient.worst();
    let doubt = if worst.certainty == Certainty::Suspected { "?" } else { "" };
    let process = format!("{} {}", seen.owner.program, seen.owner.process);
    vec![
        Cell::maybe(several.then_some(process)),
        seen.name.as_str().into(),
        seen.thread.0.to_string().into(),
        format!("{}{doubt}", worst.kind.words()).into(),
        Cell::maybe(worst.kind.is_bad().then(|| patient.wasted())),
        seen.cpu_share().into(),
        Cell::maybe(seen.ready_share()),
        called(|calls| calls.yields),
        called(|calls| calls.naps.count() + calls.empty_polls),
        called(|calls| calls.waits.woken + calls.waits.changed + calls.wakes),
        Cell::maybe(often(seen.voluntary + seen.involuntary, seen.watched)),
    ]
}

/// What is wrong with threads, what tells it, and what to do.
fn diagnoses(shown: &[Patient], several: bool) -> Table {
    let columns = ["thread", "diagnosis", "seen", "to do"].map(Column::text);
    let mut table = Table::new("lock/doctor/diagnoses", "What is wrong, and what to do", columns);
    let unwell = |it: &&Patient| it.worst().kind != Kind::Fine;
    let unwell: Vec<&Patient> = shown.iter().filter(unwell).collect();
    for alike in unwell.chunk_by(|one, other| illness(one) == illness(other)) {
        let [patient, others @ ..] = alike else { continue };
        let who = who(patient, others.len(), several);
        table = table.with_rows(patient.diagnoses.iter().map(|it| told(&who, it)));
    }
    table
}

fn told(who: &str, diagnosis: &Diagnosis) -> [Cell; 4] {
    let doubt = if diagnosis.certainty == Certainty::Suspected { ", suspected" } else { "" };
    [
        who.into(),
        format!("{}{doubt}", diagnosis.kind.words()).into(),
        diagnosis.evidence.as_str().into(),
        Cell::maybe(diagnosis.action),
    ]
}

fn who(patient: &Patient, others: usize, several: bool) -> String {
    let seen = &patient.seen;
    let process = || format!(" of process {} ({})", seen.owner.process, seen.owner.program);
    let of = if several { process() } else { String::new() };
    let more = if others > 0 { format!(", and {others} more like it") } else { String::new() };
    format!("{} ({}){of}{more}", seen.thread, seen.name)
}

/// What threads have in common that are told of once.
fn illness(patient: &Patient) -> (&str, Vec<Kind>) {
    let numbered = |last: char| last.is_ascii_digit() || matches!(last, '-' | '#' | '_' | ' ');
    let name = patient.seen.name.trim_end_matches(numbered);
    (name, patient.diagnoses.iter().map(|it| it.kind).collect())
}
