//! `unjank swap simulate`, `swap synth` and `swap sweep` on the command line.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod asserted;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use asserted::fails;
use serde_json::Value;

/// Three apps in turn, whose pages do not fit: five pages of memory.
fn trace(directory: &Path) -> String {
    let mut text = "time,process,space,page,operation,backing\n".to_owned();
    for launch in 0..12 {
        let (app, at) = (launch % 3, launch * 100);
        writeln!(text, "{at},app-{app},,0,launch,unknown").unwrap();
        for page in 0..3 {
            writeln!(text, "{at},app-{app},heap-{app},{page},write,anonymous").unwrap();
        }
        writeln!(text, "{at},app-{app},libraries,0,read,file").unwrap();
    }
    let path = directory.join("apps.csv");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn swap(arguments: &[&str]) -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command.arg("swap").args(arguments);
    command
}

fn simulate(arguments: &[&str]) -> Value {
    let mut command = swap(&[&["simulate", "--json", "--no-store"], arguments].concat());
    serde_json::from_slice(&command.assert().code(0).get_output().stdout).unwrap()
}

/// A fact's value for a policy.
fn fact(record: &Value, name: &str, policy: &str) -> u64 {
    let facts = record["facts"].as_array().unwrap();
    let is = |fact: &&Value| {
        fact["name"] == format!("swap/simulate/{name}") && fact["labels"]["policy"] == policy
    };
    facts.iter().find(is).unwrap_or_else(|| panic!("{name} of {policy}"))["value"].as_f64().unwrap()
        as u64
}

/// The text in one line: its words, with one space between them.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn policies_are_shown_with_no_tier_and_no_swap() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path());
    let sizes = ["--memory", "20KiB", "--memory-policy", "lru", "--tier", "64KiB"];
    let record = simulate(&[&[&*trace, "--policy", "paper,always/lru"], &sizes[..]].concat());
    // Each launch but the first of each app brings back the three pages that its app had changed:
    // three pages out and three in.
    let ios = |policy| fact(&record, "storage_ios", policy);
    assert_eq!(fact(&record, "page_ins", "no tier"), 1 + 9 * 3);
    assert_eq!(
        ios("no tier"),
        fact(&record, "page_ins", "no tier") + fact(&record, "page_outs", "no tier")
    );
    // The tier has room for all pages: only the file is ever read from storage.
    assert_eq!((ios("always/lru"), fact(&record, "storage_reads", "always/lru")), (1, 1));
    assert!(ios("paper") > ios("always/lru") && ios("paper") < ios("no tier"));
    // Changed pages that memory does not hold are still in the tier.
    let left = fact(&record, "left_dirty", "always/lru");
    assert!(left > 0 && left <= 9, "{left}");
    assert_eq!(fact(&record, "settled_ios", "always/lru"), 1 + left);
    assert_eq!(fact(&record, "settled_ios", "no tier"), ios("no tier"));
    // The bound counts them, too. With room for all pages, a schedule reaches it.
    let least = fact(&record, "least_cost", "clairvoyant");
    assert!(least + 1 >= left, "{least}, {left}");
    assert!(fact(&record, "settled_ios", "clairvoyant").abs_diff(least) <= 1, "{least}");
    // Without swap nine of twelve launches start apps that were killed.
    assert_eq!(fact(&record, "restarts", "no swap"), 9);
    assert!(record["labels"].as_array().unwrap().contains(&"modelled".into()));
    let curves = record["curves"].as_array().unwrap();
    assert_eq!(curves.iter().filter(|curve| curve["name"] == "swap/simulate/launch").count(), 4);
}

#[test]
fn page_ins_of_a_real_memory_go_to_the_tier_unchanged() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../swap/fixtures");
    let trace = fixtures.join("mobile.csv");
    let record = simulate(&[trace.to_str().unwrap(), "--tier", "1MiB", "--policy", "all"]);
    assert!(fact(&record, "storage_ios", "no tier") > 0);
    for policy in ["paper", "always/lru", "always/s3-fifo", "mmd"] {
        assert!(fact(&record, "storage_ios", policy) <= fact(&record, "storage_ios", "no tier"));
    }
}

