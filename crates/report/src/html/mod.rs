//! The page: one file, without scripts and external resources.
//!
//! Every text goes through maud, which escapes it; texts from a record go through
//! [`visible`] as well. A content security policy of the page forbids scripts and
//! external resources.

mod charts;
mod figure;
mod header;
mod heat;
mod machine;
mod notes;
mod outline;
mod pareto_fronts;
mod picture;
mod side_by_side;
mod tables;
mod timeline;
mod verdicts;
mod views;

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use unjank_measure::RunRecord;

use crate::headline::headline;
pub use picture::{Picture, pictures};

use crate::html::outline::Outline;
use crate::layout::{EVERYTHING, Part};
use crate::visible::visible;
use crate::words::counted;

/// Colours, and what charts look like, also outside of the page.
const CHART_STYLE: &str = include_str!("chart.css");
const STYLE: &str = include_str!("page.css");

/// Forbids scripts and fetches.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// One page for one or several runs: self-contained, without scripts, for light and
/// dark screens, phones and paper. Its size is bounded: curves keep only visible detail,
/// and long tables are cut, with a note.
pub fn html(records: &[RunRecord]) -> String {
    let title = match records {
        [] => "no run".to_owned(),
        [only] => visible(&only.command).into_owned(),
        several => counted(several.len(), "run", "runs"),
    };
    let page = markup! {
        (DOCTYPE)
        html lang="en-GB" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="unjank";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "unjank " (title) " – " (headline(records)) }
                style { (PreEscaped(CHART_STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                main {
                    @if let [only] = records {
                        (header::of_one(only))
                        (run(only, &Outline { level: 2, prefix: String::new() }))
                    } @else {
                        (header::of_several(records, &title))
                        (side_by_side::section(records))
                        @for (index, record) in records.iter().enumerate() {
                            @let outline = Outline { level: 3, prefix: format!("run-{}-", index + 1) };
                            article id={ "run-" (index + 1) } {
                                (header::of_article(record, index + 1))
                                (run(record, &outline))
                            }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}

/// All sections of one run.
fn run(record: &RunRecord, outline: &Outline) -> Markup {
    let part = |part: &Part| match part {
        Part::Series => markup! {
            (charts::sections(record, outline))
            (tables::series(record, outline))
        },
        // They are among the charts.
        Part::Curves | Part::HeatMaps => Markup::default(),
        Part::WorstSamples => tables::worst_samples(record, outline),
        Part::Facts => tables::facts(record, outline),
        Part::Changes => notes::changes(record, outline),
    };
    let end = [
        notes::warnings(record, outline),
        notes::unsupported(record, outline),
        machine::section(record, outline),
        notes::settings(record, outline),
        notes::method(record, outline),
    ];
    markup! {
        (verdicts::section(record, outline))
        (views::sections(record, outline))
        @for part in EVERYTHING.iter().map(part) { (part) }
        @for section in end { (section) }
    }
}
