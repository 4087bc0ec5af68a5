//! The parts of a record between answers and warnings: detail first, then facts, in the same
//! order on a terminal, in Markdown and on a page.

use serde_json::Value;
use unjank_measure::{Fact, RunRecord};

use crate::views::is_short;

/// A part of a record beside answers and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Distributions; on a page with the charts of everything.
    Series,
    /// The ends of curves; charts on a page.
    Curves,
    /// Curves as maps, where a cell can have a colour or a mark; on a terminal they are curves.
    HeatMaps,
    /// The worst samples and their causes.
    WorstSamples,
    /// Single numbers.
    Facts,
    /// Changes for the time of the run.
    Changes,
}

/// All parts, in order.
pub(crate) const EVERYTHING: &[Part] =
    &[Part::Series, Part::Curves, Part::HeatMaps, Part::WorstSamples, Part::Facts, Part::Changes];

/// The parts that the terminal prints of `record`, in this order. Records of former
/// versions, which have no tables, are printed in full.
pub(crate) fn parts(record: &RunRecord) -> &'static [Part] {
    let command = record.command.as_str();
    let says_enough = !record.findings.tables.is_empty() || command == "checkup";
    let is_set = |name| record.settings.get(name) == Some(&Value::Bool(true));
    // Former records have the former name.
    let asked = command == "checkup" && (is_set("all") || is_set("tables"));
    if is_short(record) && says_enough && !asked { &[] } else { EVERYTHING }
}

/// The facts of `record`; those about the clock come last.
pub(crate) fn facts(record: &RunRecord) -> impl Iterator<Item = &Fact> {
    let facts = &record.findings.facts;
    let of_instruments = |fact: &&Fact| fact.name.starts_with("clock/");
    facts
        .iter()
        .filter(move |fact| !of_instruments(fact))
        .chain(facts.iter().filter(of_instruments))
}
