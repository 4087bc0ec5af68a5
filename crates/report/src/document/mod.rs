//! Records in the output formats of other programs.

mod cells;
mod google_benchmark;
mod remarks;
mod schd_dbg;

use unjank_measure::RunRecord;

use crate::views::{self, Format};

pub use remarks::remarks;

/// The document of `record`, if its command prints one.
pub(crate) fn document(record: &RunRecord) -> Option<String> {
    views::format(record).map(|format| match format {
        Format::SchdDbg => schd_dbg::document(record),
        Format::GoogleBenchmark => google_benchmark::document(record),
    })
}
