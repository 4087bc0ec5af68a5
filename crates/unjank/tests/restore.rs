//! `unjank restore`, end to end.
#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod machine;

use std::fs;

use machine::Machine;
use serde_json::Value;
use unjank_host::process::send_signal;
use unjank_needs::printed::{stderr, stdout};

/// Leaves `/sys/a` and `/sys/b` at 10, with unjank and its keeper killed. Returns
/// unjank's process number.
fn leave_changed(machine: &Machine) -> u32 {
    let mut child = machine.hold(&["/sys/a=10", "/sys/b=10"]);
    let keeper = keeper_of(machine).expect("it is there before the first change");
    send_signal(keeper, 9).unwrap();
    child.kill().unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!((machine.read("a").as_str(), machine.journals()), ("10", 1));
    child.id()
}

fn keeper_of(machine: &Machine) -> Option<u32> {
    let state_dir = machine.state_dir();
    let wanted = format!("keeper\0{}\0", state_dir.display());
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        entry.unwrap().file_name().to_str().and_then(|name| name.parse::<u32>().ok())
    });
    processes.into_iter().find(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).ends_with(&wanted)
    })
}

fn machine() -> Machine {
    Machine::new(&[("a", "60"), ("b", "60")])
}

#[test]
fn usually_there_is_nothing_to_restore() {
    let machine = machine();
    let output = machine.run("restore", &[]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!((stdout(&output), stderr(&output)), ("nothing was left changed\n", ""));
    assert!(!machine.state_dir().exists());
}

#[test]
fn changes_are_put_back_unless_others_changed_them_since() {
    let machine = machine();
    let pid = leave_changed(&machine);
    machine.write("b", "30");
    let output = machine.run("restore", &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (first, rest) = stdout(&output).split_once('\n').unwrap();
    assert!(first.starts_with(&format!("unjank (process {pid}, since 20")), "{first}");
    assert!(first.ends_with("Z) was cut off:"), "{first}");
    assert_eq!(
        rest,
        "  /sys/a: 10 → 60, as it was\n  \
         /sys/b: left at 30, which another program wrote after our 10\n"
    );
    assert_eq!([machine.read("a"), machine.read("b")], ["60", "30"]);
    assert_eq!(stdout(&machine.run("restore", &[])), "nothing was left changed\n");
}

#[test]
fn a_dry_run_prints_the_same_and_changes_nothing() {
    let machine = machine();
    leave_changed(&machine);
    let output = machine.run("restore", &["--dry-run"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("  /sys/a: would be put back: 10 → 60\n"));
    assert_eq!((machine.read("a").as_str(), machine.journals()), ("10", 1));
}

#[test]
fn json_has_every_change_with_its_end() {
    let machine = machine();
    let pid = leave_changed(&machine);
    let output = machine.run("restore", &["--json"]);
    let document: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(document["schema"], "unjank.restore/1");
    assert_eq!(document["dry_run"], false);
    let journal = &document["journals"][0];
    assert_eq!((&journal["pid"], &journal["standing"]), (&pid.into(), &"stale".into()));
    assert_eq!(
        journal["changes"][0],
        serde_json::json!({
            "path": "/sys/a", "kind": "file", "before": "60", "during": "10", "after": "60",
            "outcome": "put_back",
        })
    );
}

#[test]
fn a_running_session_is_left_alone() {
    let machine = machine();
    let mut child = machine.hold(&["/sys/a=10"]);
    let output = machine.run("restore", &[]);
    assert_eq!(output.status.code(), Some(0));
    let said = "Z) is running, and puts its changes back itself\n";
    assert!(stdout(&output).ends_with(said), "{}", stdout(&output));
    assert_eq!(machine.read("a"), "10");
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn the_next_session_first_restores_and_reports_it() {
    let machine = machine();
    leave_changed(&machine);
    let output = machine.run("with", &["/sys/a=20", "--", "true"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        stderr(&output),
        "left by an earlier unjank: /sys/a: 10 → 60, as it was\n\
         left by an earlier unjank: /sys/b: 10 → 60, as it was\n\
         /sys/a: 60 → 20\n/sys/a: 20 → 60, as it was\n"
    );
}

#[test]
fn changes_that_cannot_be_put_back_are_kept_and_fail() {
    let machine = machine();
    leave_changed(&machine);
    let knob = machine.root().join("sys/a");
    fs::remove_file(&knob).unwrap();
    fs::create_dir(&knob).unwrap();
    let output = machine.run("restore", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("  /sys/a: not put back to 60: /sys/a is not a knob"));
    assert!(stdout(&output).contains("  /sys/b: 10 → 60, as it was"));
    assert_eq!(machine.journals(), 1);
    // A change that was put back is not reported again.
    let again = machine.run("restore", &[]);
    assert!(!stdout(&again).contains("/sys/b"), "{}", stdout(&again));
}

#[test]
fn a_malformed_journal_is_reported_and_kept() {
    let machine = machine();
    leave_changed(&machine);
    machine.run("restore", &[]);
    fs::write(machine.state_dir().join("x.journal"), "no journal\n").unwrap();
    let output = machine.run("restore", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("x.journal is not usable: cannot parse "));
    assert_eq!(machine.journals(), 1);
}

#[test]
fn a_knob_outside_the_kernels_places_is_never_written() {
    let machine = machine();
    leave_changed(&machine);
    fs::create_dir(machine.root().join("etc")).unwrap();
    let shadow = machine.root().join("etc/shadow");
    fs::write(&shadow, "10\n").unwrap();
    let journal = machine.journal_files().remove(0);
    // In the old format without checksums, which would show the change.
    let text = fs::read_to_string(&journal).unwrap().replace("/sys/a", "/etc/shadow");
    let plain = |line: &str| {
        line.split_once("\"line\":").map(|(_, rest)| rest[..rest.len() - 1].to_owned())
    };
    let lines: Vec<String> = text.lines().filter_map(plain).collect();
    let forged = lines.join("\n") + "\n";
    fs::write(&journal, forged).unwrap();
    let output = machine.run("restore", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("/etc/shadow is not a knob"), "{}", stdout(&output));
    assert_eq!(fs::read_to_string(&shadow).unwrap(), "10\n");
    assert_eq!(machine.read("b"), "60", "the honest part is done");
}
