//! Changes that a command leaves in place, and takes back later.

use std::path::Path;
use std::time::Instant;

use super::content::Journal;
use super::file::{Claim, JournalFile};
use super::ledger::Held;
use super::site::Site;
use super::stale::{FoundJournal, claim, clear, holder};
use super::state_dir::StateDir;
use super::undo::Mode;
use crate::error::{Error, Result};
use crate::root::Root;

/// The changes that the command `by` has left in place on the machine below `root`, oldest first.
///
/// # Errors
/// The state directory exists but cannot be used.
pub fn kept(root: &Root, state_dir: &Path, by: &str) -> Result<Vec<Held>> {
    let mut all = Vec::new();
    each(root, state_dir, by, |_, _, _, _, journal| {
        all.extend_from_slice(journal.ledger.held());
        Ok(())
    })?;
    Ok(all)
}

/// Takes back what the command `by` has left in place.
///
/// # Errors
/// The state directory exists but cannot be used; `Busy` if a session of another process has changed
/// the same knobs since. Failures of single changes are part of the result.
pub fn undo_kept(root: &Root, state_dir: &Path, by: &str) -> Result<Vec<FoundJournal>> {
    let mut all = Vec::new();
    each(root, state_dir, by, |site, state, file, bytes, journal| {
        let paths: Vec<&str> = journal.ledger.held().iter().map(|held| &*held.path).collect();
        if let Some(reason) = holder(site, state, file.name(), &paths)? {
            return Err(Error::Busy(reason));
        }
        all.push(clear(site, state, file, bytes, Mode::Act, Some(by)));
        Ok(())
    })?;
    Ok(all)
}

/// Calls `each` with the journals on this machine that `by` has kept.
fn each(
    root: &Root,
    state_dir: &Path,
    by: &str,
    mut each: impl FnMut(&Site, &StateDir, JournalFile, &[u8], &Journal) -> Result<()>,
) -> Result<()> {
    let Some(state) = StateDir::open_if_there(state_dir)? else { return Ok(()) };
    let site = Site::of(root)?;
    let _lock = state.lock()?;
    let began = Instant::now();
    for name in state.journals()? {
        // Those of live sessions are not kept, and damaged ones are reported by others.
        let Ok(Claim::Ours(file, bytes)) = claim(&state, &name, began) else { continue };
        let Ok(journal) = Journal::parse(&state.journal_path(&name), &bytes) else { continue };
        let is_here = journal.header.as_ref().is_some_and(|header| {
            header.root == site.root_name()
                && site.is_another_boot(header.boot_id.as_deref()) != Ok(true)
        });
        if is_here && journal.ledger.kept_by() == Some(by) {
            each(&site, &state, file, &bytes, &journal)?;
        }
    }
    Ok(())
}
