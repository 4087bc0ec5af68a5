//! Messages and exit codes for changes that an earlier unjank has left.

use std::path::Path;

use unjank_host::journal::{FoundJournal, JournalStatus, Obstacle, RestoreOutcome};

use crate::exit;

/// The exit code for changes with these outcomes; `is_damaged` if a journal is
/// damaged or unusable.
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

/// The message about damaged `lines` of a journal, if there are any.
pub(super) fn damage(lines: &[usize], file: &Path) -> Option<String> {
    let numbers: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    (!lines.is_empty()).then(|| {
        format!(
            "{noun} {} of {} cannot be read (damaged), so more may be changed; remove the file to \
             give that up",
            numbers.join(", "),
            file.display()
        )
    })
}

/// The messages of a new session about journals that it cannot use.
pub(super) fn unusable(found: &[FoundJournal]) -> Vec<String> {
    let problem = |journal: &FoundJournal| match &journal.status {
        JournalStatus::Unreadable { reason } => {
            Some(format!("the journal {} is not usable: {reason}", journal.file.display()))
        }
        _ => damage(&journal.damaged, &journal.file),
    };
    let problems = found.iter().filter_map(problem);
    problems.map(|problem| format!("left by an earlier unjank: {problem}")).collect()
}
