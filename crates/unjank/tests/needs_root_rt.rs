//! `unjank rt` with real-time policies.
//!
//! Needs root. Without it, fails if `UNJANK_TEST_ALL=1`, otherwise prints that it
//! was skipped.

// Tests print why they were skipped.
#![allow(clippy::print_stdout)]
#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod program;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use program::Program;
use program::private_state::{PrivateState, end, kill_with_keeper, line, of_nobody};
use unjank_host::process::send_signal;
use unjank_host::sched::{Policy, ThreadId, policy_of};
use unjank_needs::printed::{stderr, stdout};
use unjank_needs::wait;

const KILL: i32 = 9;

/// The lowest priorities: they are enough for the test and disturb the machine least.
const RULES: [&str; 4] = ["--thread", "meas*=fifo:2", "--thread", "GC Thread*=rr:1"];

fn ordinary(program: &Program) -> bool {
    let is_other = |policy| matches!(policy, Some(Policy::Other(_)));
    program.threads().iter().all(|thread| is_other(thread.policy))
}

fn is_ordinary(policy: Policy) -> bool {
    matches!(policy, Policy::Other(_))
}

#[test]
fn threads_become_real_time_with_guards_and_ordinary_again() {
    if !unjank_needs::root() {
        return;
    }
    let (place, mut program) =
        (PrivateState::new(), Program::start(&["meas", "GC Thread#0", "load-0"]));
    let limit = program.run_limit();
    let (unjank, mut lines) = place.watch(&program, &RULES);
    let policy = |name| program.policy(name).0.to_string();
    assert_eq!(["meas", "GC Thread#0"].map(policy), ["fifo:2", "rr:1"]);
    assert!(is_ordinary(program.policy("load-0").0));
    assert!(program.policy("meas").1, "its children must not be real-time");
    assert!(program.run_limit().is_some());
    // Its children are ordinary unless their name matches a rule.
    program.order("new load-1");
    program.order("new GC Thread#1");
    let event = line(&mut lines);
    assert_eq!(
        (&event["name"], &event["now"]),
        (&"GC Thread#1".into(), &"rr:1 reset-on-fork".into())
    );
    let output = end(unjank, lines);
    assert!(output.contains("\"outcome\":\"put_back\""), "{output}");
    assert!(ordinary(&program) && program.run_limit() == limit);
    assert_eq!(place.ledgers(), 0);
}

#[test]
fn a_thread_that_never_sleeps_becomes_ordinary_for_good() {
    if !unjank_needs::root() {
        return;
    }
    let (place, mut program) = (PrivateState::new(), Program::start(&["meas"]));
    let rules = ["--others", "fifo:1", "--max-busy", "200ms"];
    let (unjank, mut lines) = place.watch(&program, &rules);
    program.order("spin meas-spins");
    let demoted = loop {
        let event = line(&mut lines);
        if event["event"] == "demoted" {
            break event;
        }
    };
    assert_eq!(demoted["name"], "meas-spins");
    assert!(demoted["after"].as_str().unwrap().starts_with("other"), "{demoted}");
    assert!(demoted["busy_ns"].as_u64().unwrap() > 200_000_000, "{demoted}");
    assert!(is_ordinary(program.policy("meas-spins").0));
    assert_eq!(program.policy("meas").0.to_string(), "fifo:1");
    std::thread::sleep(Duration::from_millis(600));
    assert!(is_ordinary(program.policy("meas-spins").0));
    end(unjank, lines);
    assert!(ordinary(&program));
}

#[test]
fn a_killed_session_is_put_back_by_its_keeper() {
    if !unjank_needs::root() {
        return;
    }
    let (place, program) = (PrivateState::new(), Program::start(&["meas", "GC Thread#0"]));
    let limit = program.run_limit();
    let (mut unjank, _) = place.watch(&program, &RULES);
    assert_ne!(program.run_limit(), limit);
    send_signal(unjank.id(), KILL).unwrap();
    unjank.wait().unwrap();
    wait::until("the keeper", || place.ledgers() == 0);
    assert!(ordinary(&program) && program.run_limit() == limit);
    assert_eq!(stdout(&place.run(&["restore"])), "nothing was left changed\n");
}

#[test]
fn the_second_of_two_sessions_puts_back_both() {
    if !unjank_needs::root() {
        return;
    }
    for killed in [false, true] {
        let (place, program) = (PrivateState::new(), Program::start(&["meas"]));
        let limit = program.run_limit();
        let (first, said) = place.watch(&program, &["--thread", "meas=fifo:1"]);
        let (mut second, lines) = place.watch(&program, &["--thread", "meas=fifo:2"]);
        let rest = end(first, said);
        let waits = format!("another unjank, process {}, has changed it since", second.id());
        assert!(rest.contains(&waits), "{rest}");
        assert_eq!(program.policy("meas").0.to_string(), "fifo:2");
        if killed {
            send_signal(second.id(), KILL).unwrap();
            second.wait().unwrap();
        } else {
            end(second, lines);
        }
        wait::until("all ledgers are removed", || place.ledgers() == 0);
        assert!(ordinary(&program) && program.run_limit() == limit);
    }
}

