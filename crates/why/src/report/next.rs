//! The commands that try what the predictions promise.

use unjank_measure::record::{Cell as TableCell, Column, Table};

use super::about::{About, Remedy};
use super::what_if::Saving;

/// The smallest saving with a command.
const SMALLEST: f64 = 0.01;

/// A row for each change that saves something, the best first, and one for the
/// page with the timeline; `None` without rows.
pub(super) fn table(savings: &[Saving], launches: usize, about: &About) -> Option<Table> {
    let columns = ["to try", "command"].map(Column::text);
    let mut table = Table::new("why/next", "What to type next", columns);
    let mut worth: Vec<&Saving> = savings
        .iter()
        .filter(|saving| saving.remedy != Remedy::All && saving.share >= SMALLEST)
        .collect();
    worth.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut row = |what: &str, command: Option<String>| {
        if let Some(command) = command {
            table.push([TableCell::from(what), command.into()]);
        }
    };
    for saving in worth {
        row(saving.remedy.name(), about.next(saving.remedy));
    }
    if launches == 1 {
        row("more launches", about.next(Remedy::All));
    }
    row(
        "the path over time",
        about.stored.then(|| "unjank runs show last --html why.html".to_owned()),
    );
    (!table.rows.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saving(remedy: Remedy, share: f64) -> Saving {
        Saving { remedy, after: 1.0, after_spread: None, share, share_spread: None }
    }

    #[test]
    fn the_best_change_comes_first_and_useless_ones_are_left_out() {
        let savings = [
            saving(Remedy::Cached, 0.1),
            saving(Remedy::ProgramFirst, 0.3),
            saving(Remedy::SpunLocks, 0.001),
            saving(Remedy::All, 0.4),
        ];
        let command = vec!["git".to_owned(), "status".to_owned()];
        let about = About { command, stored: true, ..About::default() };
        let table = table(&savings, 1, &about).unwrap();
        let names: Vec<&TableCell> = table.rows.iter().map(|row| &row[0]).collect();
        let expected = [
            Remedy::ProgramFirst.name(),
            Remedy::Cached.name(),
            "more launches",
            "the path over time",
        ];
        assert_eq!(names, expected.map(TableCell::from).iter().collect::<Vec<_>>());
        assert!(super::table(&savings, 1, &About::default()).is_none());
    }
}
