//! Google Benchmark's JSON, which its `compare.py` reads. Each turn is a repetition,
//! as its U test needs repetitions.
//!
//! Form: <https://github.com/google/benchmark/blob/main/docs/user_guide.md>,
//! "Output Formats".

use serde_json::{Value, json};
use unjank_measure::{Cell, RunRecord};

use super::cells::{number, rows, text};

pub(super) fn document(record: &RunRecord) -> String {
    let turns = rows(record, "ipc/throughput/turns");
    let families = turns.chunk_by(|one, other| text(one, 0) == text(other, 0));
    let benchmarks: Vec<Value> = families.enumerate().flat_map(repetitions).collect();
    let document = json!({ "context": context(record), "benchmarks": benchmarks });
    format!("{document:#}")
}

fn context(record: &RunRecord) -> Value {
    let host = &record.host;
    let highest = host.frequency.iter().map(|policy| policy.hardware_max).max();
    let scaling = host.frequency.iter().any(|policy| policy.governor != "performance");
    // A debug build adds this warning.
    let is_debug = record.findings.warnings.iter().any(|it| it.contains("without optimisation"));
    json!({
        "date": record.started_at,
        "executable": "unjank ipc throughput",
        "num_cpus": host.cpu.online,
        // 0 if unknown, as in Google Benchmark.
        "mhz_per_cpu": highest.map_or(0, |frequency| frequency.0 / 1_000_000),
        "cpu_scaling_enabled": scaling,
        "library_version": record.tool.version,
        "library_build_type": if is_debug { "debug" } else { "release" },
    })
}

fn repetitions((family, turns): (usize, &[Vec<Cell>])) -> Vec<Value> {
    let repetition = |row: &Vec<Cell>| {
        let [payload, turn, calls, time, cpu] = [1, 2, 3, 4, 5].map(|at| number(row, at));
        let per_second = time.map(|time| 1e9 / time);
        json!({
            "name": text(row, 0),
            "family_index": family,
            "run_name": text(row, 0),
            "run_type": "iteration",
            "repetitions": turns.len(),
            "repetition_index": turn.map(|turn| turn as u64),
            "threads": 1,
            "iterations": calls.map(|calls| calls as u64),
            "real_time": time,
            "cpu_time": cpu,
            "time_unit": "ns",
            "bytes_per_second": per_second.zip(payload).map(|(rate, bytes)| rate * bytes),
            "items_per_second": per_second,
        })
    };
    turns.iter().map(repetition).collect()
}
