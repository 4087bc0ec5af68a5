//! One record as tables for a terminal.

mod layout;
mod notes;
mod paint;
mod tables;
mod verdicts;
mod views;

use unjank_measure::RunRecord;

use crate::document::document;
use crate::headline::headline;
use crate::layout::{EVERYTHING, Part, parts};
use crate::machine;
use crate::visible::visible;
use crate::words;
use layout::paragraph;
use paint::{Paint, resolve};

/// How to print a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Columns; at least 40 are used.
    pub width: usize,
    /// Whether to print escapes for colours. The text is the same without them.
    pub colour: bool,
    /// Whether to print all parts of the record, not only those that its command prints.
    pub all: bool,
}

/// The longest line of prose, on any terminal.
const PROSE: usize = 100;

/// The text of `record`: first its answers, then its tables and, for some commands,
/// series, curves, worst samples, facts and changes; at the end warnings and missing
/// measurements. Control characters in the record are escaped. Commands are not wrapped,
/// so they can be copied. A command that prints another program's format has that.
pub fn terminal(record: &RunRecord, style: &TerminalStyle) -> String {
    if let Some(document) = document(record).filter(|_| !style.all) {
        return document;
    }
    let width = style.width.clamp(40, 250);
    let prose = width.min(PROSE);
    let headline = headline(std::slice::from_ref(record));
    let verdicts = verdicts::block(&record.findings.verdicts, &headline, width, prose);
    let mut blocks = vec![head(record, &headline, prose), verdicts];
    blocks.extend(views::tables(record, prose));
    let parts = if style.all { EVERYTHING } else { parts(record) };
    blocks.extend(parts.iter().map(|part| match part {
        Part::Series => tables::series(record, width),
        Part::Curves => tables::curves(record, width),
        Part::HeatMaps => Vec::new(),
        Part::WorstSamples => tables::worst_samples(record, width),
        Part::Facts => tables::facts(record, width),
        Part::Changes => notes::changes(record, prose),
    }));
    blocks.extend([notes::warnings(record, prose), notes::unsupported(record, prose)]);
    let blocks: Vec<String> =
        blocks.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    resolve(&blocks.join("\n\n"), style.colour)
}

/// Command, labels, headline, machine.
fn head(record: &RunRecord, headline: &str, width: usize) -> Vec<String> {
    let mut title = Paint::Strong.on(&format!("unjank {}", visible(&record.command)));
    for label in &record.labels {
        title.push(' ');
        title.push_str(&Paint::Open.on(&format!("[{}]", visible(label))));
    }
    let mut lines = paragraph(0, &title, width);
    let findings = &record.findings;
    let has_answer = findings.headline.is_some() || !findings.verdicts.is_empty();
    // Without an answer, the tables show what was measured.
    if has_answer || (findings.series.is_empty() && findings.facts.is_empty()) {
        lines.extend(paragraph(0, headline, width));
    }
    let run = format!(
        "{} · took {} · run {}",
        visible(&record.started_at),
        words::duration(record.elapsed),
        visible(&record.id)
    );
    for about in machine::in_brief(&record.host).into_iter().chain([run]) {
        lines.extend(paragraph(0, &Paint::Soft.on(&about), width));
    }
    for label in &record.labels {
        if let Some(meaning) = words::label_meaning(label) {
            lines.extend(paragraph(0, &Paint::Open.on(&format!("{label}: {meaning}")), width));
        }
    }
    lines
}
