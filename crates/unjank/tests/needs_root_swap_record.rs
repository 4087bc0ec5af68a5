//! `unjank swap record` with a real program under a real memory limit, swapping to a swap file
//! and to an area that is there only meanwhile.
//!
//! Needs root, tracefs and memory control groups. Fails without them when `UNJANK_TEST_ALL=1`,
//! otherwise says that it was skipped. The program is this test itself, started again.

// A test says by printing why it was skipped.
#![allow(clippy::print_stdout)]
#![expect(clippy::unwrap_used, reason = "what a test does to set itself up may panic")]

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::hint::black_box;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use unjank_host::process::{is_root, send_signal};
use unjank_host::tracefs::Tracefs;
use unjank_host::{Root, Support};

const ROLE: &str = "UNJANK_TEST_ROLE";
/// What the program fills, of which it may keep about a half.
const FILLED: usize = 64 << 20;
const LIMIT: &str = "36MiB";
/// What takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn can_record() -> bool {
    let reason = if !is_root() {
        Some("needs root".to_owned())
    } else if let Support::No(reason) = Tracefs::open(&Root::system()) {
        Some(reason)
    } else if !Path::new("/dev/loop-control").exists() {
        Some("needs loop devices".to_owned())
    } else {
        None
    };
    if let Some(reason) = reason {
        assert!(std::env::var("UNJANK_TEST_ALL").is_err(), "this test {reason}");
        println!("skipped: {reason}");
        return false;
    }
    true
}

/// Not a test: the program that is recorded. Every page has contents of its own, so that none
/// is stored as a page of zeros; each is changed, and looked at twice in another order.
#[test]
fn hog() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let mut memory = vec![0_u8; FILLED];
    let pages = FILLED / 4096;
    for page in 0..pages {
        let number = (page as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        memory[page * 4096..][..8].copy_from_slice(&number.to_le_bytes());
    }
    loop {
        for turn in 0..2 * pages {
            black_box(memory[turn * 769 % pages * 4096]);
        }
        if role != "for ever" {
            break;
        }
    }
}

struct Recording {
    dir: tempfile::TempDir,
    out: PathBuf,
}

impl Recording {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let out = dir.path().join("trace.parquet");
        Self { dir, out }
    }

    fn command(&self, arguments: &[&str], role: &str) -> Command {
        let mut unjank = Command::new(env!("CARGO_BIN_EXE_unjank"));
        unjank.args(["swap", "record", "--json", "--no-store", "--memory-limit", LIMIT]);
        unjank.arg("--out").arg(&self.out).args(arguments).arg("--");
        unjank.arg(std::env::current_exe().unwrap()).args(["hog", "--exact"]);
        unjank.env(ROLE, role).env("XDG_DATA_HOME", self.dir.path());
        unjank.stdout(Stdio::piped()).stderr(Stdio::piped());
        unjank
    }

    /// Begins one that does not end by itself, and waits until it has swapped: a few pages may
    /// have a slot and not be written yet, or be another program's from before.
    fn begin(&self) -> Child {
        let child = self.command(&["--swap", "256MiB"], "for ever").spawn().unwrap();
        let swaps = || fs::read_to_string("/proc/swaps").unwrap();
        let kib = |line: &str| line.split_whitespace().nth(3).and_then(|used| used.parse().ok());
        let used = |line: &str| kib(line).is_some_and(|kib: u64| kib >= 8192);
        wait("the program to be swapped", || {
            swaps().lines().skip(1).any(|line| line.starts_with("/dev/loop") && used(line))
        });
        child
    }

    /// Operation, page and space of each event.
    fn events(&self) -> Vec<(String, u64, String)> {
        let event = |fields: &[&str]| {
            (fields[5].to_owned(), fields[4].parse().unwrap(), fields[3].to_owned())
        };
        self.lines(event)
    }

    /// What `event` makes of the fields of each event.
    fn lines<T>(&self, event: impl Fn(&[&str]) -> T) -> Vec<T> {
        let mut unjank = Command::new(env!("CARGO_BIN_EXE_unjank"));
        let output =
            unjank.args(["swap", "convert", "--to", "csv"]).arg(&self.out).arg("-").output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        let fields = |line: &str| event(&line.split(',').collect::<Vec<_>>());
        text.lines().skip(1).map(fields).collect()
    }
}

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "waited too long for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn fact(record: &Value, name: &str) -> f64 {
    let facts = record["facts"].as_array().unwrap();
    let fact = facts.iter().find(|fact| fact["name"] == name);
    fact.unwrap_or_else(|| panic!("there is no {name}"))["value"].as_f64().unwrap()
}

