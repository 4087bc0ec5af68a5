//! `unjank rt` with policies that need no privilege.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod program;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Output, Stdio};

use program::Program;
use program::private_state::{PrivateState, end, kill_with_keeper, line};
use serde_json::Value;
use unjank_host::process::send_signal;
use unjank_host::sched::{Fair, Policy, ThreadId, policy_of, set_policy};
use unjank_host::{Nanos, Root, threads};
use unjank_needs::printed::{stderr, stdout};
use unjank_needs::wait;

const TERMINATE: i32 = 15;
const KILL: i32 = 9;

/// `batch` with the nice value of this test, which needs no privilege.
fn batch() -> String {
    format!("batch:{}", nice())
}

fn nice() -> i32 {
    let (root, me) = (Root::system(), ThreadId::current());
    threads::look(&root, std::process::id(), me).unwrap().unwrap().nice
}

fn is_ordinary(policy: Policy) -> bool {
    policy == Policy::other(nice())
}

fn is_batch(policy: Policy) -> bool {
    policy == Policy::batch(nice())
}

fn list(arguments: &[&str]) -> Output {
    let mut unjank = Command::new(unjank_needs::unjank!());
    unjank.args(["rt", "list"]).args(arguments).output().unwrap()
}

#[test]
fn threads_are_listed_with_names_and_policies() {
    let program = Program::start(&["meas", "load-0"]);
    let id = program.id().to_string();
    let output = list(&[&id]);
    assert!(stdout(&output).starts_with("name "), "{}", stdout(&output));
    assert!(
        stdout(&output).lines().any(|line| line.starts_with("meas ") && line.contains("other"))
    );
    let document: Value = serde_json::from_slice(&list(&[&id, "--json"]).stdout).unwrap();
    let threads = document["threads"].as_array().unwrap();
    let meas = threads.iter().find(|thread| thread["name"] == "meas").unwrap();
    assert_eq!((&meas["policy"], &meas["process"]), (&"other".into(), &program.id().into()));
    assert!(meas["cpus"].is_string() && meas["cpu_time_ns"].is_u64(), "{meas}");
    let output = list(&["4194305"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "error: no such process: 4194305\n");
    assert_eq!(list(&["--all-realtime", "--json"]).status.code(), Some(0));
    assert_eq!(list(&[]).status.code(), Some(2));
}

#[test]
fn errors_change_nothing() {
    let (place, program) = (PrivateState::new(), Program::start(&["meas", "load-0"]));
    let id = program.id().to_string();
    for (arguments, code, says) in [
        (&["--thread", "nope*=batch"][..], 2, "'nope*' matches no thread of process"),
        (&["--thread", "nope*=batch"], 2, "it has load-0, meas, "),
        (
            &["--thread", "meas=batch", "--thread", "b=batch", "--thread", "c=batch"],
            2,
            "'b', 'c' match no thread",
        ),
        (&["--profile", "jvm-inversion-aware"], 2, "the profile jvm-inversion-aware matches no"),
        (&["--profile", "jvm"], 2, "available: jvm-inversion-aware, audio"),
        (&["--thread", "meas=fifo:100"], 2, "real-time priority 100 is out of range"),
        (&["--thread", "meas=fifo:91"], 2, "above 90, where the kernel's own threads run; --force"),
        (&["--thread", "meas=other:20"], 2, "needs a nice value from -20 to 19"),
        (&["--thread", "meas"], 2, "is not PATTERN=POLICY"),
        (&["--thread", "=batch"], 2, "an empty pattern"),
        (&[], 2, "there is nothing to set"),
        (&["--thread", "meas=batch", "--max-busy", "0"], 2, "--force allows it"),
        (&["--thread", "meas=batch", "--keep", "--for", "1s"], 2, "cannot be used with"),
    ] {
        let output = place.run(&[&["set", &id], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
        assert!(is_ordinary(program.policy("meas").0));
    }
    let output = place.run(&["set", "4194305", "--thread", "meas=batch"]);
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(2), "error: no such process: 4194305\n")
    );
    assert_eq!(place.ledgers(), 0);
}

#[test]
fn kept_changes_stay_until_restored() {
    let (place, program) = (PrivateState::new(), Program::start(&["meas", "load-0", "load-1"]));
    let id = program.id().to_string();
    let rule = format!("load-?={}", batch());
    let output = place.run(&["set", &id, "--thread", &rule, "--keep"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("load-1 (thread "), "{}", stderr(&output));
    let (ordinary, batch) = (Policy::other(nice()), Policy::batch(nice()));
    assert!(stderr(&output).contains(&format!("): {ordinary} → {batch}\n")), "{}", stderr(&output));
    assert!(stderr(&output).contains(": 2 of "), "{}", stderr(&output));
    let policies = || ["meas", "load-0", "load-1"].map(|name| program.policy(name).0);
    assert_eq!(policies(), [ordinary, batch, batch]);

    // Kept changes are put back only by `rt restore`.
    let general = place.restore_all();
    assert!(stdout(&general).contains("on purpose: unjank rt restore"), "{}", stdout(&general));
    let output = place.run(&["restore", "4194305"]);
    assert_eq!(stdout(&output), "nothing was left changed\n");
    let output = place.run(&["restore", "--dry-run"]);
    assert!(stdout(&output).contains("would be put back: "), "{}", stdout(&output));
    assert_eq!(policies(), [ordinary, batch, batch]);
    let output = place.run(&["restore", &id, "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["sessions"][0]["standing"], "kept");
    assert_eq!(document["sessions"][0]["changes"][0]["outcome"], "put_back");
    assert_eq!((policies(), place.ledgers()), ([ordinary; 3], 0));
}

#[test]
fn a_slice_is_given_listed_and_put_back() {
    let (place, program) = (PrivateState::new(), Program::start(&["meas", "own"]));
    // A slice that a thread had set itself is put back, too.
    let fair = |slice| Policy::Other(Fair { nice: nice(), slice });
    let own = fair(Some(Nanos::from_millis(20)));
    set_policy(program.thread("own"), own, false).unwrap();
    let own = policy_of(program.thread("own")).unwrap().0;
    let rule = format!("*=other:{}/200us", nice());
    let (unjank, lines) = place.watch(&program, &["--thread", &rule]);
    let id = program.id().to_string();
    let listed = list(&[&id, "--json"]);
    let document: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let threads = document["threads"].as_array().unwrap().clone();
    // A kernel before 6.12 has no slices.
    let has_slices = own != fair(None);
    let slice = if has_slices { Value::from(200_000) } else { Value::Null };
    assert!(threads.iter().all(|thread| thread["slice_ns"] == slice), "{document}");
    let _said = end(unjank, lines);
    assert_eq!(["meas", "own"].map(|name| program.policy(name).0), [fair(None), own]);
    assert_eq!(place.ledgers(), 0);
}

#[test]
fn new_and_renamed_threads_are_followed_and_all_are_put_back() {
    let (place, mut program) = (PrivateState::new(), Program::start(&["work-0"]));
    let rule = format!("work-*={}", batch());
    let (unjank, mut lines) = place.watch(&program, &["--thread", &rule]);
    assert!(is_batch(program.policy("work-0").0));
    program.order("new other");
    program.order("new work-1");
    let event = line(&mut lines);
    assert_eq!((&event["event"], &event["name"]), (&"changed".into(), &"work-1".into()));
    assert_eq!(event["means"], "scheduler");
    assert!(is_batch(program.policy("work-1").0));
    let rest = end(unjank, lines);
    assert_eq!(rest.matches("\"outcome\":\"put_back\"").count(), 2, "{rest}");
    let ordinary = |name: &&str| is_ordinary(program.policy(name).0);
    assert!(["work-0", "work-1", "other"].iter().all(ordinary));
    assert_eq!(place.ledgers(), 0);
}

#[test]
fn a_session_killed_with_its_keeper_is_put_back_by_the_next_command() {
    for restore in ["rt restore", "restore", "set"] {
        let (place, program) = (PrivateState::new(), Program::start(&["work-0"]));
        let rule = format!("work-*={}", batch());
        let (mut unjank, _) = place.watch(&program, &["--thread", &rule]);
        let live = place.run(&["restore"]);
        assert!(stdout(&live).contains("is running, and puts its changes back"), "{live:?}");
        kill_with_keeper(&mut unjank);
        assert!(is_batch(program.policy("work-0").0));
        let output = match restore {
            "set" => {
                let other = Program::start(&["x"]);
                let rule = format!("x={}", batch());
                place.set(&other, &["--thread", &rule, "--for", "1ms"])
            }
            "restore" => place.restore_all(),
            _ => place.run(&["restore"]),
        };
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains(", as it was"), "{restore}: {said}");
        assert!(is_ordinary(program.policy("work-0").0));
        assert_eq!(place.ledgers(), 0);
    }
}

#[test]
fn a_change_by_another_program_is_left_alone() {
    let (place, program) = (PrivateState::new(), Program::start(&["work-0"]));
    let rule = format!("work-*={}", batch());
    let (mut unjank, mut lines) = place.watch(&program, &["--thread", &rule]);
    let idle = "idle".parse().unwrap();
    set_policy(program.thread("work-0"), idle, false).unwrap();
    send_signal(unjank.id(), TERMINATE).unwrap();
    assert_eq!(unjank.wait().unwrap().code(), Some(0));
    assert_eq!(line(&mut lines)["outcome"], "left_to_others");
    assert_eq!(program.policy("work-0").0, idle);
}

#[test]
fn the_session_ends_with_the_process() {
    let (place, program) = (PrivateState::new(), Program::start(&["work-0"]));
    let rule = format!("work-*={}", batch());
    let (mut unjank, mut lines) = place.watch(&program, &["--thread", &rule]);
    let id = program.id();
    program.kill();
    assert_eq!(unjank.wait().unwrap().code(), Some(0));
    assert_eq!(line(&mut lines)["text"], format!("process {id} has ended"));
    assert_eq!(place.ledgers(), 0);
}

#[test]
fn the_threads_of_a_command_are_followed_and_its_exit_code_is_passed_on() {
    let place = PrivateState::new();
    let rule = format!("sleep={}", batch());
    let script = "sleep 600 >/dev/null 2>&1 & echo $!; read end; exit 7";
    let options = ["--thread", &rule, "--thread", "nope=idle", "--", "sh", "-c", script];
    let (output, left) = place.exec_and_leave(&options);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert!(stderr(&output).contains("no thread has matched 'nope'"), "{}", stderr(&output));
    // Processes that the command leaves running are put back.
    assert!(stderr(&output).contains(", as it was\n"), "{}", stderr(&output));
    assert!(is_ordinary(policy_of(ThreadId(left)).unwrap().0));
    send_signal(left, KILL).unwrap();
    assert_eq!(place.ledgers(), 0);
}

#[test]
fn signals_go_on_to_the_command() {
    let (place, batch) = (PrivateState::new(), batch());
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut unjank = place
        .rt(&["exec", "--others", &batch, "--json", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    unjank.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    send_signal(unjank.id(), TERMINATE).unwrap();
    let output = unjank.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(9), "{}", stderr(&output));
    for line in stderr(&output).lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
    }
    assert!(stderr(&output).contains("\"now\":\"batch"), "{}", stderr(&output));
    let output = place.run(&["exec", "--others", &batch, "-q", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(137), ""));
    let output = place.run(&["exec", "--others", &batch, "--", "/no/such/command"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("command not found: /no/such/command"));
    assert_eq!(place.ledgers(), 0);
}

#[test]
fn a_killed_session_is_put_back_by_its_keeper() {
    let (place, program) = (PrivateState::new(), Program::start(&["work-0"]));
    let (mut unjank, _) = place.watch(&program, &["--thread", &format!("work-*={}", batch())]);
    assert!(is_batch(program.policy("work-0").0));
    send_signal(unjank.id(), KILL).unwrap();
    unjank.wait().unwrap();
    wait::until("the keeper", || place.ledgers() == 0);
    assert!(is_ordinary(program.policy("work-0").0));
}

#[test]
fn an_exec_killed_with_its_keeper_is_put_back() {
    let (place, batch) = (PrivateState::new(), batch());
    let mut unjank = place
        .rt(&["exec", "--others", &batch, "--", "sh", "-c", "echo $$; exec sleep 600"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut id = String::new();
    BufReader::new(unjank.stdout.as_mut().unwrap()).read_line(&mut id).unwrap();
    let id: u32 = id.trim().parse().unwrap();
    let policy = || policy_of(ThreadId(id)).unwrap().0;
    wait::until("the command to be batch", || is_batch(policy()));
    kill_with_keeper(&mut unjank);
    let output = place.run(&["restore", &id.to_string()]);
    assert!(stdout(&output).contains("has ended and left changes:"), "{}", stdout(&output));
    assert!(is_ordinary(policy()));
    send_signal(id, KILL).unwrap();
}

#[test]
fn profiles_are_listed() {
    let run = |arguments: &[&str]| {
        let mut unjank = Command::new(unjank_needs::unjank!());
        unjank.args(["rt", "profiles"]).args(arguments).output().unwrap()
    };
    assert!(stdout(&run(&[])).contains("GC Thread#*"));
    let document: Value = serde_json::from_slice(&run(&["--json"]).stdout).unwrap();
    let rules = document["profiles"][0]["rules"].as_array().unwrap();
    assert!(
        rules.iter().any(|rule| rule["pattern"] == "GC Thread#*" && rule["policy"] == "fifo:70")
    );
}