#[test]
fn the_first_policy_is_the_one_for_the_cost_of_a_write() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path());
    let sizes = ["--memory", "20KiB", "--tier", "64KiB", "--no-store"];
    let printed = |cost: &str| {
        let arguments = [&["simulate", &*trace, "--write-cost", cost], &sizes[..]].concat();
        let output = swap(&arguments).assert().code(0).get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    };
    for (cost, policy) in [("0.001", "always/lru"), ("0.1", "paper"), ("1", "refault")] {
        let text = printed(cost);
        let first = text.lines().skip_while(|line| !line.starts_with("no tier")).nth(1).unwrap();
        assert!(first.starts_with(policy), "{text}");
        let default = format!("The default policy for this cost is {policy}.");
        assert!(flat(&text).contains(&default) && text.contains("left dirty"), "{text}");
    }
    assert!(printed("0.001").contains("always/lru is the cheapest"), "{}", printed("0.001"));
    assert!(printed("64").contains("no tier is the cheapest"), "{}", printed("64"));
    assert!(!printed("none").contains("the cheapest"));
    assert!(fails(&mut swap(&["simulate", &trace, "--write-cost", "65"]), 2).contains("0 to 64"));
}

#[test]
fn a_launch_waits_for_its_own_page_ins() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = "time_ms,process,pid,launch_id,command_pid,page,operation\n".to_owned();
    for (launch, at) in [(1, 0), (2, 60_000)] {
        writeln!(text, "{at},gimp,{launch},{launch},10,0,launch\n{at},exe,50,9,,0,launch").unwrap();
        for page in 0..50 {
            writeln!(text, "{at},exe,50,9,,{page},page-in\n{at},plug-in,7,,,{page},page-out")
                .unwrap();
        }
        writeln!(text, "{at},plug-in,7,{launch},10,100,page-in").unwrap();
    }
    let path = directory.path().join("gimp.csv");
    fs::write(&path, text).unwrap();
    let times = ["--resume", "1s", "--storage-read", "1ms", "--tier", "64KiB", "--policy", "paper"];
    let again = |more: &[&str]| {
        let record = simulate(&[&[path.to_str().unwrap()], &times[..], more].concat());
        fact(&record, "launch_again", "no tier")
    };
    assert_eq!(again(&[]), 1_001_000_000, "one page-in of gimp's plug-in");
    assert_eq!(again(&["--all-launches"]), 1_025_500_000, "and fifty of exe's, the mean of two");
}

#[test]
fn wrong_options_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path());
    let error = |arguments: &[&str]| fails(&mut swap(arguments), 2);
    assert!(error(&["simulate"]).contains("<TRACE|--preset <NAME>>"), "{}", error(&["simulate"]));
    assert!(
        error(&["simulate", "--preset", "gmaes"]).contains("expected one of games, many-games")
    );
    let unknown = error(&["simulate", &trace, "--policy", "sometimes/lru"]);
    assert!(unknown.contains("unknown admission rule"), "{unknown}");
    let none = error(&["simulate", &trace, "--no-store", "--memory", "1KiB"]);
    assert!(none.contains("room for at least one page"), "{none}");
    let no_tier = error(&["simulate", &trace, "--no-store", "--tier", "0"]);
    assert!(no_tier.contains("room for at least one page"), "{no_tier}");
    let off = error(&["simulate", &trace, "--no-store", "--swap", "off"]);
    assert!(off.contains("--memory"), "{off}");
    let empty = directory.path().join("empty.csv");
    fs::write(&empty, "time,process,page,operation\n0,a,0,exit\n").unwrap();
    let nothing = error(&["simulate", empty.to_str().unwrap(), "--no-store"]);
    assert!(nothing.contains("no page events"), "{nothing}");
}

#[test]
fn a_tier_larger_than_everything_reads_each_page_once_at_most() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path());
    let record =
        simulate(&[&trace, "--memory", "20KiB", "--tier", "1TiB", "--policy", "always/arc,gate"]);
    assert_eq!(fact(&record, "storage_ios", "always/arc"), 1);
}

