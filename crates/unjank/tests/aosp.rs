//! `unjank schd-dbg` and `unjank ipc throughput` as replacements of AOSP's tools.

#[path = "aosp/keys.rs"]
mod keys;

use assert_cmd::Command;
use keys::keys;
use serde_json::Value;

const LATENCY: &str = include_str!("aosp/latency.json");
const THROUGHPUT: &str = include_str!("aosp/throughput.json");

fn unjank(arguments: &[&str]) -> std::process::Output {
    let mut command = Command::cargo_bin("unjank").expect("unjank is built");
    command.args(arguments).arg("--no-store").output().expect("unjank runs")
}

fn json(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        panic!("{error}: {} {}", text(&output.stdout), text(&output.stderr))
    })
}

#[test]
fn schd_dbg_takes_the_options_and_prints_the_keys_of_aosp() {
    let output = unjank(&[
        "schd-dbg",
        "-i",
        "50",
        "-pair",
        "2",
        "-deadline_us",
        "2500",
        "-v",
        "-transport",
        "unix",
    ]);
    let ours = json(&output);
    let theirs: Value = serde_json::from_str(LATENCY).expect("the example is JSON");
    assert_eq!(keys(&ours), keys(&theirs));
    assert_eq!(ours["cfg"]["pair"], 2);
    for pair in ["P0", "P1"] {
        let pair = &ours[pair];
        let is_root = pair["fifo_ms"]["avg"].is_number();
        assert_eq!(pair["I"], if is_root { 100 } else { 50 });
        assert!(pair["other_ms"]["bst"].as_f64() <= pair["other_ms"]["avg"].as_f64());
        assert!(pair["other_ms"]["avg"].as_f64() <= pair["other_ms"]["wst"].as_f64());
        let ratio = pair["S"].as_f64().expect("S") / pair["I"].as_f64().expect("I");
        assert_eq!(pair["R"].as_f64(), Some(ratio));
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("unix P1 server: pid "), "{stderr}");
    assert!(stderr.contains("inheritance: not_"), "{stderr}");
    // FAIL: sockets inherit nothing. Without the privilege: UNTESTED.
    let (word, code) =
        if ours["P0"]["fifo_ms"]["avg"].is_number() { ("FAIL", 5) } else { ("UNTESTED", 4) };
    assert_eq!((&ours["inheritance"], output.status.code()), (&word.into(), Some(code)));
}

#[test]
fn a_plain_call_inherits_and_its_raw_data_adds_up() {
    let output = unjank(&["schd-dbg", "-m", "PASSTHROUGH", "-i", "20", "-raw_data"]);
    let ours = json(&output);
    let samples = ours["other_0_data"].as_array().expect("raw data");
    assert_eq!(samples.len(), 20);
    let sum: u64 = samples.iter().filter_map(Value::as_u64).sum();
    let average = ours["P0"]["other_ms"]["avg"].as_f64().expect("an average") * 1e6;
    assert!((average - sum as f64 / 20.0).abs() <= 0.5 + 1e-6, "{average} {sum}");
    assert_eq!(ours["P0"]["S"], ours["P0"]["I"]);
}

#[test]
fn zero_calls_pairs_and_deadlines_are_refused() {
    for arguments in [["-i", "0"], ["-pair", "0"], ["-i", "-3"], ["-deadline_us", "0"]] {
        let output = unjank(&[&["schd-dbg", "-transport", "unix"], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "));
    }
    let output = unjank(&["schd-dbg", "-pair"]);
    assert_eq!(output.status.code(), Some(2), "AOSP's tool crashes here");
}

#[test]
fn throughput_has_google_benchmarks_json() {
    let output = unjank(&[
        "ipc",
        "throughput",
        "--for",
        "200ms",
        "--transport",
        "unix,passthrough",
        "--largest",
        "16",
        "--rounds",
        "2",
        "--benchmark_format=json",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let ours = json(&output);
    let theirs: Value = serde_json::from_str(THROUGHPUT).expect("the example is JSON");
    let missing: Vec<_> = keys(&theirs).difference(&keys(&ours)).cloned().collect();
    assert!(missing.is_empty(), "{missing:?}");
    let benchmarks = ours["benchmarks"].as_array().expect("benchmarks");
    // Two transports, three payloads, two rounds.
    assert_eq!(benchmarks.len(), 12);
    assert_eq!(benchmarks[0]["name"], "BM_sendVec_unix/4");
    for benchmark in benchmarks {
        let number = |key: &str| benchmark[key].as_f64().expect("a number");
        let size: f64 = benchmark["name"]
            .as_str()
            .and_then(|name| name.rsplit('/').next()?.parse().ok())
            .expect("a size");
        let rate = size * 1e9 / number("real_time");
        assert!((number("bytes_per_second") / rate - 1.0).abs() < 1e-9);
        assert_eq!(benchmark["time_unit"], "ns");
    }
}

#[test]
fn the_table_has_the_columns_of_the_documentation() {
    let output = unjank(&[
        "ipc",
        "throughput",
        "--for",
        "100ms",
        "--transport",
        "pipe",
        "--largest",
        "8",
        "--placement",
        "one-cpu",
    ]);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let header = table.lines().find(|line| line.starts_with("benchmark")).expect("a header");
    let header: Vec<&str> = header.split_whitespace().collect();
    assert_eq!(header[0..2], ["benchmark", "time"]);
    assert!(header.contains(&"CPU") && header.contains(&"iterations"), "{header:?}");
    assert!(table.contains("BM_sendVec_pipe/4 ") && table.contains("BM_sendVec_pipe/8 "));
}

#[test]
fn payloads_have_limits() {
    for (argument, value) in [("--largest", "1MiB"), ("--smallest", "0"), ("--smallest", "128KiB")]
    {
        let output = unjank(&["ipc", "throughput", argument, value]);
        assert_eq!(output.status.code(), Some(2), "{argument} {value}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("out of range (1 to 524288)"), "{stderr}");
    }
}
