//! Records in the output formats of other programs.

mod cells;
mod google_benchmark;
mod remarks;
mod schd_dbg;

use unjank_measure::RunRecord;

pub use remarks::remarks;

/// The document of `record`, if its command prints one.
pub(crate) fn document(record: &RunRecord) -> Option<String> {
    match record.command.as_str() {
        "schd-dbg" => Some(schd_dbg::document(record)),
        "ipc throughput" if setting(record, "benchmark_format") == Some("json") => {
            Some(google_benchmark::document(record))
        }
        _ => None,
    }
}

fn setting<'a>(record: &'a RunRecord, name: &str) -> Option<&'a str> {
    record.settings.get(name)?.as_str()
}
