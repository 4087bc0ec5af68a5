//! Records changed knobs in the findings.

use unjank_host::journal::ChangeReport;
use unjank_measure::Findings;
use unjank_measure::record::Change;

/// Adds each distinct change once, and a warning for each that was not restored.
pub(crate) fn note_changes(reports: Vec<ChangeReport>, findings: &mut Findings) {
    for report in reports {
        if report.outcome.is_failure() {
            findings.warn(report.to_string());
        }
        let change = Change {
            knob: report.path,
            before: report.before,
            during: report.during,
            after: report.after,
        };
        if !findings.changes.contains(&change) {
            findings.changes.push(change);
        }
    }
}
