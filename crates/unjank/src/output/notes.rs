//! What stands below tables.

use unjank_measure::RunRecord;
use unjank_report::one_line;

/// What there is to know about a record beside its numbers.
pub(crate) fn notes(record: &RunRecord) -> Vec<String> {
    let mut lines = Vec::new();
    for missing in &record.findings.unsupported {
        lines.push(format!("{}: n/a ({})", missing.what, missing.reason));
    }
    if let Some(labels) = Some(record.labels.join(", ")).filter(|labels| !labels.is_empty()) {
        lines.push(format!("Labels: {labels}."));
    }
    lines.extend(record.findings.warnings.iter().map(|warning| format!("! {warning}")));
    lines.iter().map(|line| one_line(line).into_owned()).collect()
}