/// Records, and holds the trace against the kernel's counters and against itself.
fn check(recording: &Recording, arguments: &[&str], space: &str) {
    let output = recording.command(arguments, "once").output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{talk}");
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    // All swap areas are traced, so what others swap meanwhile is on both sides. Only what
    // happens between a look at the counters and the moment when tracing begins or ends is not.
    for name in ["pswpin", "pswpout"] {
        let share = fact(&record, &format!("swap/record/traced_of_{name}"));
        assert!((0.98..=1.02).contains(&share), "{share} of {name}\n{talk}");
    }
    assert_eq!(fact(&record, "swap/record/lost_events") as u64, 0);
    assert_eq!(fact(&record, "swap/record/exit_code") as u64, 0);
    assert!(record["verdicts"][0]["answer"] == "yes", "{}", record["verdicts"]);
    let events = recording.events();
    assert_eq!(events.len() as u64, fact(&record, "swap/record/events") as u64);
    let of = |operation: &str| {
        let ours = events.iter().filter(|event| event.0 == operation && event.2.starts_with(space));
        ours.count()
    };
    assert_eq!(events[0].0, "launch", "it begins with the program");
    // More than a third of the memory does not fit, and every page is wanted twice.
    let pages = FILLED / 4096;
    assert!(of("page-out") > pages / 3, "{} of {pages}", of("page-out"));
    assert!(of("page-in") > pages / 3, "{} of {pages}", of("page-in"));
    // What is read from an area that was empty was written before. A wrong idea of where the
    // area's pages lie on its device would not stand this.
    let mut written = HashSet::new();
    for (operation, page, of) in events.iter().filter(|event| event.2.starts_with(space)) {
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

/// Nothing of a recording is left on the machine.
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
        entry.file_name().to_string_lossy().starts_with("unjank-")
            || depth > 0 && has_group(&entry.path(), depth - 1)
    })
}

#[test]
fn swap_is_recorded_and_nothing_is_left() {
    if !can_record() {
        return;
    }
    // One after the other: they all look at the whole machine's swap.
    let recording = Recording::new();
    check(&recording, &["--swap", "256MiB"], "/dev/loop");
    assert!(is_tidy());
    a_swap_file_is_told_from_its_disk();
    a_kill_leaves_nothing();
    an_interrupt_keeps_what_there_is();
    a_launch_is_that_of_the_program_that_was_meant();
    refusals_come_before_anything_is_done();
}

fn a_swap_file_is_told_from_its_disk() {
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
    let mut child = recording.begin();
    assert!(!is_tidy());
    send_signal(child.id(), 9).unwrap();
    child.wait().unwrap();
    wait("the keeper", is_tidy);
    assert!(!recording.out.exists());
    // What is left of an instance is an empty directory, and goes with the next look.
    let mut unjank = Command::new(env!("CARGO_BIN_EXE_unjank"));
    assert_eq!(unjank.arg("restore").output().unwrap().status.code(), Some(0));
}

fn an_interrupt_keeps_what_there_is() {
    let recording = Recording::new();
    let child = recording.begin();
    send_signal(child.id(), 2).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(record["labels"].as_array().unwrap().contains(&"interrupted".into()));
    assert!(recording.events().iter().any(|event| event.0 == "page-out"));
    assert!(is_tidy());
}

fn a_launch_is_that_of_the_program_that_was_meant() {
    let recording = Recording::new();
    let mut unjank = Command::new(env!("CARGO_BIN_EXE_unjank"));
    unjank.args(["swap", "record", "--no-store", "--swap", "16MiB", "--memory-limit", LIMIT]);
    unjank.arg("--out").arg(&recording.out).env("XDG_DATA_HOME", recording.dir.path());
    // The last shell is one for longer than a mark is held back.
    let script = "timeout 60 setsid -w env A=1 sleep 0.2; setsid -w sh -c 'exec sleep 0.3'; \
                  timeout 60 sh -c 'sleep 2.5; exec sleep 0.1'; true";
    let output = unjank.args(["--", "sh", "-c", script]).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{talk}");
    // What others start meanwhile is in other control groups.
    let events = recording.lines(|fields| [fields[1], fields[5], fields[7]].map(ToOwned::to_owned));
    let launched: Vec<&str> = events
        .iter()
        .filter(|[_, operation, group]| operation == "launch" && group.contains("/unjank-"))
        .map(|[name, ..]| name.as_str())
        .collect();
    assert_eq!(launched, ["sh", "sleep", "sleep", "sh"]);
    let times = recording.lines(|fields| fields[0].parse::<u64>().unwrap());
    assert!(times.is_sorted(), "what is held back is still in order");
}

fn refusals_come_before_anything_is_done() {
    let recording = Recording::new();
    let ended = |arguments: &[&str], program: &str| {
        let mut unjank = Command::new(env!("CARGO_BIN_EXE_unjank"));
        unjank.args(["swap", "record", "--no-store", "--out"]).arg(&recording.out);
        unjank.args(arguments).args(["--", program]);
        let output = unjank.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = ended(&["--swap", "16MiB"], "/no/such/program");
    assert_eq!((code, said.as_str()), (Some(2), "error: there is no command /no/such/program\n"));
    let (code, said) = ended(&["--device", "no-such-device"], "true");
    assert_eq!(
        (code, said.as_str()),
        (Some(3), "error: there is no block device no-such-device\n")
    );
    assert!(!recording.out.exists());
    assert!(is_tidy());
}
