//! `unjank swap record` with a real program under a real memory limit, swapping to a swap file
//! and to a temporary swap area.
//!
//! Needs root, tracefs and memory control groups. Fails without them when `UNJANK_TEST_ALL=1`,
//! otherwise says that it was skipped. The program is this test itself, started again.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod recorded;

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use recorded::{Event, LIMIT, PAGE, Recording, SIZE, can_record, fact, fill, look_at};
use serde_json::Value;
use unjank_host::Root;
use unjank_host::process::send_signal;
use unjank_host::tracefs::remove_leftovers;
use unjank_needs::wait::until as wait;

const ROLE: &str = "UNJANK_TEST_ROLE";

/// Not a test: the recorded program. It writes all of its memory and reads it again.
#[test]
fn hog() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let memory = fill();
    loop {
        look_at(&memory);
        if role != "for ever" {
            break;
        }
    }
}

/// The command that records the hog.
fn recorded(recording: &Recording, arguments: &[&str], role: &str) -> Command {
    let mut unjank = recording.record();
    unjank.args(["--memory-limit", LIMIT]).args(arguments).arg("--");
    unjank.arg(std::env::current_exe().unwrap()).args(["hog", "--exact"]).env(ROLE, role);
    unjank.stdout(Stdio::piped()).stderr(Stdio::piped());
    unjank
}

/// Begins a recording that does not end by itself, and waits until the program has swapped: a
/// few pages may have a slot and not be written yet, or belong to another program.
fn begin(recording: &Recording) -> Child {
    let mut unjank = recording.record();
    unjank.args(["--memory-limit", LIMIT, "--swap-size", "256MiB", "--", "sh", "-c"]);
    // A child of the program, which only its control group identifies.
    unjank
        .arg("\"$0\" hog --exact & exec \"$0\" hog --exact")
        .arg(std::env::current_exe().unwrap());
    unjank.env(ROLE, "for ever").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = unjank.spawn().unwrap();
    let swaps = || fs::read_to_string("/proc/swaps").unwrap();
    let kib = |line: &str| line.split_whitespace().nth(3).and_then(|used| used.parse().ok());
    let used = |line: &str| kib(line).is_some_and(|kib: u64| kib >= 8192);
    wait("the program to be swapped", || {
        swaps().lines().skip(1).any(|line| line.starts_with("/dev/loop") && used(line))
    });
    child
}

/// Records, and checks the trace against the kernel's counters and for consistency.
fn check(recording: &Recording, arguments: &[&str], space: &str) {
    let output = recorded(recording, arguments, "once").output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{talk}");
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    // All swap areas are traced, so pages of other programs are on both sides. Only pages between
    // reading the counters and the beginning or end of tracing are not.
    for name in ["pswpin", "pswpout"] {
        let share = fact(&record, &format!("swap/record/traced_of_{name}"));
        assert!((0.98..=1.02).contains(&share), "{share} of {name}\n{talk}");
    }
    assert_eq!(fact(&record, "swap/record/lost_events") as u64, 0);
    assert_eq!(fact(&record, "swap/record/exit_code") as u64, 0);
    assert!(record["verdicts"][0]["answer"] == "yes", "{}", record["verdicts"]);
    let knobs = record["changes"].as_array().unwrap().iter().map(|change| &change["knob"]);
    assert!(knobs.filter_map(Value::as_str).any(|knob| knob.contains("unjank-")), "{record}");
    let events = recording.events();
    assert_eq!(events.len() as u64, fact(&record, "swap/record/events") as u64);
    let is_of = |event: &Event| event.space.starts_with(space);
    let of = |operation: &str| {
        let ours = events.iter().filter(|event| event.operation == operation && is_of(event));
        ours.count()
    };
    let first = events.iter().find(|event| event.command_pid.is_some()).unwrap();
    assert_eq!((&*first.operation, first.command_pid), ("launch", first.pid), "the program");
    // More than a third of the memory does not fit, and every page is used twice.
    let pages = SIZE / PAGE;
    assert!(of("page-out") > pages / 3, "{} of {pages}", of("page-out"));
    assert!(of("page-in") > pages / 3, "{} of {pages}", of("page-in"));
    // A page read from an area that was empty was written before. This fails if the mapping from
    // sectors to pages is wrong.
    let mut written = HashSet::new();
    for Event { operation, page, space: of, .. } in events.iter().filter(|event| is_of(event)) {
        match operation.as_str() {
            "page-out" => {
                assert!(*page > 0, "the header of {of}");
                written.insert((of, page));
            }
            "page-in" => assert!(written.contains(&(of, page)), "{page} of {of}"),
            other => panic!("a {other} of {of}"),
        }
    }
    let distinct = written.len() as u64;
    assert!(written.iter().all(|(_, page)| **page <= 2 * distinct), "slots are given out in turn");
    let mode = fs::metadata(&recording.out).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Whether no swap area is left on the machine, and no control group of a process that has ended.
/// Other tests make groups, too.
fn is_tidy() -> bool {
    let swaps = fs::read_to_string("/proc/swaps").unwrap();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let memory = mounts.lines().filter(|line| line.contains(" - cgroup"));
    let groups =
        memory.filter_map(|line| line.split(' ').nth(4)).any(|top| has_group(Path::new(top), 4));
    !swaps.contains("/dev/loop") && !groups
}

fn has_group(directory: &Path, depth: u32) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).any(|entry| {
        let name = entry.file_name().into_string().unwrap_or_default();
        let owner = name.strip_prefix("unjank-");
        owner.is_some_and(|process| !Path::new("/proc").join(process).exists())
            || depth > 0 && has_group(&entry.path(), depth - 1)
    })
}

