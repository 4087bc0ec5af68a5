//! `unjank with` under every limit on the size of files (`RLIMIT_FSIZE`), which
//! the journal meets at another line each time. Beyond it the kernel sends
//! SIGXFSZ, which ends a process, to the owner as well as to its keeper.

#![expect(clippy::unwrap_used, reason = "what a test does to set itself up may panic")]

mod machine;

use std::process::{Command, Stdio};

use machine::{Machine, stderr};

/// A tree's knobs are files under the limit as well; shorter values are written
/// in whole below any limit from here on.
const SMALLEST: usize = 8;
/// The journal of a run, and all that is ever written, is shorter.
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
            // A signal would be no code.
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
        // The end of its stderr is the end of the keeper.
        assert!(is_as_before(&machine), "limit {limit}: {code:?} {said}");
        if code.is_none() {
            assert!(said.contains("of its changes: 3 put back"), "limit {limit}: {said}");
            killed += 1;
        }
    }
    assert!(killed > 0);
}

#[test]
fn a_command_has_the_limits_signal_as_ever() {
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
    // 128 + SIGXFSZ, by which the shell tells how cat has ended.
    assert_eq!(status.code(), Some(153));
    assert!(is_as_before(&machine));
}
