//! `runs show` prints the same as the command, for every measuring command without privileges.
//! `needs_root_shown_again.rs` tests the others. `needs_java_jitter.rs` tests those with a JVM,
//! `needs_python_why_android.rs` launches and frames of apps, `power.rs` and
//! `needs_root_boost_install.rs` those that need a clock, and `needs_lab.rs` one in a phone.

#![allow(clippy::unwrap_used)]

mod shown;

use std::fs;
use std::path::Path;
use std::process::Command;

use shown::{check, check_by};

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
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("trace.txt");
    fs::write(&text, DELAYS).unwrap();
    let text = text.to_str().unwrap();
    assert!(check(&["ipc", "trace", text]).contains("Where the time of these calls went"));
    assert!(check(&["swap", "trace", text]).contains("Eviction in the background"));
}

/// A call over binder, a message without a reply, and a shortage of memory.
const DELAYS: &str = "\
app-300 [000] ..... 5.000000: binder_transaction: transaction=1 dest_node=7 dest_proc=500 \
dest_thread=0 reply=0 flags=0x10 code=0x1
app-300 [000] ..... 5.000100: sched_waking: comm=binder:500_1 pid=501 prio=120 target_cpu=001
app-300 [000] ..... 5.000200: sched_switch: prev_comm=app prev_pid=300 prev_prio=120 \
prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
<idle>-0 [001] ..... 5.001000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 \
prev_state=R ==> next_comm=binder:500_1 next_pid=501 next_prio=120
binder:500_1-501 [001] ..... 5.001100: binder_transaction_received: transaction=1
binder:500_1-501 [001] ..... 5.003100: binder_transaction: transaction=2 dest_node=0 \
dest_proc=300 dest_thread=300 reply=1 flags=0x0 code=0x0
binder:500_1-501 [001] ..... 5.003200: sched_waking: comm=app pid=300 prio=120 target_cpu=000
<idle>-0 [000] ..... 5.003700: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 \
prev_state=R ==> next_comm=app next_pid=300 next_prio=120
app-300 [000] ..... 5.003800: binder_transaction_received: transaction=2
app-300 [000] ..... 5.004000: binder_transaction: transaction=3 dest_node=7 dest_proc=500 \
dest_thread=0 reply=0 flags=0x11 code=0x1
binder:500_1-501 [001] ..... 5.004100: binder_transaction_received: transaction=3
app-300 [000] ..... 5.010000: mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_KERNEL
binder:500_1-501 [001] ..... 5.011000: sched_switch: prev_comm=binder:500_1 prev_pid=501 \
prev_prio=120 prev_state=S ==> next_comm=kswapd0 next_pid=90 next_prio=120
kswapd0-90 [001] ..... 5.012000: sched_switch: prev_comm=kswapd0 prev_pid=90 prev_prio=120 \
prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
app-300 [000] ..... 5.015000: mm_vmscan_direct_reclaim_end: nr_reclaimed=32
app-300 [000] ..... 5.016000: mm_filemap_add_to_page_cache: dev 254:0 ino 4d page=0xffff \
pfn=0x1 ofs=4096 order=2
";

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
    let head = "time,process,space,page,operation,backing\n";
    fs::write(&trace, format!("{head}{lines}")).unwrap();
    let trace = trace.to_str().unwrap();
    assert!(check(&["swap", "analyze", trace]).contains("Skew"));
    let paging = concat!(env!("CARGO_MANIFEST_DIR"), "/../swap/fixtures/paging.csv");
    let areas = ["--swap-priority", "zram0=100", "--swap-priority", "disk=5"];
    let analyzed = ["swap", "analyze", paging, "--thrash-rate", "2"];
    let analyzed = check(&[&analyzed[..], &areas].concat());
    for title in ["LRU inversion", ": thrashing", ": launches"] {
        assert!(analyzed.contains(title), "{title}: {analyzed}");
    }
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
    let other = directory.path().join("other.csv");
    let lines: String = (200..500).map(line).collect();
    fs::write(&other, format!("{head}{lines}")).unwrap();
    let several = ["swap", "sweep", trace, other.to_str().unwrap()];
    let tiers = ["--tier", "8KiB,16KiB", "--policy", "paper,always/lru"];
    let several = check(&[&several[..], &memory[..4], &tiers].concat());
    assert!(several.contains("mean over traces"), "{several}");
}

#[test]
fn measurements_of_others() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../jitter/fixtures");
    for file in ["cyclictest.json", "jitterdebugger.json"] {
        check(&["jitter", "import", &format!("{fixtures}/{file}")]);
    }
    check(&["ipc", "bench", "--pairs", "6", "--trial", "20ms"]);
}

/// `runs import` prints no report, so `runs show` is compared with itself and the other views.
#[test]
fn imported_runs() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["fio-json-plus.json", "fio.json", "jhiccup.hlog", "jmh.json", "timerlat.txt"] {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../measure/src/import/fixtures");
        let store = directory.path().join(name).with_extension("sqlite");
        let unjank = || Command::new(unjank_needs::unjank!());
        let mut import = unjank();
        import.args(["runs", "import", &format!("{fixtures}/{name}"), "--store"]).arg(&store);
        let output = import.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let shown = check_by(unjank(), &store, &["runs", "show", "last"]);
        assert!(shown.contains("[imported]"), "{shown}");
    }
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
    let bench = ["launch", "bench", "--pairs", "6", "--gap", "0"];
    let compared = check(&[&bench[..], &["--b", "env:OTHER=1", "--", "true"]].concat());
    assert!(compared.contains("A: as is; B: env:OTHER=1"), "{compared}");
    let loads = check(&[&bench[..], &["--load", "0,1ms", "--basic", "1ms"]].concat());
    assert!(loads.contains("Launches as is"), "{loads}");
    check(&["launch", "simulate", "--phases", "2"]);
    check(&["launch", "simulate", "--phases", "2", "--paper"]);
    let sweep = "up_threshold=60..95/2";
    check(&["launch", "simulate", "--phases", "2", "--sweep", sweep]);
    check(&["launch", "power", "--quick"]);
}
