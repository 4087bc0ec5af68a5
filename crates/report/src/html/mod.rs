//! The page: one file, no script, nothing fetched from anywhere.
//!
//! Every text goes through maud, which escapes it; texts from a record go
//! through [`visible`] as well. The page forbids
//! itself scripts and outside resources by a content security policy.

mod charts;
mod figure;
mod pareto_fronts;
mod header;
mod heat;
mod machine;
mod notes;
mod place;
mod side_by_side;
mod tables;
mod verdicts;
mod views;

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use unjank_measure::RunRecord;

use crate::headline::headline;
use crate::html::place::Place;
use crate::visible::visible;
use crate::words::counted;

const STYLE: &str = include_str!("page.css");

/// Nothing may run, and nothing may be fetched.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// One page for one or several runs: self-contained, without script, for
/// light and dark screens, phones and paper. Its size is bounded: curves are
/// thinned to what can be seen, and the longest tables are cut, saying so.
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
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    @if let [only] = records {
                        (header::of_one(only))
                        (run(only, &Place { level: 2, prefix: String::new() }))
                    } @else {
                        (header::of_several(records, &title))
                        (side_by_side::section(records))
                        @for (index, record) in records.iter().enumerate() {
                            @let place = Place { level: 3, prefix: format!("run-{}-", index + 1) };
                            article id={ "run-" (index + 1) } {
                                (header::of_article(record, index + 1))
                                (run(record, &place))
                            }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}

/// Everything about one run but its title.
fn run(record: &RunRecord, place: &Place) -> Markup {
    let parts = [
        verdicts::section(record, place),
        views::sections(record, place),
        charts::sections(record, place),
        tables::worst_samples(record, place),
        tables::series(record, place),
        tables::facts(record, place),
        machine::section(record, place),
        notes::changes(record, place),
        notes::warnings(record, place),
        notes::unsupported(record, place),
        notes::settings(record, place),
        notes::method(record, place),
    ];
    markup! { @for part in parts { (part) } }
}
