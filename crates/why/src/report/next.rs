//! The table of commands that try the changes with a predicted saving.

use unjank_measure::record::{Cell as TableCell, Column, Table};

use super::about::{About, Remedy};
use super::shell;
use super::what_if::Saving;

/// The smallest saving that gets a command, as a share of the launch.
const SMALLEST: f64 = 0.01;

/// A row for each change that saves something, the best first, and one for the
/// page with the timeline; `None` without rows.
pub(super) fn table(savings: &[Saving], launches: usize, about: &About) -> Option<Table> {
    let columns = ["to try", "command"].map(Column::text);
    let mut table = Table::new("why/next", "What to type next", columns);
    let mut worth: Vec<&Saving> = savings
        .iter()
        .filter(|saving| saving.remedy.is_candidate() && saving.share >= SMALLEST)
        .collect();
    worth.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut row = |what: &str, command: Option<String>| {
        if let Some(command) = command {
            table.push([TableCell::from(what), command.into()]);
        }
    };
    for saving in &worth {
        row(saving.remedy.name(), about.next(saving.remedy));
    }
    if launches == 1 {
        row("more launches", about.next(Remedy::All));
    }
    row("the path over time", (!about.show.is_empty()).then(|| shell::line(&about.show)));
    if table.rows.is_empty() {
        return None;
    }
    let by_server = worth.iter().any(|saving| saving.remedy == Remedy::ServersFirst);
    let may_run_on = !about.command.is_empty() || about.process.is_some();
    if by_server && may_run_on && about.server.is_none() {
        table = table.with_note(
            "its server first in the run queue: there is no command for it, because none of the \
             threads that answered still runs",
        );
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn saving(remedy: Remedy, share: f64) -> Saving {
        let lengths = Vec::new();
        Saving { remedy, lengths, after: 1.0, after_spread: None, share, share_spread: None }
    }

    #[test]
    fn the_best_change_comes_first_and_useless_ones_are_left_out() {
        let savings = [
            saving(Remedy::Cached, 0.1),
            saving(Remedy::ProgramFirst, 0.3),
            saving(Remedy::SpunLocks, 0.001),
            saving(Remedy::All, 0.4),
        ];
        let command = ["git", "status"].map(OsString::from).to_vec();
        let show = ["unjank", "runs", "show", "last"].map(OsString::from).to_vec();
        let about = About { command, show, ..About::default() };
        let table = table(&savings, 1, &about).unwrap();
        let names: Vec<&TableCell> = table.rows.iter().map(|row| &row[0]).collect();
        let expected = [
            Remedy::ProgramFirst.name(),
            Remedy::Cached.name(),
            "more launches",
            "the path over time",
        ];
        assert_eq!(names, expected.map(TableCell::from).iter().collect::<Vec<_>>());
        assert!(table.notes.is_empty());
        assert!(super::table(&savings, 1, &About::default()).is_none());
        let served = [saving(Remedy::ServersFirst, 0.3)];
        let ended = super::table(&served, 1, &about).unwrap();
        assert_eq!((ended.rows.len(), ended.notes.len()), (2, 1));
        let runs = super::table(&served, 1, &About { server: Some(9), ..about }).unwrap();
        assert_eq!((runs.rows.len(), runs.notes.len()), (3, 0));
    }
}