#[test]
fn a_written_synthetic_trace_equals_the_preset() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("games.parquet");
    let path = path.to_str().unwrap();
    swap(&["synth", "games", path, "--count", "12"]).assert().code(0);
    assert!(fails(&mut swap(&["synth", "games", path]), 2).contains("already exists"));
    assert!(fails(&mut swap(&["synth", "games", "games.txt"]), 2).contains(".parquet or .csv"));
    let memory = ["--memory", "100MiB", "--tier", "64MiB", "--policy", "paper"];
    let record = simulate(&[&[path], &memory[..]].concat());
    assert!(fact(&record, "tier_reads", "paper") > 0);
    let csv = directory.path().join("g.csv");
    let csv = csv.to_str().unwrap();
    swap(&["synth", "games", csv, "--count", "12"]).assert().code(0);
    let again = simulate(&[&[csv], &memory[..]].concat());
    let modelled = |record: &Value| -> Vec<Value> {
        let facts = record["facts"].as_array().unwrap();
        let modelled = facts.iter().filter(|fact| fact["labels"]["origin"] == "modelled");
        modelled.cloned().collect()
    };
    assert!(modelled(&again) == modelled(&record), "Parquet and CSV differ");
}

#[test]
fn presets_are_listed() {
    let mut command = swap(&["synth", "--list", "--json"]);
    let presets: Value =
        serde_json::from_slice(&command.assert().code(0).get_output().stdout).unwrap();
    let names: Vec<&Value> =
        presets.as_array().unwrap().iter().map(|preset| &preset["name"]).collect();
    assert!(names.len() >= 5 && names[0] == "games", "{names:?}");
}

#[test]
fn a_killed_sweep_continues() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("sweep.parquet");
    let partial = directory.path().join("sweep.parquet.partial");
    let arguments = ["sweep", "--preset", "games", "--tier", "16MiB..256MiB/5", "--policy", "all"];
    let arguments = [&arguments[..], &["--no-store", "--out", out.to_str().unwrap()]].concat();
    let mut child = std::process::Command::new(unjank_needs::unjank!())
        .arg("swap")
        .args(&arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let lines = || fs::read_to_string(&partial).map_or(0, |text| text.lines().count());
    let begun = Instant::now();
    while lines() < 4 && begun.elapsed() < Duration::from_mins(5) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = lines();
    assert!(done >= 4 && !out.exists(), "{done} lines");
    let printed = swap(&arguments).assert().code(0).get_output().stdout.clone();
    assert!(String::from_utf8(printed).unwrap().contains("fewest writes of the tier"));
    assert!(out.exists() && !partial.exists());
    // The result equals that of an uninterrupted sweep.
    let whole = directory.path().join("whole.parquet");
    let mut unbroken = arguments.clone();
    *unbroken.last_mut().unwrap() = whole.to_str().unwrap();
    swap(&unbroken).assert().code(0);
    assert_eq!(fs::read(out).unwrap(), fs::read(whole).unwrap());
}

#[test]
fn a_malformed_trace_does_not_end_a_sweep() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = "time_ns,page,operation\n0,1,page-in\n1,2,page-out\n2,2,page-in\n";
    let (first, last) = (file("a.csv", good), file("c.csv", good));
    let bad = file("b.csv", "time_ns,page,operation\n0,1,page-in\n1,many,page-out\n");
    let out = directory.path().join("sweep.parquet");
    let of = ["--tier", "64KiB", "--policy", "paper", "--no-store", "--out", out.to_str().unwrap()];
    let mut command = swap(&[&["sweep", &first, &bad, &last][..], &of].concat());
    let output = command.assert().code(1).get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    let text = flat(&text);
    assert!(text.contains("line 3: the page is not a number: “1,many,page-out”"), "{text}");
    assert!(text.contains("1 trace is left out, for the reason above"), "{text}");
    for trace in [&first, &last] {
        assert!(text.contains(&format!("{trace}: storage I/O")), "{trace} is missing: {text}");
    }
    assert!(out.exists() && !directory.path().join("sweep.parquet.partial").exists());
    let error = fails(&mut swap(&["sweep", &bad, "/no/such/trace", "--no-store"]), 1);
    assert!(error.contains("none of 2 traces could be simulated"), "{error}");
    assert!(error.contains("/no/such/trace: No such file"), "{error}");
}

