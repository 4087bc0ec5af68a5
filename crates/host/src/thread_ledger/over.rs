//! Changes that are over, although their ledgers may not say so: those of a dry run, and those that
//! could not be recorded.

use std::collections::BTreeMap;

use super::contents::Contents;
use super::entry::Entry;

/// What would be recorded in the ledgers of a state directory, by name.
#[derive(Debug, Default)]
pub(super) struct Over(BTreeMap<String, Vec<Entry>>);

impl Over {
    pub(super) fn add(&mut self, name: &str, entries: Vec<Entry>) {
        self.0.entry(name.to_owned()).or_default().extend(entries);
    }

    /// Removes these changes from the contents of the ledger `name`.
    pub(super) fn remove_from(&self, name: &str, contents: &mut Contents) {
        for entry in self.0.get(name).into_iter().flatten() {
            // What the ledger itself no longer holds is over as well.
            let _already_over = contents.apply(entry);
        }
    }
}
