//! Renders run records as an HTML page, as Markdown and as terminal tables.
//!
//! This crate knows only the run record: neither how its numbers were taken, nor where
//! the text goes. Text in a record, such as thread names and paths, is treated as
//! hostile: it is shown and has no effect.
//!
//! | module | subject |
//! |---|---|
//! | [`html`](html()) | one or several records as a self-contained page with SVG charts |
//! | [`pictures`] | the charts of a record as SVG files |
//! | [`markdown`](markdown()) | one record as tables for an issue tracker |
//! | [`terminal`](terminal()) | one record as tables for a terminal |
//! | [`remarks`](remarks()) | parts of a record that another program's format cannot hold |
//! | `headline`, `words`, `machine` | texts that all three share |
//! | `document` | a record in the output format of another program |
//! | `delay`, `group`, `limit`, `names`, `samples` | grouping and naming of series, facts and samples |
//! | `views` | which view a command and a table have |
//! | `layout`, `table` | parts of a record, texts of cells |
//! | `heat` | curves as rows of a heat map |
//! | `timeline` | a critical path over time |
//! | `chart` | scales, labels, curves: SVG without colours |
//! | `title` | titles of charts in words |
//! | `tone` | the tone of an answer, good or bad, with its sign |
//! | `visible` | escapes text from a record |

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
mod timeline;
mod title;
mod tone;
mod views;
mod visible;
mod words;

pub use document::remarks;
pub use html::{Picture, html, pictures};
pub use markdown::markdown;
pub use terminal::{TerminalStyle, terminal};
pub use visible::{coloured_lines, json, lines, one_line, visible};
