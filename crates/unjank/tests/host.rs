//! `unjank host` on the command line.
#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::assert::Assert;

const FIXTURES: [&str; 4] = ["laptop-amd-pstate", "panel-exynos4210", "phone-walt", "vm-cloud"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/fixtures").join(name)
}

fn host(arguments: &[&str]) -> Assert {
    let mut command = Command::cargo_bin("unjank").unwrap();
    command.arg("host").args(arguments).env("COLUMNS", "100").assert()
}

fn host_at(dir: &Path, arguments: &[&str]) -> Assert {
    let mut all = vec!["--root", dir.to_str().unwrap()];
    all.extend(arguments);
    host(&all)
}

fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

fn stderr(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

fn json(assert: &Assert) -> serde_json::Value {
    serde_json::from_str(&stdout(assert)).unwrap()
}

#[test]
fn the_running_machine_is_described() {
    let text = stdout(&host(&[]).success());
    for heading in ["Kernel", "CPU", "Real-time", "Memory and swap", "Virtualisation", "Clock"] {
        assert!(text.lines().any(|line| line == heading), "no {heading} in:\n{text}");
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(json(&host(&["--json"]).success())["kernel"]["release"], release.trim());
}

#[test]
fn every_recorded_machine_is_described() {
    for name in FIXTURES {
        let assert = host_at(&fixture(name), &[]).success();
        assert_eq!(stderr(&assert), "");
        insta::assert_snapshot!(name, stdout(&assert));
        let machine = json(&host_at(&fixture(name), &["--json"]).success());
        assert!(machine["cpu"]["online"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_recording_is_described_like_its_machine() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("new");
    let phone = fixture("phone-walt");
    let assert = host_at(&phone, &["--record", copy.to_str().unwrap()]).success();
    assert_eq!(stdout(&assert), "");
    assert!(stderr(&assert).starts_with("recorded "), "{}", stderr(&assert));
    let original = stdout(&host_at(&phone, &["--json"]).success());
    assert_eq!(stdout(&host_at(&copy, &["--json"]).success()), original);
}

#[test]
fn a_recording_of_the_running_machine_leaves_out_private_data() {
    let dir = tempfile::tempdir().unwrap();
    host(&["--record", dir.path().to_str().unwrap()]).success();
    let status = fs::read_to_string(dir.path().join("proc/self/status")).unwrap();
    let needed = ["CapEff:", "Cpus_allowed_list:"];
    assert!(status.lines().all(|line| needed.iter().any(|name| line.starts_with(name))));
    let mounts = fs::read_to_string(dir.path().join("proc/self/mountinfo")).unwrap();
    assert!(mounts.lines().all(|line| line.contains(" - cgroup")));
}

#[test]
fn a_recording_needs_a_new_directory() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes"), "mine").unwrap();
    let assert = host(&["--record", dir.path().to_str().unwrap()]).failure().code(2);
    let path = dir.path().display();
    assert_eq!(
        stderr(&assert),
        format!("error: {path} is not empty; name a new or empty directory for the recording\n")
    );
    assert_eq!(fs::read_to_string(dir.path().join("notes")).unwrap(), "mine");
}

#[test]
fn a_root_must_be_a_recorded_tree() {
    let assert = host(&["--root", "/nowhere/at/all"]).failure().code(2);
    assert_eq!(
        stderr(&assert),
        "error: /nowhere/at/all is not a directory: --root needs a tree made by \
         `unjank host --record`\n"
    );
    let empty = tempfile::tempdir().unwrap();
    let assert = host_at(empty.path(), &[]).failure().code(2);
    assert!(stderr(&assert).contains("has neither proc nor sys in it"), "{}", stderr(&assert));
}

#[test]
fn a_tree_of_nonsense_is_described_without_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("proc/self")).unwrap();
    for file in ["cpuinfo", "stat", "swaps", "meminfo", "self/cgroup", "self/limits"] {
        fs::write(dir.path().join("proc").join(file), b"\x1b[31m\xff\n:::\n- - -\n").unwrap();
    }
    let text = stdout(&host_at(dir.path(), &[]).success());
    assert!(text.contains("Not available here"));
    assert!(!text.contains('\u{1b}'), "{text}");
}