#[test]
fn a_command_whose_unjank_is_killed_is_ordinary_again() {
    if !unjank_needs::root() {
        return;
    }
    let place = PrivateState::new();
    let script = "echo $$; exec sleep 600";
    let mut unjank = place
        .rt(&["exec", "--others", "fifo:1", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(unjank.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let command = ThreadId(said.trim().parse().unwrap());
    let policy = || policy_of(command).unwrap().0;
    wait::until("the policy", || policy().is_realtime());
    send_signal(unjank.id(), KILL).unwrap();
    unjank.wait().unwrap();
    wait::until("the keeper", || place.ledgers() == 0);
    let policy = policy();
    send_signal(command.0, KILL).unwrap();
    assert!(is_ordinary(policy), "{policy}");
}

#[test]
fn a_session_that_is_killed_with_its_keeper_is_put_back_by_the_next() {
    if !unjank_needs::root() {
        return;
    }
    for general in [false, true] {
        let (place, program) = (PrivateState::new(), Program::start(&["meas", "GC Thread#0"]));
        let limit = program.run_limit();
        let (mut unjank, _) = place.watch(&program, &RULES);
        kill_with_keeper(&mut unjank);
        assert_eq!(program.policy("meas").0.to_string(), "fifo:2");
        let output = if general { place.restore_all() } else { place.run(&["restore"]) };
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).contains("has ended and left changes:"), "{}", stdout(&output));
        assert!(ordinary(&program) && program.run_limit() == limit);
        assert_eq!(place.ledgers(), 0);
    }
}

#[test]
fn what_is_kept_survives_the_session_and_what_was_cut_off_does_not() {
    if !unjank_needs::root() {
        return;
    }
    // A session with --keep is killed at any moment: all or nothing stays.
    let mut kept = 0;
    for round in 0..20_u64 {
        let (place, program) = (PrivateState::new(), Program::start(&["meas", "GC Thread#0"]));
        let id = program.id().to_string();
        let arguments = [&["set", &id, "--keep"], &RULES[..]].concat();
        let mut unjank =
            place.rt(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(4 * round));
        let _it_may_have_ended = send_signal(unjank.id(), KILL);
        // Ends when the keeper has closed stderr, too.
        let mut said = String::new();
        unjank.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        unjank.wait().unwrap();
        let policies = ["meas", "GC Thread#0"].map(|name| program.policy(name).0.to_string());
        // A ledger without changes may be left, too.
        let stays = policies[0] != "other";
        kept += u32::from(stays);
        let wanted = if stays { ["fifo:2", "rr:1"] } else { ["other", "other"] };
        assert_eq!(policies, wanted, "round {round}: {said}");
        assert!(!stays || place.ledgers() == 1, "round {round}: {said}");
        assert_eq!(place.run(&["restore"]).status.code(), Some(0));
        assert!(ordinary(&program));
    }
    println!("{kept} of 20 were kept");
}

#[test]
fn five_hundred_threads_are_changed_and_put_back() {
    if !unjank_needs::root() {
        return;
    }
    let (place, mut program) = (PrivateState::new(), Program::start(&[]));
    program.order("many 500");
    let rules = ["--thread", "worker-*=fifo:1", "--keep"];
    let output = place.set(&program, &rules);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("500 threads (worker-"), "{said}");
    assert!(said.contains(": 500 of "), "{said}");
    let realtime = || program.threads().iter().filter(|t| t.policy.unwrap().is_realtime()).count();
    assert_eq!(realtime(), 500);
    assert_eq!(place.run(&["restore"]).status.code(), Some(0));
    assert_eq!(realtime(), 0);
}

#[test]
fn a_process_may_end_while_it_is_walked() {
    if !unjank_needs::root() {
        return;
    }
    for round in 0..30_u64 {
        let (place, mut program) = (PrivateState::new(), Program::start(&["meas"]));
        program.order("churn short");
        program.order("many 60");
        let id = program.id().to_string();
        let rules = ["set", &id, "--others", "fifo:1", "--keep"];
        let unjank = place.rt(&rules).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round));
        program.kill();
        let output = unjank.wait_with_output().unwrap();
        // Either all threads were changed before it ended, or none.
        let (code, said) = (output.status.code().unwrap(), stderr(&output));
        let gone = [
            format!("error: no such process: {id}\n"),
            format!("error: the threads of process {id} that match have ended meanwhile\n"),
        ];
        assert!(code == 0 || (code == 2 && gone.contains(&said.to_owned())), "{code}: {said}");
        let output = place.run(&["restore"]);
        assert_eq!((output.status.code(), place.ledgers()), (Some(0), 0), "{}", stdout(&output));
    }
}

