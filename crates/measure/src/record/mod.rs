//! The run record, `"schema": "unjank.run/2"`: one JSON document per run, in
//! the same form for every command. `docs/run.schema.json` describes it.

mod answer;
mod check;
mod curve;
mod direction;
mod fact;
mod outlier;
pub(crate) mod packed;
mod read;
mod run;
mod series;
mod start;
mod table;
mod unit;
mod verdict;

pub use answer::Answer;
pub use curve::{Axis, Curve, Point};
pub use direction::Direction;
pub use fact::{Change, Fact, Pooling};
pub use outlier::Outlier;
pub use run::{RunRecord, SCHEMA, Tool};
pub use series::{Percentile, QUANTILES, Repetition, SeriesRecord, Slice, Summary};
pub use start::{Run, Start};
pub use table::{Cell, Column, Mark, Number, Table};
pub use unit::Unit;
pub use verdict::{Bound, Quantity, Verdict};