#[test]
fn swap_is_recorded_and_nothing_is_left() {
    if !can_record() {
        return;
    }
    // One after the other: all of them use the whole machine's swap.
    let _turn = unjank_needs::turns::swap();
    let recording = Recording::new();
    check(&recording, &["--swap-size", "256MiB"], "/dev/loop");
    assert!(is_tidy());
    requests_to_a_swap_file_are_recognised();
    a_kill_leaves_nothing();
    an_interrupt_keeps_the_trace();
    two_recordings_at_a_time_detect_each_other();
    a_launch_has_the_name_of_the_wrapped_program();
    wrong_options_are_refused_before_anything_is_done();
}

fn requests_to_a_swap_file_are_recognised() {
    let recording = Recording::new();
    let file = recording.dir.path().join("swap");
    let mut open = fs::File::create(&file).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    for _ in 0..256 {
        open.write_all(&vec![0; 1 << 20]).unwrap();
    }
    open.sync_all().unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let search = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new(program);
        command.env("PATH", search).args(arguments).arg(&file);
        command.output().is_ok_and(|output| output.status.success())
    };
    assert!(run("mkswap", &[]) && run("swapon", &["-p", "32000"]), "the swap file is not on");
    let outcome = std::panic::catch_unwind(|| check(&recording, &[], file.to_str().unwrap()));
    assert!(run("swapoff", &[]), "the swap file is still on");
    outcome.unwrap();
}

fn a_kill_leaves_nothing() {
    let recording = Recording::new();
    let mut child = begin(&recording);
    assert!(!is_tidy());
    let instance = format!("unjank-{}-", child.id());
    send_signal(child.id(), 9).unwrap();
    // The program, its descendants and the keepers hold the other end, so all of them have
    // ended when the reading ends.
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    assert!(is_tidy(), "{said}");
    assert!(said.contains("of its changes: 2 put back"), "{said}");
    assert!(!recording.out.exists());
    let leftovers = remove_leftovers(&Root::system()).unwrap();
    let left = leftovers.removed.iter().chain(&leftovers.busy).find(|n| n.starts_with(&instance));
    assert_eq!(left, None, "{said}");
}

fn an_interrupt_keeps_the_trace() {
    let recording = Recording::new();
    let child = begin(&recording);
    send_signal(child.id(), 2).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(record["labels"].as_array().unwrap().contains(&"interrupted".into()));
    assert!(recording.events().iter().any(|event| event.operation == "page-out"));
    assert!(is_tidy());
}