#[test]
fn a_write_budget_keeps_pages_out_and_counts_them() {
    let wide =
        ["--preset", "games", "--tier", "64MiB", "--policy", "always/lru", "--write-cost", "none"];
    let writes = |record: &Value| fact(record, "tier_writes", "always/lru");
    let free = simulate(&[&wide[..], &["--write-budget", "1TiB/s"]].concat());
    assert_eq!(fact(&free, "over_budget", "always/lru"), 0);
    assert_eq!(writes(&free), writes(&simulate(&wide)), "a budget that nothing reaches");
    let tight = simulate(&[&wide[..], &["--write-budget", "16MiB/min"]].concat());
    assert!(fact(&tight, "over_budget", "always/lru") > 10_000);
    // 22 minutes, and one minute's writes at the beginning.
    assert!(
        writes(&tight) < 24 * 4_096 && writes(&tight) < writes(&free) / 2,
        "{}",
        writes(&tight)
    );
    assert_eq!(tight["settings"]["write_budget"], "16.0 MiB/min");
    let short = simulate(&[&wide[..], &["--write-budget", "1GiB/day"]].concat());
    assert!(short["warnings"].to_string().contains("less than the period of the budget"));
    // Ariadne's traces have no times.
    let swapped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../swap/fixtures/ariadne-swapin.txt");
    let error = fails(
        &mut swap(&[
            "simulate",
            swapped.to_str().unwrap(),
            "--no-store",
            "--format",
            "ariadne",
            "--write-budget",
            "1MiB/s",
        ]),
        2,
    );
    assert!(error.contains("a write budget needs times"), "{error}");
    let wrong = fails(&mut swap(&["simulate", "x", "--write-budget", "1GiB"]), 2);
    assert!(wrong.contains("such as 1GiB/day or 10MiB/s"), "{wrong}");
}

#[test]
fn a_sweep_draws_heat_maps() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("sweep.html");
    let sizes = ["--preset", "games", "--tier", "32MiB,64MiB", "--policy", "paper,always/lru"];
    let others = ["--write-budget", "16MiB/min", "--no-store", "--json"];
    let arguments = [&["sweep", "--html", page.to_str().unwrap()], &sizes[..], &others].concat();
    let record: Value =
        serde_json::from_slice(&swap(&arguments).assert().code(0).get_output().stdout).unwrap();
    let curves = record["curves"].as_array().unwrap();
    for name in ["storage_ios", "tier_writes", "over_budget"] {
        let rows: Vec<&Value> =
            curves.iter().filter(|curve| curve["name"] == format!("swap/sweep/{name}")).collect();
        assert_eq!(rows.len(), 2, "{name}");
        for row in rows {
            assert_eq!(
                (&row["labels"]["map"], &row["y"]["unit"]),
                (&"policy".into(), &"ratio".into())
            );
            let points = row["points"].as_array().unwrap();
            assert_eq!(points.len(), 2);
            let share = |point: &Value| point["y"].as_f64().unwrap();
            assert!(points.iter().all(|point| (0.0..1.0).contains(&share(point))), "{row}");
        }
    }
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<table class=\"heat\">").count(), 3);
}

#[test]
fn pages_of_unknown_backing_are_reported_and_come_from_storage() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("t.csv");
    let mut rows = "time,process,space,page,operation\n".to_owned();
    for time in 0..400 {
        writeln!(rows, "{time},a,x,{},read", time % 150).unwrap();
    }
    fs::write(&trace, rows).unwrap();
    let record = simulate(&[trace.to_str().unwrap(), "--memory", "1MiB", "--tier", "128KiB"]);
    let said = record["warnings"].to_string();
    assert!(said.contains("150 of 150 pages have no known backing"), "{said}");
    // All pages fit into memory: each is read once, and none is changed.
    assert_eq!(fact(&record, "storage_reads", "no tier"), 150);
    assert_eq!(fact(&record, "storage_writes", "no tier"), 0);
}
