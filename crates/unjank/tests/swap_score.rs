//! `unjank swap score` on the command line.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod asserted;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use asserted::{json, stdout};

fn score() -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["swap", "score", "--no-store"]);
    command
}

/// Skewed requests for up to a thousand pages; each seed gives another trace.
fn traces(dir: &Path, count: u64) -> Vec<PathBuf> {
    let trace = |seed: u64| {
        let path = dir.join(format!("{seed}.csv"));
        let mut text = "page,operation\n".to_owned();
        let mut state = seed;
        for _ in 0..5_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let chance = (state >> 33) as f64 / f64::from(1_u32 << 31);
            writeln!(text, "{},read", (1_000.0 * chance * chance * chance) as u64).unwrap();
        }
        fs::write(&path, text).unwrap();
        path
    };
    (1..=count).map(trace).collect()
}

#[test]
fn policies_are_ranked_by_their_misses_above_the_optimum() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("misses.csv");
    let mut command = score();
    command.args(traces(dir.path(), 6)).args(["--policy", "fifo,lfu,arc,belady-bypass"]);
    let record = json(command.args(["--shares", "1%,10%"]).arg("--csv").arg(&csv));
    let table = &record["tables"][0];
    let rows = table["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row[0].as_str().unwrap()).collect();
    // Popular pages stay popular here.
    assert_eq!((names[0], names[3]), ("belady-bypass", "fifo"), "{names:?}");
    let value = |row: usize, column: usize| rows[row][column]["value"].as_f64().unwrap();
    for column in [1, 2, 3] {
        assert!(value(0, column).abs() < 1e-12, "the optimum is no better than itself");
        assert!(value(1, column) > 0.0 && value(3, column) > value(1, column), "{table}");
        let [low, high] = [0, 1].map(|end| rows[1][column]["interval"][end].as_f64().unwrap());
        assert!(low <= value(1, column) && value(1, column) <= high, "{table}");
    }
    let headline = record["headline"].as_str().unwrap();
    assert!(headline.starts_with(&format!("Nearest to the optimum: {}, ", names[1])), "{headline}");
    assert_eq!(record["curves"].as_array().unwrap().len(), 4);
    let lines = fs::read_to_string(csv).unwrap();
    assert_eq!(lines.lines().count(), 1 + 6 * 2 * 4, "{lines}");
}

#[test]
fn few_traces_have_no_interval_and_bad_ones_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let [good] = traces(dir.path(), 1).try_into().unwrap();
    let text = stdout(score().arg(&good).args(["--policy", "lru,arc", "--shares", "10%"]));
    assert!(text.contains("intervals need at least 5 traces; this run has 1"), "{text}");
    let bad = dir.path().join("bad.csv");
    fs::write(&bad, "page,operation\nseven,read\n").unwrap();
    let both = score().arg(&good).arg(&bad).args(["--policy", "lru"]).output().unwrap();
    assert_eq!(both.status.code(), Some(1));
    let said = String::from_utf8_lossy(&both.stdout);
    assert!(said.contains("left out: ") && said.contains("bad.csv"), "{said}");
    let none = score().arg(&bad).output().unwrap();
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("none of 1 traces"));
}
