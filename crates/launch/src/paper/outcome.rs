//! What came of the experiments.

use unjank_host::Nanos;
use unjank_measure::Findings;

use crate::bench::Row;
use crate::power::table::Row as Period;

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Everything that goes into the record.
    pub findings: Findings,
    /// Fig. 2: each load.
    pub total: Vec<Line>,
    /// Fig. 3.
    pub basic: Option<Line>,
    /// Table 3; empty if it was left out.
    pub periods: Vec<Period>,
}

/// A launch time with and without the service, and what the model says.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The load; `None` for what remains without it.
    pub load: Option<Nanos>,
    /// What was measured; `None` if nothing was.
    pub measured: Option<Row>,
    /// The predicted change, as a share.
    pub predicted: f64,
}
