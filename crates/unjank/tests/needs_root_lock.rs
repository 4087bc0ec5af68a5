//! `unjank lock bench` under a quota: the control group exists while it measures, and is removed
//! afterwards, however it ends.
//!
//! Needs root and the CPU controller. Fails without them when `UNJANK_TEST_ALL=1`, otherwise says
//! that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use unjank_host::process::send_signal;
use unjank_host::sched::CpuSet;
use unjank_needs::wait::until as wait;

fn bench(home: &Path, arguments: &[&str]) -> Command {
    let mut unjank = Command::new(unjank_needs::unjank!());
    unjank.args(["lock", "bench", "--no-store", "--json", "--environment", "quota"]);
    unjank.args(["--section", "1us", "--outside", "1us"]).args(arguments);
    unjank.env("XDG_STATE_HOME", home).stdout(Stdio::piped()).stderr(Stdio::piped());
    unjank
}

/// The control groups of the process `owner`, wherever they are mounted.
fn groups(owner: u32) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let tops = mounts.lines().filter(|line| line.contains(" - cgroup"));
    let mut found = Vec::new();
    for top in tops.filter_map(|line| line.split(' ').nth(4)) {
        find(Path::new(top), &format!("unjank-{owner}"), 4, &mut found);
    }
    found
}

fn find(directory: &Path, name: &str, depth: u32, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if entry.file_name().to_string_lossy() == name {
                found.push(entry.path());
            } else if depth > 0 {
                find(&entry.path(), name, depth - 1, found);
            }
        }
    }
}

/// Starts a long run. Returns its process, and the number of its peer in the control group.
fn begin(home: &Path) -> (Child, u32) {
    let child = bench(home, &["--threads", "4", "--rounds", "1000"]).spawn().unwrap();
    let mut peer = None;
    wait("the peer", || {
        let members = groups(child.id()).first().map(|group| group.join("cgroup.procs"));
        let members = members.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        peer = members.lines().next().and_then(|line| line.parse().ok());
        peer.is_some()
    });
    (child, peer.unwrap())
}

#[test]
fn a_quota_is_there_while_it_measures_and_gone_afterwards() {
    if !unjank_needs::root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let child = bench(home.path(), &["--threads", "4", "--rounds", "2", "--trial", "60ms"])
        .spawn()
        .unwrap();
    let id = child.id();
    let output = child.wait_with_output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let missing = record["unsupported"].as_array().unwrap();
    let missing = missing.iter().find(|one| one["what"] == "lock bench --environment quota");
    if let Some(missing) = missing {
        unjank_needs::skip(&missing["reason"]);
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{talk}");
    let fact = |name: &str| {
        let facts = record["facts"].as_array().unwrap();
        facts.iter().find(|fact| fact["name"] == name).cloned().unwrap()
    };
    assert!(fact("lock/bench/throttled_periods")["value"].is_number());
    assert_eq!(fact("lock/bench/operations")["labels"]["environment"], "quota");
    assert!(groups(id).is_empty(), "{:?}", groups(id));
    let changes = record["changes"].as_array().unwrap();
    let group = format!("unjank-{id}");
    assert!(
        changes.iter().any(|change| change["knob"].as_str().unwrap().ends_with(&group)),
        "{changes:?}"
    );
    kills_leave_nothing(home.path());
    an_interrupt_leaves_nothing(home.path());
}

/// Microseconds of CPU time in each period of 100 ms.
fn quota(group: &Path) -> usize {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let text = read("cpu.max").or_else(|| read("cpu.cfs_quota_us")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

fn kills_leave_nothing(home: &Path) {
    let (mut child, peer) = begin(home);
    assert_eq!(quota(&groups(child.id())[0]), 50_000 * CpuSet::allowed().unwrap().len());
    send_signal(child.id(), 9).unwrap();
    child.wait().unwrap();
    wait("the peer's end", || !Path::new(&format!("/proc/{peer}")).exists());
    wait("the keeper", || groups(child.id()).is_empty());
    // A peer that dies is an error, and its group is removed.
    let (child, peer) = begin(home);
    let id = child.id();
    send_signal(peer, 9).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("error: the measuring process failed: "), "{said}");
    assert!(groups(id).is_empty());
}

fn an_interrupt_leaves_nothing(home: &Path) {
    let (child, peer) = begin(home);
    let id = child.id();
    send_signal(id, 2).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(groups(id).is_empty() && !Path::new(&format!("/proc/{peer}")).exists());
}
