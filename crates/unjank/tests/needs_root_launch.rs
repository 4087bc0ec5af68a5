//! `unjank launch bench` with a knob of the running machine that is harmless and
//! that no other program changes.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;
use unjank_host::sched::{Policy, ThreadId, policy_of};

const KNOB: &str = "/proc/sys/vm/dirtytime_expire_seconds";

#[test]
fn a_knob_is_changed_for_its_launches_only() {
    if !unjank_needs::root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen");
    let before = fs::read_to_string(KNOB).unwrap();
    let launch = format!("cat {KNOB} >> {}", seen.display());
    let output = Command::new(unjank_needs::unjank!())
        .args(["launch", "bench", "--b", "vm.dirtytime_expire_seconds=40007", "--pairs", "4"])
        .args(["--warm-up", "0", "--gap", "1ms", "--drop-caches", "--json", "--no-store"])
        .arg("--state-dir")
        .arg(directory.path().join("state"))
        .args(["--", "sh", "-c", &launch])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(KNOB).unwrap(), before, "put back");
    let seen = fs::read_to_string(seen).unwrap();
    let changed = seen.lines().filter(|value| *value == "40007").count();
    let as_is = seen.lines().filter(|value| *value == before.trim()).count();
    assert_eq!((changed, as_is), (4, 4), "{seen}");
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let change = &record["changes"][0];
    assert_eq!((&change["knob"], &change["during"]), (&KNOB.into(), &"40007".into()));
    assert!(record["warnings"].to_string().contains("drop_caches"), "{}", record["warnings"]);
    assert_eq!(
        fs::read_dir(directory.path().join("state"))
            .unwrap()
            .filter(|entry| {
                entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "journal")
            })
            .count(),
        0
    );
}

/// A counter in `/proc/vmstat`, since boot.
fn vmstat(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap()
}

#[test]
fn a_nice_value_and_a_cold_cache_are_those_of_the_program() {
    if !unjank_needs::root() {
        return;
    }
    let _turn = unjank_needs::turns::autogroups();
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen");
    let drops = vmstat("drop_pagecache ");
    let output = Command::new(unjank_needs::unjank!())
        .args(["launch", "bench", "--b", "nice=-7,cold", "--pairs", "3", "--warm-up", "0"])
        .args(["--gap", "1ms", "--json", "--no-store", "--state-dir"])
        .arg(directory.path().join("state"))
        .args(["--", "sh", "-c", &format!("nice >> {}", seen.display())])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let own = Command::new("nice").output().unwrap().stdout;
    let own = String::from_utf8(own).unwrap();
    let seen = fs::read_to_string(seen).unwrap();
    let count = |value: &str| seen.lines().filter(|line| *line == value).count();
    assert_eq!((count("-7"), count(own.trim())), (3, 3), "{seen}");
    assert!(vmstat("drop_pagecache ") >= drops + 3);
}

#[test]
fn an_unprivileged_user_may_not_change_knobs() {
    if !unjank_needs::root() {
        return;
    }
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = directory.path().join("unjank");
    unjank_needs::copy_program(unjank_needs::unjank!(), &program);
    for options in [
        &["--b", "vm.dirtytime_expire_seconds=40007"][..],
        &["--b", "with:sleep 600", "--drop-caches"],
    ] {
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .args(["--inh-caps=-all", "--bounding-set=-all"])
            .arg(&program)
            .args(["launch", "bench", "--gap", "0", "--no-store"])
            .args(options)
            .arg("--state-dir")
            .arg(directory.path().join("state"))
            .args(["--", "true"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{said}");
    }
}

#[test]
fn a_real_time_program_passes_its_policy_and_its_limit_on() {
    if !unjank_needs::root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let [parent, child] = ["parent", "child"].map(|name| directory.path().join(name));
    // Fields 40 and 41 of proc_pid_stat(5) are the priority and the policy.
    let launch = format!(
        "cat /proc/$$/stat >> {}; (cat /proc/self/stat; grep realtime.timeout /proc/self/limits) \
         >> {}",
        parent.display(),
        child.display()
    );
    let output = Command::new(unjank_needs::unjank!())
        .args(["launch", "bench", "--a", "rt=fifo:2", "--b", "rt=rr:1", "--pairs", "2"])
        .args(["--warm-up", "0", "--gap", "1ms", "--json", "--no-store"])
        .args(["--", "sh", "-c", &launch])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let policies = |text: &str| {
        let of_line = |line: &str| {
            let (_, fields) = line.rsplit_once(") ")?;
            let number = |at: usize| fields.split(' ').nth(at).unwrap().parse::<u32>().unwrap();
            Some([number(37), number(38)])
        };
        let mut policies: Vec<[u32; 2]> = text.lines().filter_map(of_line).collect();
        policies.sort_unstable();
        policies
    };
    let [parent, child] = [parent, child].map(|file| fs::read_to_string(file).unwrap());
    let [fifo, round_robin] = [1, 2];
    let expected = [[1, round_robin], [1, round_robin], [2, fifo], [2, fifo]];
    assert_eq!((policies(&parent), policies(&child)), (expected.to_vec(), expected.to_vec()));
    let limited = child.lines().filter(|line| line.contains(" 7000000 "));
    assert_eq!(limited.count(), 4, "{child}");
}

#[test]
fn a_daemon_that_a_program_leaves_behind_loses_its_policy() {
    if !unjank_needs::root() {
        return;
    }
    let _turn = unjank_needs::turns::autogroups();
    let own = policy_of(ThreadId::current()).unwrap().0;
    for (condition, policy) in
        [("nice=-7", Policy::other(-7)), ("rt=fifo:1", "fifo:1".parse().unwrap())]
    {
        let (daemons, record) = daemons_left_under(condition);
        assert_eq!(daemons.len(), 2);
        assert_ne!(own, policy);
        assert!(daemons.iter().all(|daemon| *daemon == own), "{condition}: {daemons:?}");
        let warning =
            format!("{condition}: processes that the program started ran on after its end (1)");
        assert!(record["warnings"].to_string().contains(&warning), "{}", record["warnings"]);
    }
}

/// The policies of the daemons that two launches have left, one of them under a condition.
fn daemons_left_under(condition: &str) -> (Vec<Policy>, Value) {
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen");
    let session = "setsid sh -c 'sleep 600 >/dev/null 2>&1 & echo $!'";
    let daemon = format!("daemon=$({session}); echo $daemon >> {}", seen.display());
    let output = Command::new(unjank_needs::unjank!())
        .args(["launch", "bench", "--b", condition, "--pairs", "1", "--warm-up", "0"])
        .args(["--gap", "1ms", "--json", "--no-store", "--state-dir"])
        .arg(directory.path().join("state"))
        .args(["--", "sh", "-c", &daemon])
        .output()
        .unwrap();
    let seen = fs::read_to_string(seen).unwrap();
    let daemons: Vec<u32> = seen.lines().map(|line| line.parse().unwrap()).collect();
    let policies = daemons.iter().map(|daemon| policy_of(ThreadId(*daemon)).unwrap().0).collect();
    for daemon in &daemons {
        Command::new("kill").arg(daemon.to_string()).status().unwrap();
    }
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    (policies, serde_json::from_slice(&output.stdout).unwrap())
}
