//! Run records for people: one HTML page, Markdown, terminal tables.
//!
//! This crate knows the run record and nothing else: not how its numbers were
//! taken, nor where the text goes. Whatever a record says is treated as
//! hostile: thread names and paths are shown and never acted on.
//!
//! | module | subject |
//! |---|---|
//! | [`html`](html()) | one or several records as a self-contained page with SVG charts |
//! | [`markdown`](markdown()) | one record as tables for an issue tracker |
//! | [`terminal`](terminal()) | one record as tables for a terminal |
//! | `headline`, `words`, `machine` | what all three say in the same words |
//! | `document` | a record in the form of another program's output |
//! | `delay`, `group`, `limit`, `names`, `samples` | what belongs together, and how it is called |
//! | `layout`, `table` | which view a record and its tables get, and what stands in a cell |
//! | `heat` | curves as rows of a heat map |
//! | `chart` | scales, labels, curves: SVG without colours of its own |
//! | `visible` | text from a record, made harmless |

mod chart;
mod delay;
mod document;
mod group;
mod headline;
mod heat;
mod html;
mod layout;
mod limit;
mod machine;
mod markdown;
mod names;
mod samples;
mod table;
mod terminal;
mod visible;
mod words;

pub use html::html;
pub use markdown::markdown;
pub use terminal::{TerminalStyle, terminal};
pub use visible::{coloured_lines, json, lines, one_line, visible};
