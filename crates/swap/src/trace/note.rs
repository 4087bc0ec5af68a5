//! The summary of a read trace, as findings and as text.

use unjank_measure::{Cell, Column, Fact, Findings, Table, Unit};

use super::summary::{InputSummary, Summary};

impl InputSummary {
    /// The format, and whether it was guessed.
    pub fn format_in_words(&self) -> String {
        if self.is_guessed { format!("{} (guessed)", self.format) } else { self.format.to_string() }
    }
}

impl Summary {
    /// Each file's format, its number of events, and what was skipped. A guessed format is a
    /// warning.
    pub fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        findings.tables.push(self.table());
        for input in &self.inputs {
            let name = input.name.display().to_string();
            let fact = |what: &str, count: u64| {
                Fact::new(format!("swap/trace/{what}"), count as f64, Unit::Count)
                    .with_label("trace", &*name)
            };
            let guessed = if input.is_guessed { "yes" } else { "no" };
            let events = fact("events", input.events)
                .with_label("format", input.format.name())
                .with_label("guessed", guessed)
                .with_label("packing", input.packing);
            findings.facts.push(events);
            for skip in input.skipped.all() {
                findings.facts.push(fact("skipped", skip.count).with_label("reason", skip.reason));
            }
            if input.is_guessed {
                findings.warn(format!(
                    "{name} is read as {0}, which is a guess; confirm it with --format {0}, or \
                     name another format",
                    input.format
                ));
            }
        }
        findings
    }

    /// A row for each file: its format, its events, and what was skipped.
    fn table(&self) -> Table {
        let columns = [
            Column::text("trace"),
            Column::text("format"),
            Column::text("packing"),
            Column::of("events", Unit::Count),
            Column::text("skipped"),
        ];
        let rows = self.inputs.iter().map(|input| {
            let skips = input.skipped.all().iter();
            let skipped: Vec<String> =
                skips.map(|skip| format!("{}: {}", skip.count, skip.reason)).collect();
            let packing = Some(input.packing).filter(|packing| *packing != "none");
            [
                input.name.display().to_string().into(),
                input.format_in_words().into(),
                Cell::maybe(packing),
                Cell::number(input.events as f64),
                skipped.join("; ").into(),
            ]
        });
        Table::new("swap/trace/inputs", "What was read", columns).with_rows(rows)
    }
}
