//! `unjank jitter jvm` in real JVMs.
//!
//! Needs a JDK and `make java`; some tests need root. Without them, fails if
//! `UNJANK_TEST_ALL=1`, otherwise prints that it was skipped.

mod shown;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

const JAR: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../java/jitter/target/unjank-jitter.jar");

fn has_java() -> bool {
    let jdk = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/java.sh"))
        .arg("jdks")
        .output()
        .is_ok_and(|jdks| jdks.status.success());
    unjank_needs::is_there("a JDK and `make java`", jdk && Path::new(JAR).is_file())
}

fn jvm() -> Command {
    let mut jvm = Command::new(unjank_needs::unjank!());
    jvm.args(["jitter", "jvm", "--no-store", "--jar", JAR]);
    jvm
}

fn measured(arguments: &str) -> Value {
    let output = jvm().arg("--json").args(arguments.split(' ')).output().expect("unjank runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"))
}

fn failed(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn list<'a>(record: &'a Value, name: &str) -> &'a [Value] {
    record[name].as_array().expect("a list")
}

/// Counts the running JVMs that measure, by a part of their command line.
fn jvms_with(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("procfs").flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| {
            let line = String::from_utf8_lossy(line);
            line.contains("unjank-jitter.jar\0") && line.contains(mark)
        })
        .filter(|line| !line.starts_with(unjank_needs::unjank!().as_bytes()))
        .count()
}

#[test]
fn what_a_jvm_measured_is_shown_again() {
    if !has_java() {
        return;
    }
    let small = ["--variants", "normal", "--count", "300", "--collectors", "serial"];
    shown::check(&[&["jitter", "jvm", "--jar", JAR], &small[..]].concat());
}

#[test]
fn every_jvm_measures_each_period_once() {
    if !has_java() {
        return;
    }
    for way in ["park", "timer"] {
        let record =
            measured(&format!("--variants normal --count 300 --collectors serial --way {way}"));
        let series = list(&record, "series");
        assert!(series.len() >= 2, "{record}");
        for series in series {
            // A missed period is late until the thread ran again: every period counts.
            assert_eq!(series["n"], 300, "{way}");
            assert_eq!(series["labels"]["collector"], "serial");
        }
        let garbage = |fact: &&Value| fact["labels"]["garbage"] == "yes";
        let pauses =
            list(&record, "facts").iter().filter(|fact| fact["name"] == "jitter/jvm/pauses");
        assert!(pauses.filter(garbage).all(|fact| fact["value"].as_f64() > Some(0.0)));
        assert_eq!(list(&record, "unsupported").len(), 0, "{record}");
    }
}

#[test]
fn every_variant_measures_and_leaves_nothing_behind() {
    if !has_java() || !unjank_needs::root() {
        return;
    }
    let variants = ["normal", "thread", "inversion-aware", "process", "native"];
    let record = measured(&format!(
        "--variants {} --count 307 --collectors g1 --garbage yes --rivals 1",
        variants.join(",")
    ));
    assert_eq!(list(&record, "unsupported").len(), 0, "{record}");
    for variant in variants {
        let of = |value: &&Value| value["labels"]["variant"] == variant;
        assert!(list(&record, "series").iter().any(|series| of(&series)), "{variant}");
        let worst =
            list(&record, "outliers").iter().find(of).expect("the worst wake-ups are listed");
        assert!(worst["cause"].as_str().is_some_and(|cause| !cause.is_empty()), "{worst}");
    }
    let published = |fact: &&Value| fact["name"] == "jitter/jvm/published";
    assert_eq!(list(&record, "facts").iter().filter(published).count(), 3);
    assert_eq!(jvms_with("\x00307\x00"), 0);
}

