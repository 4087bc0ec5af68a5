//! What was read, as findings and for a reader.

use unjank_measure::{Fact, Findings, Unit};

use super::summary::{InputSummary, Summary};

impl InputSummary {
    /// The format, and whether it was guessed.
    pub fn format_in_words(&self) -> String {
        if self.is_guessed { format!("{} (guessed)", self.format) } else { self.format.to_string() }
    }
}

impl Summary {
    /// How many events each file has, in which format, and how much of it makes none. A format
    /// that was guessed is a warning.
    pub fn findings(&self) -> Findings {
        let mut findings = Findings::default();
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
                    "{name} is read as {0}, which is a guess; --format {0} says so, or another one",
                    input.format
                ));
            }
        }
        findings
    }
}
