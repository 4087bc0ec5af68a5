//! Measurement: recording, statistics, experiments, comparisons, records.
//!
//! | module | subject |
//! |---|---|
//! | [`claim`] | a published result beside ours |
//! | [`clock`] | the cost and resolution of the clock |
//! | [`series`] | a recorder of samples: histogram, missed periods, course over time |
//! | [`mod@import`] | results of other tools |
//! | [`findings`] | the findings of a probe |
//! | [`record`] | the run record: one JSON document per run |
//! | [`stats`] | intervals without an assumption about the distribution |
//! | [`effect`] | the difference in one quantity between two sides |
//! | [`experiment`] | two arms in alternating pairs |
//! | [`number`] | numbers in texts: digits in groups, ranges |
//! | [`load`] | the load on a machine beside probes |
//! | [`pareto_front`] | the best of many combinations |
//! | [`mod@compare`] | two runs against each other |
//! | [`mod@coverage`] | agreement of several runs of one command |
//! | [`store`] | all runs, in one file |
//! | [`mod@pool`] | merges independent starts into one set of findings |
//! | [`disturbance`] | starts that something outside disturbed |
//! | [`monitor`] | progress reports and stop requests |

pub mod claim;
pub mod clock;
pub mod compare;
pub mod coverage;
pub mod disturbance;
pub mod effect;
mod error;
pub mod experiment;
pub mod findings;
pub mod import;
pub mod load;
pub mod monitor;
pub mod number;
mod pareto;
pub mod pool;
pub mod record;
pub mod series;
pub mod stats;
pub mod store;

pub use claim::{Claim, Means};
pub use compare::{Comparison, compare};
pub use effect::{Effect, Side};
pub use error::{Error, Result};
pub use experiment::Plan;
pub use findings::Findings;
pub use load::Load;
pub use monitor::{Monitor, Silent};
pub use pareto::pareto_front;
pub use pool::{StartFindings, pool};
pub use record::{
    Answer, Bound, Cell, Change, Column, Curve, Direction, Fact, Mark, Number, Outlier, Percentile,
    Point, Quantity, RunRecord, SeriesRecord, Start, Summary, Table, Unit, Verdict,
};
pub use series::Series;
pub use store::Store;