fn two_recordings_at_a_time_detect_each_other() {
    let (one, other) = (Recording::new(), Recording::new());
    let first = begin(&one);
    let second = recorded(&other, &["--swap-size", "256MiB"], "once").output().unwrap();
    send_signal(first.id(), 2).unwrap();
    let first = first.wait_with_output().unwrap();
    let talk = String::from_utf8_lossy(&second.stderr);
    assert_eq!((first.status.code(), second.status.code()), (Some(130), Some(0)), "{talk}");
    let known = [
        (&one, &first, "by another recording during the recording; it is recorded from then on"),
        (&other, &second, "is the swap area of another recording"),
    ];
    for (recording, output, warning) in known {
        let record: Value = serde_json::from_slice(&output.stdout).unwrap();
        let warnings = record["warnings"].to_string();
        assert!(warnings.contains(warning), "{warnings}");
        assert!(warnings.contains("are by other processes than the command"), "{warnings}");
        let events = recording.events();
        let paging = || events.iter().filter(|event| event.operation.starts_with("page-"));
        let areas: HashSet<&str> = paging().map(|event| &*event.space).collect();
        assert!(areas.len() >= 2, "pages went to both areas: {areas:?}");
        let ours = || paging().filter(|event| event.command_pid.is_some());
        let facts = ["swap/record/command_page_ins", "swap/record/command_page_outs"];
        let counted: f64 = facts.iter().map(|name| fact(&record, name)).sum();
        assert_eq!((ours().count(), ours().count() < paging().count()), (counted as usize, true));
        let groups: HashSet<&str> = ours().map(|event| &*event.cgroup).collect();
        assert_eq!(groups.len(), 1, "{groups:?}");
        assert!(
            paging().all(|event| event.command_pid.is_some() || !groups.contains(&*event.cgroup))
        );
    }
    assert!(is_tidy());
}

fn a_launch_has_the_name_of_the_wrapped_program() {
    let recording = Recording::new();
    let mut unjank = Command::new(unjank_needs::unjank!());
    unjank.args(["swap", "record", "--no-store", "--swap-size", "16MiB", "--memory-limit", LIMIT]);
    unjank.arg("--out").arg(&recording.out).env("XDG_DATA_HOME", recording.dir.path());
    // The mark of a launch is held back for 2 s, in case the process executes another program.
    // The last shell does so only later.
    let script = "timeout 60 setsid -w env A=1 sleep 0.2; setsid -w sh -c 'exec sleep 0.3'; \
                  timeout 60 sh -c 'sleep 2.5; exec sleep 0.1'; true";
    let output = unjank.args(["--", "sh", "-c", script]).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{talk}");
    // Programs that others start meanwhile are in other control groups.
    let events = recording.events();
    let is_ours = |event: &&Event| event.operation == "launch" && event.cgroup.contains("/unjank-");
    let ours = events.iter().filter(is_ours);
    let launched: Vec<&str> = ours.map(|event| event.process.as_str()).collect();
    assert_eq!(launched, ["sh", "sleep", "sleep", "sh"]);
    let ours = || events.iter().filter(is_ours);
    let command = ours().next().unwrap();
    assert!(ours().all(|event| event.command_pid == command.pid && command.pid.is_some()));
    let numbers: HashSet<_> = ours().map(|event| event.launch_id.unwrap()).collect();
    assert_eq!(numbers.len(), 4, "each has a number of its own: {numbers:?}");
    assert!(events.is_sorted_by_key(|event| event.time_ns), "what is held back is still in order");
}

fn wrong_options_are_refused_before_anything_is_done() {
    let recording = Recording::new();
    let ended = |arguments: &[&str], program: &str| {
        let mut unjank = Command::new(unjank_needs::unjank!());
        unjank.args(["swap", "record", "--no-store", "--out"]).arg(&recording.out);
        unjank.args(arguments).args(["--", program]);
        let output = unjank.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = ended(&["--swap-size", "16MiB"], "/no/such/program");
    assert_eq!((code, said.as_str()), (Some(2), "error: command not found: /no/such/program\n"));
    let (code, said) = ended(&["--block-device", "no-such-device"], "true");
    assert_eq!((code, said.as_str()), (Some(3), "error: no such block device: no-such-device\n"));
    let nowhere = ["--swap-size", "16MiB", "--directory", "/no/such/dir"];
    let (code, said) = ended(&nowhere, "true");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("/no/such/dir: No such file or directory"), "{said}");
    assert!(!recording.out.exists());
    assert!(is_tidy());
}
