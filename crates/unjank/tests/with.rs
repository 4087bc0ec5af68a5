//! `unjank with`, end to end: values for the command, messages, exit codes.

mod machine;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use machine::Machine;
use unjank_host::process::send_signal;
use unjank_needs::printed::{stderr, stdout};

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

#[test]
fn the_command_runs_with_the_new_values_and_gives_its_exit_code() {
    let machine = Machine::new(&[("a", "60"), ("b", "always [madvise] never")]);
    let show = format!("cat {0}/sys/a {0}/sys/b; exit 7", machine.root().display());
    let output = machine.run("with", &["/sys/a=10", "/sys/b=never", "--", "sh", "-c", &show]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(stdout(&output), "10\nnever\n");
    assert_eq!(
        stderr(&output),
        "/sys/a: 60 → 10\n/sys/b: madvise → never\n\
         /sys/a: 10 → 60, as it was\n/sys/b: never → madvise, as it was\n"
    );
    assert_eq!((machine.read("a").as_str(), machine.journals()), ("60", 0));
}

#[test]
fn quiet_prints_nothing() {
    let machine = Machine::new(&[("a", "60")]);
    let output = machine.run("with", &["--quiet", "/sys/a=10", "--", "true"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn a_knob_changed_by_others_is_left_and_reported() {
    let machine = Machine::new(&[("a", "60")]);
    let change = format!("echo 30 > {}/sys/a", machine.root().display());
    let output = machine.run("with", &["/sys/a=10", "--", "sh", "-c", &change]);
    assert_eq!(output.status.code(), Some(0));
    let said = "/sys/a: left at 30, which another program wrote after our 10\n";
    assert!(stderr(&output).ends_with(said), "{}", stderr(&output));
    assert_eq!(machine.read("a"), "30");
}

#[test]
fn signals_are_passed_to_the_command_and_everything_is_put_back() {
    for (signal, word, code) in [(SIGTERM, "term\n", 9), (SIGINT, "int\n", 8)] {
        let machine = Machine::new(&[("a", "60")]);
        let mut child = machine.hold(&["/sys/a=10"]);
        // The end of its stdin would end the command as well.
        let _open = child.stdin.take();
        assert_eq!(machine.read("a"), "10");
        send_signal(child.id(), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stdout(&output)), (Some(code), word));
        assert_eq!((machine.read("a").as_str(), machine.journals()), ("60", 0));
    }
}

#[test]
fn a_command_ended_by_a_signal_has_the_exit_code_of_shells() {
    let machine = Machine::new(&[("a", "60")]);
    let output = machine.run("with", &["-q", "/sys/a=10", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(137), ""));
    assert_eq!(machine.read("a"), "60");
}

#[test]
fn the_keeper_reports_what_it_put_back() {
    let machine = Machine::new(&[("a", "60"), ("b", "60")]);
    let mut child = machine.hold(&["/sys/a=10", "/sys/b=10"]);
    machine.write("b", "30");
    child.kill().unwrap();
    drop(child.stdin.take());
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    let said = format!(
        "unjank (process {pid}) was cut off; of its changes: 1 put back, 1 left to other programs\n"
    );
    assert!(stderr(&output).ends_with(&said), "{}", stderr(&output));
    assert_eq!([machine.read("a"), machine.read("b")], ["60", "30"]);
    assert_eq!(machine.journals(), 0);
}

#[test]
fn a_second_session_cannot_change_the_same_knob() {
    let machine = Machine::new(&[("a", "60")]);
    let mut child = machine.hold(&["/sys/a=10"]);
    let output = machine.run("with", &["/sys/a=20", "--", "true"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        format!(
            "error: nothing is changed: /sys/a is held by another unjank, process {}\n",
            child.id()
        )
    );
    assert_eq!(machine.read("a"), "10");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(machine.read("a"), "60");
}

#[test]
fn errors_have_their_exit_code_and_one_sentence() {
    let machine = Machine::new(&[("a", "60"), ("fixed", "1")]);
    let fixed = machine.root().join("sys/fixed");
    fs::set_permissions(fixed, fs::Permissions::from_mode(0o444)).unwrap();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["/sys/a", "--", "true"], 2, "\"/sys/a\" is not KNOB=VALUE, such as vm.swappiness=10"),
        (&["/etc/hostname=x", "--", "true"], 3, "nothing is changed: this machine has no"),
        (&["vm.nothing=1", "--", "true"], 3, "this machine has no /proc/sys/vm/nothing"),
        (&["/sys/cpu*/x=1", "--", "true"], 3, "this machine has no /sys/cpu*/x"),
        (&["/sys/fixed=2", "--", "true"], 3, "nothing is changed: /sys/fixed is read-only"),
        (&["/sys/a=10", "/sys/a=20", "--", "true"], 2, "/sys/a is given two values"),
        (&["/sys/a=10", "--", "no-such-command"], 2, "error: command not found: no-such-command"),
        (&["/sys/a=10"], 2, "required arguments were not provided"),
    ];
    for (arguments, code, said) in cases {
        let output = machine.run("with", arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
        assert_eq!((machine.read("a").as_str(), machine.journals()), ("60", 0));
    }
}

#[test]
fn a_journal_that_does_not_fit_changes_nothing() {
    // A limit on the size of files acts like a full disk: the first line of the
    // journal fits into 512 bytes, the announcement does not.
    let names: Vec<String> = (0..20).map(|n| format!("knob{n}")).collect();
    let knobs: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "60")).collect();
    let machine = Machine::new(&knobs);
    let mut unjank = machine.command("with");
    unjank.args(names.iter().map(|name| format!("/sys/{name}=10"))).args(["--", "true"]);
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 1; trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(unjank.get_program())
        .args(unjank.get_args())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.starts_with("error: nothing is changed: cannot write "), "{said}");
    assert!(said.contains(".journal: File too large") && said.lines().count() == 1, "{said}");
    assert!(names.iter().all(|name| machine.read(name) == "60"));
    assert_eq!(machine.journals(), 0);
}

#[test]
fn a_state_directory_that_cannot_be_used_changes_nothing() {
    let machine = Machine::new(&[("a", "60")]);
    fs::write(machine.state_dir(), "").unwrap();
    let output = machine.run("with", &["/sys/a=10", "--", "true"]);
    assert_eq!(output.status.code(), Some(1));
    fs::remove_file(machine.state_dir()).unwrap();
    fs::create_dir(machine.state_dir()).unwrap();
    fs::set_permissions(machine.state_dir(), fs::Permissions::from_mode(0o777)).unwrap();
    let output = machine.run("with", &["/sys/a=10", "--", "true"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("others may write to it"), "{}", stderr(&output));
    assert_eq!(machine.read("a"), "60");
}

#[test]
fn a_keeper_without_an_owner_does_nothing() {
    let output = Command::new(unjank_needs::unjank!())
        .args(["keeper", "/nonexistent"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = "a keeper needs an order from the unjank that starts it";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
}
