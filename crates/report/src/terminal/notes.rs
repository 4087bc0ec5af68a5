//! Changes, warnings and missing measurements.

use unjank_measure::RunRecord;

use super::layout::{Column, columns, paragraph};
use super::paint::{Paint, heading};
use crate::visible::visible;
use crate::words::{PutBack, put_back};

/// Changes for the time of the run.
pub(super) fn changes(record: &RunRecord, width: usize) -> Vec<String> {
    let changes = &record.findings.changes;
    if changes.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading("Changed for the run")];
    for change in changes {
        let after = put_back(change);
        let paint = if after == PutBack::Yes { Paint::Soft } else { Paint::Open };
        let after = paint.on(&after.words(change));
        let (knob, before, during) =
            (visible(&change.knob), visible(&change.before), visible(&change.during));
        lines.extend(paragraph(2, &format!("{knob}: {before} → {during}, {after}"), width));
    }
    lines
}

pub(super) fn warnings(record: &RunRecord, width: usize) -> Vec<String> {
    let warnings = &record.findings.warnings;
    if warnings.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Paint::Open.on("Warnings")];
    let rows: Vec<Vec<String>> = warnings
        .iter()
        .map(|warning| vec![Paint::Open.on("!"), visible(warning).into_owned()])
        .collect();
    lines.extend(columns(&[Column::Fixed(1), Column::Text], &rows, width));
    lines
}

/// Missing measurements with their reasons.
pub(super) fn unsupported(record: &RunRecord, width: usize) -> Vec<String> {
    let unsupported = &record.findings.unsupported;
    if unsupported.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading("Not measured")];
    for missing in unsupported {
        let (what, reason) = (visible(&missing.what), visible(&missing.reason));
        lines.extend(paragraph(2, &format!("{what}: n/a ({reason})"), width));
    }
    lines
}