#[test]
fn short_lived_threads_cause_no_failure() {
    if !unjank_needs::root() {
        return;
    }
    let (place, mut program) = (PrivateState::new(), Program::start(&["meas"]));
    program.order("churn short");
    let (unjank, lines) = place.watch(&program, &["--others", "fifo:1"]);
    std::thread::sleep(Duration::from_millis(500));
    let output = end(unjank, lines);
    assert!(!output.contains("\"failed\""), "{output}");
    wait::until("all to be ordinary", || ordinary(&program));
    assert_eq!(place.ledgers(), 0);
}

#[test]
fn a_command_starts_real_time_and_what_it_leaves_is_put_back() {
    if !unjank_needs::root() {
        return;
    }
    let place = PrivateState::new();
    let script = "sleep 600 >/dev/null 2>&1 & echo $!; read end; exit 0";
    let options = ["--others", "fifo:1", "--", "sh", "-c", script];
    let (output, left) = place.exec_and_leave(&options);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("): fifo:1 reset-on-fork → "), "{}", stderr(&output));
    let policy = policy_of(ThreadId(left)).unwrap().0;
    send_signal(left, KILL).unwrap();
    assert!(is_ordinary(policy), "{policy}");
    assert_eq!(place.ledgers(), 0);
}

#[test]
fn a_machine_without_throttling_needs_force() {
    if !unjank_needs::root() {
        return;
    }
    let (place, program) = (PrivateState::new(), Program::start(&["meas"]));
    let knob = place.path().join("knob");
    fs::write(&knob, "-1\n").unwrap();
    let script = "mount --bind \"$1\" /proc/sys/kernel/sched_rt_runtime_us && shift && exec \"$@\"";
    let id = program.id().to_string();
    let run = |force: &[&str]| {
        let unjank = place.rt(&[&["set", &id, "--for", "50ms"], &RULES[..2], force].concat());
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(&knob);
        command.arg(unjank.get_program()).args(unjank.get_args()).output().unwrap()
    };
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("(kernel.sched_rt_runtime_us = -1)"), "{}", stderr(&output));
    let output = run(&["--force"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(ordinary(&program));
}

const REALTIME: [&str; 4] = ["--thread", "meas=fifo:2", "--for", "100ms"];

/// Runs `rt set` as the user nobody, without rtkit.
fn set_by_nobody(
    place: &PrivateState,
    program: &Program,
    unjank: &[String],
    options: &[&str],
) -> std::process::Output {
    Command::new(&unjank[0])
        .args(&unjank[1..])
        .args(["rt", "set", &program.id().to_string()])
        .args(options)
        .arg("--state-dir")
        .arg(place.state_dir())
        .env("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/no/such/bus")
        .output()
        .unwrap()
}

#[test]
fn without_privilege_all_means_are_tried_and_listed() {
    if !unjank_needs::root() {
        return;
    }
    let (place, program, unjank) = of_nobody();
    let output = set_by_nobody(&place, &program, &unjank, &REALTIME);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    for part in
        ["fifo:2 for meas (thread ", "CAP_SYS_NICE", "ulimit -r", "rtkit: no bus at", "RLIMIT_NICE"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(is_ordinary(program.policy("meas").0));
    assert_eq!(place.ledgers(), 0);
}

#[test]
fn without_privilege_a_change_that_cannot_be_put_back_is_refused() {
    if !unjank_needs::root() {
        return;
    }
    let (place, program, unjank) = of_nobody();
    for (rule, end) in [("meas=idle", "--for=100ms"), ("meas=other:19", "--keep")] {
        let output = set_by_nobody(&place, &program, &unjank, &["--thread", rule, end]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains("going back from ") && said.contains("RLIMIT_NICE"), "{said}");
        assert!(is_ordinary(program.policy("meas").0));
        assert_eq!(place.ledgers(), 0);
    }
}

#[test]
fn a_nice_value_is_the_last_resort() {
    if !unjank_needs::root() {
        return;
    }
    let (place, program, unjank) = of_nobody();
    // RLIMIT_NICE is 20 − nice.
    let limited = Command::new("prlimit")
        .args(["--nice=25:25", "--pid", &program.id().to_string()])
        .output()
        .unwrap();
    if !limited.status.success() {
        println!("skipped: a limit of nobody's needs CAP_SYS_RESOURCE: {}", stderr(&limited));
        return;
    }
    let output = set_by_nobody(&place, &program, &unjank, &REALTIME);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("→ other:-5 by nice instead of fifo:2: "), "{said}");
    assert!(said.contains("rtkit: no bus at unix:path=/no/such/bus"), "{said}");
}
