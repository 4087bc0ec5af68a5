//! Google Benchmark's JSON, which its `compare.py` reads: each turn is a
//! repetition, so that its U test has something to test.
//!
//! Form: <https://github.com/google/benchmark/blob/main/docs/user_guide.md>,
//! "Output Formats".

use serde_json::{Value, json};
use unjank_ipc::throughput::{Cell, Outcome};
use unjank_measure::RunRecord;

use super::name_of;

/// The document.
pub(super) fn document(record: &RunRecord, outcome: &Outcome) -> String {
    let benchmarks: Vec<Value> = outcome.cells.iter().enumerate().flat_map(repetitions).collect();
    let document = json!({ "context": context(record), "benchmarks": benchmarks });
    format!("{document:#}")
}

fn context(record: &RunRecord) -> Value {
    let host = &record.host;
    let highest = host.frequency.iter().map(|policy| policy.hardware_max).max();
    let scaling = host.frequency.iter().any(|policy| policy.governor != "performance");
    json!({
        "date": record.started_at,
        "executable": "unjank ipc throughput",
        "num_cpus": host.cpu.online,
        // 0 where the machine does not say, as in Google Benchmark.
        "mhz_per_cpu": highest.map_or(0, |frequency| frequency.0 / 1_000_000),
        "cpu_scaling_enabled": scaling,
        "library_version": record.tool.version,
        "library_build_type": if cfg!(debug_assertions) { "debug" } else { "release" },
    })
}

fn repetitions((family, cell): (usize, &Cell)) -> Vec<Value> {
    let name = name_of(cell);
    let of_round = |(index, round): (usize, &unjank_ipc::throughput::Round)| {
        let per_second = 1e9 / round.time;
        json!({
            "name": name,
            "family_index": family,
            "run_name": name,
            "run_type": "iteration",
            "repetitions": cell.rounds.len(),
            "repetition_index": index,
            "threads": 1,
            "iterations": round.calls,
            "real_time": round.time,
            "cpu_time": round.cpu,
            "time_unit": "ns",
            "bytes_per_second": per_second * cell.payload as f64,
            "items_per_second": per_second,
        })
    };
    cell.rounds.iter().enumerate().map(of_round).collect()
}
