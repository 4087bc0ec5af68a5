//! `unjank launch load` and `unjank launch bench`: real programs, with every way of
//! being ready that needs no display.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod launching;

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use launching::{bench, unjank};
use serde_json::Value;
use unjank_needs::attempts::first_ok;
use unjank_needs::printed::{stderr, stdout};
use unjank_needs::wait::until;

fn record(arguments: &[&str]) -> Value {
    let output = bench(&[&["--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refusal(arguments: &[&str]) -> (Option<i32>, String) {
    let output = bench(arguments);
    (output.status.code(), stderr(&output).trim().to_owned())
}

fn series<'a>(record: &'a Value, name: &str, arm: &str) -> &'a Value {
    let all = record["series"].as_array().unwrap();
    let is = |series: &&Value| series["name"] == name && series["labels"]["arm"] == arm;
    all.iter().find(is).unwrap_or_else(|| panic!("no {name}, {arm} in {all:#?}"))
}

/// Samples and misses of both arms.
fn counts(record: &Value, name: &str) -> [(u64, u64); 2] {
    ["as is", "with:sleep 600"].map(|arm| {
        let series = series(record, name, arm);
        (series["n"].as_u64().unwrap(), series["missed"].as_u64().unwrap())
    })
}

/// Processes with `mark` on their command line.
fn running(mark: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap();
    let lines = entries.filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

fn script(directory: &Path, text: &str) -> String {
    let path = directory.join("script.sh");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn programs_that_end_are_compared() {
    let record = record(&["--pairs", "7", "--", "true"]);
    assert_eq!(counts(&record, "launch/bench/total"), [(7, 0); 2]);
    let facts = record["facts"].as_array().unwrap();
    let fact = |name: &str| facts.iter().find(|fact| fact["name"] == name).unwrap();
    assert_eq!(fact("launch/bench/total/pairs")["value"], 7.0);
    assert!(fact("launch/bench/total/median")["interval"].is_array());
    let verdict = &record["verdicts"][0];
    assert_eq!(verdict["subject"], "launch/bench/total");
    assert_eq!(verdict["question"], "Is a launch shorter under with:sleep 600 than under as is?");
}

#[test]
fn a_server_may_be_ready_after_the_end_of_the_script_that_starts_it() {
    let script = "{ sleep 1.5; echo up; exec sleep 600; } & exit 0";
    let output = unjank(&["launch", "bench", "--gap", "0", "--no-store", "--pairs", "1", "--json"])
        .args(["--warm-up", "0", "--ready", "stdout:up", "--", "sh", "-c", script])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!record["warnings"].to_string().contains("never ready"), "{}", record["warnings"]);
}

#[test]
fn a_service_may_be_ready_late_and_a_program_may_end_late() {
    let directory = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        path.display().to_string()
    };
    let notify =
        format!("{} launch load 0 --basic 0 --rate 1000 --ready notify", unjank_needs::unjank!());
    // Longer than a quiet machine ever needs.
    let late = script("late", &format!("sleep 10.5\n{notify}\nexec sleep 600"));
    let ends = directory.path().join("ends");
    let ends = ends.display();
    let slow = script(
        "slow",
        &format!("trap 'sleep 2.5; echo >>{ends}; exit' TERM\necho up\nwhile :; do sleep 1; done"),
    );
    let mut command = unjank(&["launch", "bench", "--gap", "0", "--no-store", "--pairs", "1"]);
    command.args(["--b", &format!("notify:{late}"), "--ready", "stdout:up", "--", &slow]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let ended = fs::read_to_string(directory.path().join("ends")).unwrap();
    // The first launch under each condition does not count, but ends as well.
    assert_eq!(ended.lines().count(), 4, "each launch ended by itself");
}

#[test]
fn a_service_ends_with_its_condition() {
    let mut command = unjank(&["launch", "bench", "--b", "with:sleep 677", "--gap", "0"]);
    let output = command.args(["--no-store", "--pairs", "1", "--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(running("sleep\x00677"), 0);
}

#[test]
fn a_condition_may_change_the_environment_of_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen").display().to_string();
    let program = format!("echo \"$WANTED-${{OTHER-unset}}\" >>{seen}");
    let mut command = unjank(&["launch", "bench", "--gap", "0", "--no-store", "--pairs", "1"]);
    command.args([
        "--a",
        "env:WANTED=no",
        "--b",
        "env:WANTED=a b,env:OTHER=",
        "--",
        "sh",
        "-c",
        &program,
    ]);
    let output = command.env_remove("WANTED").env_remove("OTHER").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let seen = fs::read_to_string(seen).unwrap();
    // One launch under each condition does not count.
    let count = |line: &str| seen.lines().filter(|it| *it == line).count();
    assert_eq!((count("no-unset"), count("a b-"), seen.lines().count()), (2, 2, 4), "{seen}");
}

/// `launch bench` without a condition to compare with.
fn alone(arguments: &[&str]) -> (Option<i32>, Value) {
    let common = ["launch", "bench", "--gap", "0", "--no-store", "--json"];
    let output = unjank(&common).args(arguments).output().unwrap();
    let record = serde_json::from_slice(&output.stdout);
    (output.status.code(), record.unwrap_or_else(|_| panic!("{}", stderr(&output))))
}

fn fact<'a>(record: &'a Value, name: &str) -> Option<&'a Value> {
    record["facts"].as_array().unwrap().iter().find(|fact| fact["name"] == name)
}

#[test]
fn without_another_condition_launches_are_only_measured() {
    let (code, record) = alone(&["--pairs", "8", "--", "true"]);
    assert_eq!((code, record["verdicts"].as_array().unwrap().len()), (Some(0), 0));
    assert_eq!(series(&record, "launch/bench/total", "as is")["n"], 16);
    assert_eq!(record["series"].as_array().unwrap().len(), 1);
    let headline = record["headline"].as_str().unwrap();
    assert!(headline.starts_with("Launching true takes "), "{headline}");
    assert!(headline.ends_with(", the median of 16 launches"), "{headline}");
    let row = &record["tables"][0]["rows"][0];
    assert_eq!((&row[0], &row[4]["value"]), (&"total".into(), &16.0.into()), "{row}");
    assert!(row[1]["interval"].is_array(), "{row}");
    let floor = fact(&record, "launch/bench/total/noise_floor").unwrap();
    assert!(floor["value"].as_f64().unwrap() > 0.0, "{floor}");
    let (_, loads) = alone(&["--pairs", "2", "--load", "0,1ms", "--basic", "1ms"]);
    let headline = loads["headline"].as_str().unwrap();
    assert!(headline.starts_with("Launching the load app takes "), "{headline}");
    assert_eq!(loads["tables"][0]["rows"].as_array().unwrap().len(), 3, "two loads and the rest");
}

#[test]
fn a_condition_is_compared_with_itself() {
    let (code, same) = alone(&["--pairs", "8", "--b", "as-is", "--", "true"]);
    assert_eq!(code, Some(0));
    for arm in ["as is", "as is again"] {
        assert_eq!(series(&same, "launch/bench/total", arm)["n"], 8);
    }
    let floor = fact(&same, "launch/bench/total/noise_floor").expect("a noise floor");
    assert!(floor["value"].as_f64().unwrap() > 0.0, "{floor}");
    assert_eq!((&floor["unit"], &floor["n"]), (&Value::from("ratio"), &Value::from(8)));
    let others = record(&["--pairs", "7", "--", "true"]);
    assert!(fact(&others, "launch/bench/total/noise_floor").is_none());
}

#[test]
fn three_pairs_have_medians_but_no_interval() {
    let output = bench(&["--pairs", "3", "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let line = stdout(&output).lines().find(|line| line.starts_with("total ")).unwrap();
    assert!(line.contains(" %") && line.contains("cannot tell"), "{line}");
    let why = "total: cannot tell: fewer than 6 pairs (here 3) decide nothing.";
    assert!(stdout(&output).contains(why), "{}", stdout(&output));
    let record = record(&["--pairs", "3", "--", "true"]);
    let difference = fact(&record, "launch/bench/total/difference").unwrap();
    assert!(difference["value"].is_number() && difference["interval"].is_null());
}

#[test]
fn launches_that_all_failed_are_no_success() {
    let (code, record) = alone(&["--pairs", "2", "--", "false"]);
    let failed = fact(&record, "launch/bench/failed").unwrap();
    assert_eq!((code, &failed["n"]), (Some(1), &Value::from(4)));
    let (code, record) = alone(&["--pairs", "7", "--b", "as-is", "--", "false"]);
    assert_eq!(code, Some(1));
    let failed = fact(&record, "launch/bench/failed").unwrap();
    assert_eq!((&failed["value"], &failed["n"]), (&Value::from(7.0), &Value::from(7)));
    assert_eq!(record["verdicts"][0]["answer"], "cannot_tell");
    assert_eq!(record["verdicts"][0]["reason"], "no launch under as is succeeded");
    // A condition without a success is a failure, too; one failure of many is not.
    let directory = tempfile::tempdir().unwrap();
    // A script's process has the script's name.
    let name = format!("rest-{}", std::process::id());
    let script = directory.path().join(&name);
    fs::write(&script, "#!/bin/sh\nwhile :; do sleep 1; done\n").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o700)).unwrap();
    let condition = format!("with:{}", script.display());
    let launch = format!("! grep -qsx {name} /proc/[0-9]*/comm");
    let (code, record) = alone(&["--pairs", "2", "--b", &condition, "--", "sh", "-c", &launch]);
    assert_eq!(code, Some(1), "{record:#}");
    let failed = fact(&record, "launch/bench/failed").unwrap();
    assert_eq!(failed["labels"]["arm"], condition.as_str());
}

#[test]
fn conditions_are_read_as_a_shell_reads_words_and_typos_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("two words");
    let notify = "launch load 0 --basic 0 --rate 1000 --ready notify; exec sleep 600";
    let unjank_itself = unjank_needs::unjank!();
    let condition =
        format!("notify:sh -c 'touch \"{}\"; {unjank_itself} {notify}'", mark.display());
    let output = unjank(&["launch", "bench", "--gap", "0", "--no-store", "--pairs", "1"])
        .args(["--b", &condition, "--", "true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(mark.exists());
    let (code, said) = refusal(&["--a", "with:sh -c 'exit", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(said.ends_with("a quote in \"sh -c 'exit\" is not closed"), "{said}");
    let (code, said) = refusal(&["--a", "goveror=performance", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("unknown key \"goveror\" of a condition"), "{said}");
}

#[test]
fn a_boost_that_this_machine_cannot_have_is_unsupported() {
    if Path::new("/sys/devices/system/cpu/cpufreq/policy0").exists() {
        return;
    }
    let output =
        unjank(&["launch", "bench", "--no-store", "--b", "boost", "--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("boost: "), "{}", stderr(&output));
}

#[test]
fn every_way_of_being_ready_is_detected_and_no_process_is_left_behind() {
    let own = unjank_needs::unjank!();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let port = format!("port:{port}");
    for (ready, says, linger) in [
        ("stdout:^on screen: basic [0-9.]+ ms", "stdout", "611s"),
        ("notify", "notify", "612s"),
        (port.as_str(), port.as_str(), "613s"),
        ("exit", "stdout", "0"),
    ] {
        let app = [own, "launch", "load", "0", "--basic", "0", "--rate", "1000"];
        let options = ["--ready", says, "--linger", linger];
        let arguments = [&["--pairs", "2", "--ready", ready, "--"], &app[..], &options].concat();
        let record = record(&arguments);
        assert_eq!(counts(&record, "launch/bench/total"), [(2, 0); 2], "{ready}");
        assert_eq!(running(&format!("--linger\0{linger}\0")), 0, "{ready}");
    }
}

#[test]
fn the_built_in_load_has_a_basic_launch_time() {
    let options = ["--load", "0,3ms", "--basic", "2ms", "--threads", "2", "--pairs", "3"];
    let record = record(&options);
    for name in ["launch/bench/load-0/total", "launch/bench/load-3ms/total"] {
        assert_eq!(counts(&record, name), [(3, 0); 2], "{name}");
    }
    assert_eq!(counts(&record, "launch/bench/basic"), [(6, 0); 2]);
    let all = |name: &str| series(&record, name, "as is")["summary"]["max"].as_u64().unwrap();
    assert!(all("launch/bench/basic") >= 2_000_000, "it works for 2 ms at least");
    assert_eq!(record["settings"]["load"], serde_json::json!([0, 3_000_000]));
    assert_eq!(record["verdicts"].as_array().unwrap().len(), 3);
    let refused = refusal(&["--load", "5ms,5ms"]);
    assert_eq!(refused, (Some(2), "error: the load 5.00 ms is given twice".to_owned()));
}

#[test]
fn a_launch_that_is_never_ready_counts_as_missed() {
    // On a busy machine, the others may need longer, too.
    first_ok([("2s", "2.00 s"), ("20s", "20.0 s"), ("60s", "60.0 s")], |(timeout, shown)| {
        let directory = tempfile::tempdir().unwrap();
        let count = directory.path().join("count");
        // The fourth of four launches never reports that it is ready.
        let text = format!(
            "echo >> {0}; [ $(wc -l < {0}) -gt 3 ] || echo ready; echo stuck >&2; sleep 600",
            count.display()
        );
        let script = script(directory.path(), &text);
        let options = ["--warm-up", "0", "--pairs", "2", "--timeout", timeout, "--ready"];
        let launch = ["stdout:ready", "--json", "--", "sh", &script];
        let output = bench(&[&options[..], &launch].concat());
        assert_eq!(running(&script), 0);
        if output.status.code() != Some(0) {
            return Err(stderr(&output).to_owned());
        }
        let record: Value = serde_json::from_slice(&output.stdout).unwrap();
        let both = counts(&record, "launch/bench/total").into_iter();
        let (ready, missed) = both.fold((0, 0), |(n, missed), of| (n + of.0, missed + of.1));
        let warnings = record["warnings"].to_string();
        let said = format!(
            "1 of 2 launches were never ready; they count as {shown}, the shortest time they could \
             have taken (one said: stuck)"
        );
        let is_missed = (ready, missed) == (3, 1) && warnings.contains(&said);
        is_missed.then_some(()).ok_or_else(|| format!("{ready} ready, {missed} missed: {warnings}"))
    });
}

#[test]
fn a_first_launch_that_is_never_ready_is_an_error() {
    let (code, said) = refusal(&["--", "/no/such/program"]);
    assert_eq!((code, said.as_str()), (Some(2), "error: command not found: /no/such/program"));
    let (code, said) =
        refusal(&["--ready", "notify", "--", "sh", "-c", "echo no luck >&2; exit 3"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        said,
        "error: sh ended (exit status: 3) before it was ready (notify); it said: no luck"
    );
    let (code, said) =
        refusal(&["--ready", "stdout:x", "--timeout", "100ms", "--", "sleep", "600"]);
    assert_eq!(code, Some(2));
    assert!(
        said.ends_with("was not ready (stdout:x) within 100 ms when launched for the first time"),
        "{said}"
    );
    assert_eq!(refusal(&["--ready", "stdout:(", "--", "true"]).0, Some(2));
    assert_eq!(refusal(&["--a", "faster", "--", "true"]).0, Some(2));
    assert_eq!(refusal(&["--b", "with:sleep 600", "--", "true"]).0, Some(2), "twice the same");
    assert_eq!(refusal(&[]).0, Some(2), "no command");
    let (code, said) = refusal(&["--ready", "window", "--", "true"]);
    assert_eq!(code, Some(3));
    assert!(said.starts_with("error: there is neither a Wayland compositor"), "{said}");
    let (code, said) = refusal(&["--a", "notify:sh -c exit", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("notify:sh -c exit: sh ended"), "{said}");
}

#[test]
fn a_port_in_use_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (code, said) = refusal(&["--ready", &format!("port:{port}"), "--", "sleep", "600"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("is in use before the program is launched"), "{said}");
}

#[test]
fn ctrl_c_prints_what_was_measured() {
    let mut command = unjank(&["launch", "bench", "--b", "with:sleep 600", "--gap", "0"]);
    let directory = tempfile::tempdir().unwrap();
    let launches = directory.path().join("launches");
    let program = format!("echo >>{}; sleep 0.02", launches.display());
    command.args(["--no-store", "--pairs", "100000", "--json", "--", "sh", "-c", &program]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until("some launches", || fs::read(&launches).is_ok_and(|lines| lines.len() > 12));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [(a, 0), (b, 0)] = counts(&record, "launch/bench/total") else { panic!("{record:#}") };
    assert!(a > 0 && a == b, "{a} {b}");
    assert!(record["warnings"].to_string().contains("stopped after"), "{}", record["warnings"]);
}

#[test]
fn a_comparison_is_printed_line_by_line() {
    let output = bench(&["--pairs", "2", "--load", "0,3ms", "--basic", "2ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = stdout(&output).lines();
    let lines: Vec<&str> = lines.skip_while(|line| !line.starts_with("A: as is;")).collect();
    let begins =
        ["A: as is; B: with:sleep 600", "launch ", "load 0, total ", "load 3ms, total ", "basic "];
    assert!(lines.len() > begins.len(), "{}", stdout(&output));
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line}");
    }
    assert!(!stdout(&output).contains("Facts"), "{}", stdout(&output));
}
