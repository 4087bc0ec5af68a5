//! `runs show` prints the same as the command, for every measuring command without privileges.
//! `needs_root_shown_again.rs` tests the others, `needs_java_jitter.rs` the one with a JVM.

#![allow(clippy::unwrap_used)]

mod shown;

use std::fs;
use std::path::Path;

use shown::check;

#[test]
fn probes() {
    check(&["lock", "probe", "--for", "200ms", "--starts", "4"]);
    check(&["swap", "probe", "--for", "200ms", "--starts", "2"]);
    check(&["ipc", "probe", "--placement", "free", "--transport", "pipe", "--starts", "2"]);
    check(&["jitter", "native", "--sched", "other", "--for", "300ms", "--starts", "2"]);
    check(&["launch", "ramp", "--count", "2"]);
    check(&["checkup", "--quick", "--only", "lock"]);
    let all = check(&["checkup", "--quick", "--only", "lock", "--all"]);
    assert!(all.contains("lock/park_wake"), "{all}");
}

#[test]
fn recordings() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/fixtures/trace-file/launch.v6.dat");
    assert!(check(&["why", file, "--process", "sh"]).contains("What is explained"));
    assert!(check(&["jitter", "trace", file]).contains("The longest waits"));
}

#[test]
fn locks() {
    let small = ["--threads", "1,2", "--section", "0", "--outside", "1us", "--rounds", "6"];
    let bench = [&["lock", "bench", "--trial", "5ms"], &small[..]].concat();
    let printed = check(&bench);
    assert!(printed.contains("operations per second relative to"), "{printed}");
    let pool = ["lock", "bench", "--pool", "--gap", "1ms", "--rounds", "2", "--trial", "20ms"];
    assert!(check(&pool).contains("CPUs used"));
    let process = std::process::id().to_string();
    assert!(check(&["lock", "doctor", &process, "--quick"]).contains("Threads, the most wasteful"));
}

#[test]
fn calls() {
    let pipe = ["--transport", "pipe"];
    let latency = check(&[&["ipc", "latency", "--count", "20", "--verbose"], &pipe[..]].concat());
    assert!(latency.contains("Threads of each pair"), "{latency}");
    for role in ["service", "main", "client", "other-caller", "server"] {
        assert!(latency.contains(&format!("pipe       0     {role} ")), "{role}: {latency}");
    }
    let throughput = ["ipc", "throughput", "--largest", "8", "--for", "300ms"];
    assert!(check(&[&throughput, &pipe[..]].concat()).contains("Most calls: pipe"));
    let google = ["ipc", "throughput", "--benchmark_format=json", "--largest", "8"];
    let printed = check(&[&google[..], &["--for", "300ms"], &pipe].concat());
    let document: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert!(document["benchmarks"][0]["name"].is_string(), "{printed}");
    let aosp = check(&["schd-dbg", "-i", "20", "-m", "PASSTHROUGH", "--raw_data", "-v"]);
    let document: serde_json::Value = serde_json::from_str(&aosp).unwrap();
    assert!(document["P0"]["other_ms"]["avg"].is_number(), "{document}");
    assert_eq!(document["other_0_data"].as_array().map(Vec::len), Some(20));
}

#[test]
fn traces() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("small.csv");
    let line = |at: usize| format!("{at},app,heap,{},write,anonymous\n", at * 7 % 13);
    let lines: String = (0..200).map(line).collect();
    fs::write(&trace, format!("time,process,space,page,operation,backing\n{lines}")).unwrap();
    let trace = trace.to_str().unwrap();
    assert!(check(&["swap", "analyze", trace]).contains("Skew"));
    let curves = check(&["swap", "mrc", trace, "--policy", "lru,sieve"]);
    assert!(curves.contains("Fewest misses: "), "{curves}");
    assert!(check(&["swap", "mrc", trace, "--policy", "lru"]).contains("Misses of lru: "));
    let scored = check(&["swap", "score", trace, "--policy", "lru,sieve", "--shares", "30%"]);
    assert!(scored.contains("Nearest to the optimum: "), "{scored}");
    let memory = ["--memory", "20KiB", "--memory-policy", "lru", "--tier", "16KiB"];
    let simulated = check(&[&["swap", "simulate", trace], &memory[..]].concat());
    assert!(simulated.contains("Least storage I/O"), "{simulated}");
    let swept = check(&[&["swap", "sweep", trace], &memory[..]].concat());
    assert!(swept.contains("Cheapest if a write"), "{swept}");
}

#[test]
fn measurements_of_others() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../jitter/fixtures");
    for file in ["cyclictest.json", "jitterdebugger.json"] {
        check(&["jitter", "import", &format!("{fixtures}/{file}")]);
    }
    check(&["ipc", "bench", "--pairs", "6", "--trial", "20ms"]);
}

#[test]
fn papers() {
    let swap = check(&["reproduce", "swap", "--seeds", "1"]);
    assert!(swap.contains("Why claims fail or are undecided"), "{swap}");
    check(&["reproduce", "--quick", "--no-phone", "--only", "binder"]);
    let some = ["--quick", "--no-phone", "--only", "launch,binder"];
    let all = check(&[&["reproduce", "all"], &some[..]].concat());
    assert!(all.contains("Jo & Suh, Table 3") && all.contains("AOSP, hwbinder latency"), "{all}");
    check(&["reproduce", "locks", "--quick", "--rounds", "2", "--trial", "2ms"]);
    check(&["reproduce", "launch", "--quick", "--no-phone"]);
    check(&["reproduce", "binder", "--quick", "--no-phone"]);
}

#[test]
fn spinning_mutexes() {
    let program = Path::new(unjank_needs::unjank!());
    let places = ["libunjank_lock.so", "../lib/unjank/libunjank_lock.so"];
    let there = places.iter().any(|place| program.with_file_name(place).exists());
    if !unjank_needs::is_there("libunjank_lock.so (cargo build --workspace --lib)", there) {
        return;
    }
    let tried = check(&["lock", "try", "--quick", "--", "true"]);
    assert!(tried.contains("Waits for pthread mutexes"), "{tried}");
}

#[test]
fn launches() {
    check(&["launch", "bench", "--pairs", "6", "--", "true"]);
    check(&["launch", "simulate", "--phases", "2"]);
    check(&["launch", "simulate", "--phases", "2", "--paper"]);
    let sweep = "up_threshold=60..95/2";
    check(&["launch", "simulate", "--phases", "2", "--sweep", sweep]);
    check(&["launch", "power", "--quick"]);
}
