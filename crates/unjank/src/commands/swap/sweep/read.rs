//! Warnings and facts about the traces of a sweep.

use std::collections::BTreeMap;

use unjank_measure::Findings;
use unjank_swap::trace::Summary;

use super::super::input::Source;
use crate::exit;

/// The maximum number of traces that a warning names.
const NAMED: usize = 5;

/// Warnings and facts of all traces.
#[derive(Debug, Default)]
pub(super) struct Read {
    warnings: Vec<String>,
    /// Names of traces by their guessed format.
    guessed: BTreeMap<&'static str, Vec<String>>,
    findings: Findings,
    /// How many traces could not be read or simulated.
    failed: usize,
}

impl Read {
    /// Notes the summary of a trace.
    pub(super) fn take(&mut self, source: &Source, summary: &Summary) {
        for input in summary.inputs.iter().filter(|input| input.is_guessed) {
            self.guessed.entry(input.format.name()).or_default().push(source.name());
        }
        self.findings.facts.extend(summary.findings().facts);
    }

    /// Notes warnings about a trace.
    pub(super) fn warn(&mut self, source: &Source, warnings: impl Iterator<Item = String>) {
        self.warnings.extend(warnings.map(|text| format!("{}: {text}", source.name())));
    }

    /// Notes a trace that cannot be read or simulated.
    pub(super) fn fail(&mut self, source: &Source, error: &anyhow::Error) {
        self.failed += 1;
        let name = source.name();
        let why = exit::sentence(error);
        self.warnings.push(if why.contains(&name) { why } else { format!("{name}: {why}") });
    }

    /// How many traces could not be read or simulated.
    pub(super) fn failed(&self) -> usize {
        self.failed
    }

    /// All warnings in one line.
    pub(super) fn reasons(&self) -> String {
        self.warnings.join("; ")
    }

    /// Adds everything to the findings of the sweep.
    pub(super) fn note(self, findings: &mut Findings) {
        findings.merge(self.findings);
        for (format, names) in self.guessed {
            let named = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let more = match names.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            findings.warn(format!(
                "{named}{more}: read as {format}, which is a guess; confirm it with --format \
                 {format}, or name another format"
            ));
        }
        findings.warnings.extend(self.warnings);
        if self.failed > 0 {
            let traces = if self.failed == 1 { "trace is" } else { "traces are" };
            findings.warn(format!("{} {traces} left out, for the reason above", self.failed));
        }
    }
}
