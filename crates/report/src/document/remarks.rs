//! Remarks: the parts of a record that another program's format has no place for.

use unjank_measure::{Cell, RunRecord};

use super::cells::{rows, text};
use super::document;
use crate::terminal::TerminalStyle;

/// The lines that belong on standard error beside the text of [`terminal`](crate::terminal()),
/// if that is in the format of another program: threads, missing measurements, answers,
/// causes of late samples, and warnings. None otherwise, as the text has all of them.
pub fn remarks(record: &RunRecord, style: &TerminalStyle) -> Vec<String> {
    if style.all || document(record).is_none() {
        return Vec::new();
    }
    let findings = &record.findings;
    let threads = rows(record, "ipc/latency/threads").iter().map(|row| thread(row));
    let missing = findings.unsupported.iter().map(|it| format!("{}: {}", it.what, it.reason));
    let answers = findings.verdicts.iter().map(|verdict| verdict.reason.clone());
    let causes = findings.outliers.iter().filter_map(|outlier| outlier.cause.as_ref());
    let causes = causes.map(|cause| format!("cause of the missed deadline: {cause}"));
    let warnings = findings.warnings.iter().map(|warning| format!("warning: {warning}"));
    threads.chain(missing).chain(answers).chain(causes).chain(warnings).collect()
}

/// `unix P1 server: pid 77, tid 78, cpu 1, SCHED_OTHER 0, effective priority -81`.
fn thread(row: &[Cell]) -> String {
    let [transport, pair, role, process, thread, cpu, policy, effective] =
        [0, 1, 2, 3, 4, 5, 6, 7].map(|at| text(row, at));
    format!(
        "{transport} P{pair} {role}: pid {process}, tid {thread}, cpu {cpu}, {policy}, effective \
         priority {effective}"
    )
}
