//! Calibration: the accuracy of earlier predictions, from the runs in the store.

use anyhow::Result;
use unjank_host::{Error, Machine, Root};
use unjank_measure::store::{Filter, Selector};
use unjank_measure::{Findings, Store};
use unjank_why::report::{self, Proved};

use crate::commands::measured::{INTERRUPTED, OutputArgs};
use crate::commands::storing;

/// The outcomes of all stored runs of `unjank why --prove` on this machine, the newest first. As for
/// a stored `lock probe`, kernel, processor, governors and idle states must be the same.
///
/// # Errors
/// `Invalid` without a store.
pub(super) fn read(output: &OutputArgs, root: &Root) -> Result<Findings> {
    let Some(path) = storing::store_path(output.store.as_deref()) else {
        return Err(Error::Invalid("there is no store of runs".to_owned()).into());
    };
    let mut findings = Findings::default();
    let mut outcomes = Vec::new();
    if path.exists() {
        let store = Store::open(&path)?;
        let filter = Filter { command: Some("why".to_owned()), ..Filter::default() };
        let own = Machine::read(root).summary();
        for entry in store.list(&filter)?.into_iter().filter(|run| run.host == own) {
            match store.get(&Selector::Prefix(entry.id.clone())) {
                Ok(record) if record.labels.iter().any(|label| label == INTERRUPTED) => {}
                Ok(record) => outcomes.extend(Proved::of(&record)),
                Err(error) => findings.warn(format!("{}: {error}", entry.id)),
            }
        }
    }
    findings.merge(report::calibration(&outcomes));
    Ok(findings)
}
