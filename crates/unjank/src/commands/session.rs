//! The session of changes that a command makes: opened with a keeper, ended before anything is
//! reported, and noted in the record.

use std::path::Path;

use anyhow::{Context as _, Result};
use unjank_host::Root;
use unjank_host::journal::{ChangeReport, Session};
use unjank_measure::Findings;
use unjank_measure::record::Change;

use super::keeper;
use crate::{output, paths};

/// Opens a session, which journals in `state_dir`, or else in the usual place.
pub(crate) fn open(root: &Root, state_dir: Option<&Path>) -> Result<Session> {
    let state_dir = state_dir.map_or_else(paths::journal, |named| Ok(named.to_owned()))?;
    Session::open(root, &state_dir, keeper::command(&state_dir))
        .context("while opening the journal of changes")
}

/// Restores everything, also if the measurement failed. What could not be restored is then printed,
/// because there is no record to note it in.
pub(crate) fn end<T, E: Into<anyhow::Error>>(
    session: Option<Session>,
    measured: Result<T, E>,
) -> Result<(T, Vec<ChangeReport>)> {
    let reports = session.map(Session::finish).unwrap_or_default();
    match measured {
        Ok(measured) => Ok((measured, reports)),
        Err(error) => {
            for report in reports.iter().filter(|report| report.outcome.is_failure()) {
                output::remark(&report.to_string());
            }
            Err(error.into())
        }
    }
}

/// Adds each distinct change once, and a warning for each that was not restored.
pub(crate) fn note(reports: Vec<ChangeReport>, findings: &mut Findings) {
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
