//! From samples to a verdict that can be believed.
//!
//! | module | subject |
//! |---|---|
//! | [`clock`] | what a clock read costs, and how finely it ticks |
//! | [`series`] | a recorder of samples: histogram, missed periods, course over time |
//! | [`findings`] | what a probe hands back |
//! | [`record`] | the run record: one JSON document per run |
//! | [`stats`] | intervals that need no assumption about the shape |
//! | [`effect`] | one quantity, measured on two sides |
//! | [`experiment`] | two arms in alternating pairs |
//! | [`front`](front()) | the best of many combinations |
//! | [`mod@compare`] | two runs against each other |
//! | [`mod@coverage`] | several runs of the same thing: how far they agree |
//! | [`store`] | every run, in one file |
//! | [`mod@pool`] | several independent starts become one set of findings |
//! | [`monitor`] | progress out of a probe, the wish to stop into it |

pub mod clock;
pub mod compare;
pub mod coverage;
pub mod effect;
mod error;
pub mod experiment;
pub mod findings;
mod front;
pub mod monitor;
pub mod pool;
pub mod record;
pub mod series;
pub mod stats;
pub mod store;

pub use compare::{Comparison, compare};
pub use effect::{Effect, Side};
pub use error::{Error, Result};
pub use experiment::Plan;
pub use findings::Findings;
pub use front::front;
pub use monitor::{Monitor, Silent};
pub use pool::{Started, pool};
pub use record::{
    Answer, Bound, Cell, Change, Column, Curve, Direction, Fact, Mark, Number, Outlier, Percentile,
    Point, Quantity, RunRecord, SeriesRecord, Start, Summary, Table, Unit, Verdict,
};
pub use series::Series;
pub use store::Store;
