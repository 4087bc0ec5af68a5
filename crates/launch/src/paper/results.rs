//! The results of the paper's experiments.

use unjank_host::Nanos;
use unjank_measure::Findings;

use crate::bench::Row;
use crate::power::table::Row as Period;

/// The results of the experiments.
#[derive(Debug, Clone, Default)]
pub struct PaperResults {
    /// Everything that goes into the record.
    pub findings: Findings,
    /// Fig. 2: each load.
    pub total: Vec<FigureRow>,
    /// Fig. 3.
    pub basic: Option<FigureRow>,
    /// Table 3; empty if it was left out.
    pub periods: Vec<Period>,
}

/// A launch time with and without the service, and the model's prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureRow {
    /// The load; `None` for the launch time less its load.
    pub load: Option<Nanos>,
    /// The measured comparison, if any.
    pub measured: Option<Row>,
    /// The predicted change, as a share.
    pub predicted: f64,
}
