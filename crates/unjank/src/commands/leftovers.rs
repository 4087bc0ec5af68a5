//! What is said of changes that an unjank has left, and the exit code for them.

use std::path::Path;

use unjank_host::journal::{FoundJournal, JournalStatus, Obstacle, RestoreOutcome};

use crate::exit;

/// The exit code for changes that ended so, and for what `is_damaged` and of
/// which nothing more is known.
pub(super) fn code_of<'a>(
    outcomes: impl Iterator<Item = &'a RestoreOutcome>,
    is_damaged: bool,
) -> u8 {
    let obstacles: Vec<Obstacle> = outcomes.filter_map(RestoreOutcome::obstacle).collect();
    if obstacles.contains(&Obstacle::Permission) {
        exit::PERMISSION
    } else if is_damaged || obstacles.iter().any(|obstacle| *obstacle != Obstacle::Hidden) {
        exit::FAILURE
    } else if obstacles.contains(&Obstacle::Hidden) {
        exit::UNSUPPORTED
    } else {
        exit::FINE
    }
}

/// What cannot be known of changes, if `lines` of the file about them are damaged.
pub(super) fn damage(lines: &[usize], file: &Path) -> Option<String> {
    let numbers: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    (!lines.is_empty()).then(|| {
        format!(
            "{noun} {} of {} cannot be read (damaged), so more may be changed; removing the file \
             gives it up",
            numbers.join(", "),
            file.display()
        )
    })
}

/// What a session that begins says of journals that it cannot use.
pub(super) fn unusable(found: &[FoundJournal]) -> Vec<String> {
    let told = |journal: &FoundJournal| match &journal.status {
        JournalStatus::Unreadable { reason } => {
            Some(format!("the journal {} is not usable: {reason}", journal.file.display()))
        }
        _ => damage(&journal.damaged, &journal.file),
    };
    let told = found.iter().filter_map(told);
    told.map(|told| format!("left by an earlier unjank: {told}")).collect()
}
