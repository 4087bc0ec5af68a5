//! `unjank with` under every limit on the size of files (`RLIMIT_FSIZE`). The journal
//! reaches the limit at another line each time. The kernel then sends SIGXFSZ, which
//! ends a process by default, to the owner as well as to its keeper.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod machine;

use std::process::{Command, Stdio};

use machine::Machine;
use unjank_needs::printed::stderr;

/// The smallest limit: the tree's knobs are files under the limit as well, and their
/// values must fit.
const SMALLEST: usize = 8;
/// The largest limit: the journal of a run, and every other file, is shorter.
const LARGEST: usize = 1_600;

fn machine() -> Machine {
    Machine::new(&[("a", "1"), ("b", "2"), ("c", "3")])
}

/// `unjank with` under a limit, running `script`.
fn with(machine: &Machine, limit: usize, script: &str) -> (Option<i32>, String) {
    let mut unjank = machine.command("with");
    unjank.args(["/sys/a=4", "/sys/b=5", "/sys/c=6", "--", "sh", "-c", script]);
    let output = Command::new("prlimit")
        .arg(format!("--fsize={limit}:{limit}"))
        .arg(unjank.get_program())
        .args(unjank.get_args())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.code(), stderr(&output).to_owned())
}

fn is_as_before(machine: &Machine) -> bool {
    ["a", "b", "c"].map(|knob| machine.read(knob)) == ["1", "2", "3"]
}

#[test]
fn under_every_limit_all_knobs_are_put_back() {
    let (mut changed, mut refused) = (0, 0);
    for limit in (SMALLEST..LARGEST).step_by(9) {
        let machine = machine();
        let (code, said) = with(&machine, limit, "exit 7");
        assert!(is_as_before(&machine), "limit {limit}: {code:?} {said}");
        match code {
            Some(7) => changed += 1,
            // A process that a signal ended has no code.
            Some(1) => refused += 1,
            _ => panic!("limit {limit}: {code:?} {said}"),
        }
    }
    assert!(changed > 0 && refused > 0, "{changed} changed, {refused} refused");
}

#[test]
fn under_every_limit_a_keeper_does_its_work() {
    let mut killed = 0;
    for limit in (SMALLEST..LARGEST).step_by(31) {
        let machine = machine();
        let (code, said) = with(&machine, limit, "kill -9 $PPID");
        // Its stderr ends only when the keeper has ended, too.
        assert!(is_as_before(&machine), "limit {limit}: {code:?} {said}");
        if code.is_none() {
            assert!(said.contains("of its changes: 3 put back"), "limit {limit}: {said}");
            killed += 1;
        }
    }
    assert!(killed > 0);
}

#[test]
fn a_command_keeps_the_default_action_of_the_signal() {
    let machine = machine();
    let end = "cat /dev/zero > \"$0\"";
    let file = machine.root().join("large");
    let mut unjank = machine.command("with");
    unjank.args(["/sys/a=4", "--", "sh", "-c", end]).arg(&file);
    let status = Command::new("prlimit")
        .arg("--fsize=65536:65536")
        .arg(unjank.get_program())
        .args(unjank.get_args())
        .status()
        .unwrap();
    // 128 + SIGXFSZ: the shell's exit code for a command that this signal has ended.
    assert_eq!(status.code(), Some(153));
    assert!(is_as_before(&machine));
}