#[test]
fn the_tables_show_each_cell_and_the_published_results() {
    if !has_java() || !unjank_needs::root() {
        return;
    }
    let output = jvm()
        .args(["--variants", "normal,thread", "--count", "200", "--collectors", "serial"])
        .args(["--garbage", "yes", "--no-trace"])
        .output()
        .expect("unjank runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    let lines = |words: &[&str]| {
        said.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
    };
    let jvms = lines(&["serial", "yes", "normal"]);
    assert!(jvms >= 1, "{said}");
    assert_eq!(lines(&["serial", "yes", "thread"]), jvms, "{said}");
    assert_eq!(lines(&["Higashiyama et al.", "2.70 ms", "66.0 ms", "16.8 ms", "future work"]), 1);
    let asked = lines(&["JDK", "serial, CPU", "is a thread woken in time"]);
    assert_eq!(lines(&["JDK", "serial, CPU"]) - asked, jvms, "{said}");
    let untraced = "the threads that had the CPU are not known: --no-trace was given";
    assert_eq!(lines(&[untraced]), 1, "{said}");
}

#[test]
fn an_interrupt_ends_the_jvm_too() {
    if !has_java() {
        return;
    }
    let mut child = jvm()
        .args(["--variants", "normal", "--count", "60007", "--collectors", "serial"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("unjank starts");
    while jvms_with("\x0060007\x00") == 0 {
        thread::sleep(Duration::from_millis(20));
        assert!(child.try_wait().expect("it is ours").is_none(), "it ended by itself");
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.is_ok_and(|status| status.success()));
    assert_eq!(child.wait().expect("it is ours").code(), Some(130));
    assert_eq!(jvms_with("\x0060007\x00"), 0);
}

/// A JVM home whose `java` is this script.
fn fake_jdk(dir: &Path, script: &str) -> PathBuf {
    let java = dir.join("bin/java");
    fs::create_dir_all(dir.join("bin")).expect("a directory");
    fs::write(dir.join("release"), "JAVA_VERSION=\"17.0.1\"\n").expect("a file");
    let written = dir.join("java.sh");
    fs::write(&written, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&written, fs::Permissions::from_mode(0o755)).expect("a mode");
    unjank_needs::copy_program(&written, &java);
    dir.to_owned()
}

#[test]
fn what_cannot_be_measured_says_why() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |home: &Path| {
        let mut jvm = jvm();
        jvm.args(["--variants", "normal", "--garbage", "no", "--collectors", "serial"])
            .args(["--count", "100", "--jdk"])
            .arg(home);
        failed(&jvm.output().expect("unjank runs"))
    };
    let (code, said) = run(dir.path());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("is not a JDK: it has no bin/java"), "{said}");

    let version = "case $* in *-version) exit 0;; esac";
    let dies = format!("{version}\necho ready $$; read line; echo out of memory >&2; exit 3");
    let (code, said) = run(&fake_jdk(&dir.path().join("dies"), &dies));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("ended before it was done: out of memory"), "{said}");

    let lies = format!("{version}\necho ready $$; read line; echo done");
    let (code, said) = run(&fake_jdk(&dir.path().join("lies"), &lies));
    assert!(code == Some(2) || code == Some(1), "{said}");
    assert!(said.contains("run.ujj"), "{said}");

    let (code, said) = run(&fake_jdk(&dir.path().join("lacks"), "exit 1"));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("has no collector serial"), "{said}");

    let output = jvm().args(["--vm-priority", "80"]).output().expect("unjank runs");
    let (code, said) = failed(&output);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--vm-priority 80 is not below --priority 80"), "{said}");
}

#[test]
fn the_papers_experiment_is_shown_again_and_judged_by_rounds() {
    if !has_java() || !unjank_needs::root() {
        return;
    }
    let few = ["--count", "200", "--rounds", "2"];
    let printed = shown::check(&[&["reproduce", "rt", "--jar", JAR], &few[..]].concat());
    assert!(printed.contains("66.0 ms") && printed.contains("16.8 ms"), "{printed}");
    // Two rounds have no interval.
    assert!(printed.contains("Higashiyama et al.: 0 of 5 claims hold, 5 are undecided"));
}
