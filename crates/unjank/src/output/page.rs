//! Text in sections for a terminal.

use std::fmt::Display;

use comfy_table::{Table, presets};
use unjank_report::one_line;

/// The column of a fact's value.
const VALUE: usize = 18;

/// A text that is built section by section: a heading, then facts (a name and a
/// value) and tables.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    width: usize,
    /// Whether the last line is a heading.
    headed: bool,
}

impl Page {
    /// An empty page, `width` columns wide.
    pub(crate) fn new(width: usize) -> Self {
        Self { text: String::new(), width, headed: false }
    }

    /// A single line; line ends in `text` are escaped.
    pub(crate) fn line(&mut self, text: &str) {
        self.text.push_str(&one_line(text));
        self.text.push('\n');
        self.headed = false;
    }

    /// A heading, with an empty line before it.
    pub(crate) fn section(&mut self, heading: &str) {
        self.line("");
        self.line(heading);
        self.headed = true;
    }

    /// A name and a value. Long values are wrapped within their column.
    pub(crate) fn fact(&mut self, name: &str, value: impl Display) {
        self.fact_at(VALUE, name, &value.to_string());
    }

    /// Several facts, with a column wide enough for the longest name.
    pub(crate) fn facts<'fact>(
        &mut self,
        facts: impl Iterator<Item = (&'fact str, &'fact str)> + Clone,
    ) {
        let longest = facts.clone().map(|(name, _)| name.chars().count()).max();
        let column = longest.map_or(VALUE, |longest| (longest + 4).max(VALUE));
        for (name, value) in facts {
            self.fact_at(column, name, value);
        }
    }

    fn fact_at(&mut self, column: usize, name: &str, value: &str) {
        let room = self.width.saturating_sub(column).max(20);
        let mut name = format!("  {name}");
        for line in wrapped(value, room) {
            // At least two spaces follow a name that fills its column.
            let gap = column.saturating_sub(name.chars().count()).max(2);
            self.line(&format!("{name}{:gap$}{line}", ""));
            name.clear();
        }
    }

    /// A table, after an empty line unless it follows a heading. Empty columns
    /// are omitted.
    pub(crate) fn table(&mut self, headings: &[&str], rows: &[Vec<String>]) {
        let used: Vec<usize> = (0..headings.len())
            .filter(|&column| {
                rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.is_empty()))
            })
            .collect();
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(used.iter().map(|&column| headings[column]));
        for row in rows {
            table.add_row(
                used.iter().map(|&at| row.get(at).map_or("".into(), |cell| one_line(cell))),
            );
        }
        if !self.headed {
            self.line("");
        }
        for line in table.lines() {
            self.line(&format!(" {}", line.trim_end()));
        }
    }

    /// The whole text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Wraps `text` into lines of at most `room` characters. A longer word gets its
/// own line.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_wrapped_within_their_column() {
        let mut page = Page::new(40);
        page.section("Kernel");
        page.fact("boot", "isolcpus=2,3 nohz_full=2,3 mitigations=off");
        page.fact("a name that is long", "x");
        assert_eq!(
            page.finish(),
            "\nKernel\n\
             \x20 boot            isolcpus=2,3\n\
             \x20                 nohz_full=2,3\n\
             \x20                 mitigations=off\n\
             \x20 a name that is long  x\n"
        );
    }

    #[test]
    fn long_names_make_their_column_wide() {
        let mut page = Page::new(80);
        page.facts([("a", "x"), ("cpu.cpus.last_level_cache", "y")].into_iter());
        assert_eq!(page.finish(), format!("  a{:26}x\n  cpu.cpus.last_level_cache  y\n", ""));
    }

    #[test]
    fn empty_columns_are_omitted() {
        let mut page = Page::new(80);
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["0-3", "", "walt"]), row(["4", "", "performance"])];
        page.section("CPU");
        page.table(&["CPUs", "design", "governor"], &rows);
        assert_eq!(page.finish(), "\nCPU\n  CPUs  governor\n  0-3   walt\n  4     performance\n");
    }
}
