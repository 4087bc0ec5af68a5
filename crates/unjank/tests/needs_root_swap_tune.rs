//! `unjank swap tune` on the running machine: its zram, its programs' pages, its settings.
//!
//! Needs root and zram. Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was
//! skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use unjank_needs::printed::{stderr, stdout};

/// Whether these tests can run; one at a time, because all of them change settings of swap.
fn turn() -> Option<fs::File> {
    let zram = Path::new("/sys/class/zram-control/hot_add").exists();
    let all = unjank_needs::root() && unjank_needs::is_there("zram", zram);
    all.then(unjank_needs::turns::swap)
}

/// The settings and devices that are borrowed.
#[derive(Debug, PartialEq, Eq)]
struct Borrowed {
    zram: Vec<String>,
    swaps: Vec<String>,
    sysctls: [String; 2],
}

impl Borrowed {
    fn look() -> Self {
        let names = fs::read_dir("/sys/block").unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut zram: Vec<String> = names.filter(|name| name.starts_with("zram")).collect();
        zram.sort();
        let read = |name: &str| fs::read_to_string(name).unwrap();
        let sysctls = ["swappiness", "page-cluster"].map(|it| read(&format!("/proc/sys/vm/{it}")));
        let name = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
        let swaps = read("/proc/swaps").lines().skip(1).map(name).collect();
        Self { zram, swaps, sysctls }
    }
}

fn tune(state: &Path, arguments: &[&str]) -> Output {
    let mut unjank = Command::new(unjank_needs::unjank!());
    unjank.args(["swap", "tune", "--state-dir"]).arg(state).args(arguments).output().unwrap()
}

fn record(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rows<'a>(record: &'a Value, name: &str) -> &'a Vec<Value> {
    let tables = record["tables"].as_array().unwrap();
    tables.iter().find(|table| table["name"] == name).unwrap()["rows"].as_array().unwrap()
}

const SMALL: [&str; 4] = ["--no-store", "--json", "--sample-size", "4MiB"];

#[test]
fn every_algorithm_is_measured_and_nothing_is_left() {
    let Some(_turn) = turn() else { return };
    let state = tempfile::tempdir().unwrap();
    let before = Borrowed::look();
    let record = record(&tune(state.path(), &SMALL));
    assert_eq!(Borrowed::look(), before);
    let algorithms = rows(&record, "swap/tune/algorithms");
    assert!(!algorithms.is_empty());
    for row in algorithms {
        let number = |at: usize| row[at]["value"].as_f64().unwrap();
        assert!(number(1) > 1.0, "it stores more than it takes: {row}");
        assert!(number(2) > 0.0 && number(3) > 0.0, "{row}");
    }
    for row in rows(&record, "swap/tune/settings") {
        assert!(!row[3].as_str().unwrap().is_empty(), "without a reason: {row}");
    }
    let facts = record["facts"].as_array().unwrap();
    let sample = facts.iter().find(|fact| fact["name"] == "swap/tune/sample").unwrap();
    assert!(sample["value"].as_f64().unwrap() > 256.0, "{sample}");
    assert!(record["changes"].as_array().unwrap().iter().all(|it| it["after"] != it["during"]));
}

#[test]
fn applied_settings_stay_until_they_are_taken_back() {
    let Some(_turn) = turn() else { return };
    let state = tempfile::tempdir().unwrap();
    let before = Borrowed::look();
    // zram, so that a swap area of this machine makes no difference.
    let applying = [&SMALL[..], &["--use", "zram", "--apply"]].concat();
    let record = record(&tune(state.path(), &applying));
    let applied = Borrowed::look();
    let reason = record["verdicts"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("it is now: zram of "), "{reason}");
    assert_eq!(applied.sysctls[1].trim(), "0", "pages of zram are read alone");
    assert!(applied.swaps.len() > before.swaps.len(), "{applied:?}");
    let again = tune(state.path(), &applying);
    assert_ne!(again.status.code(), Some(0));
    assert!(stderr(&again).contains("--undo"), "{}", stderr(&again));
    // Other sessions and restore leave them.
    let unjank = || Command::new(unjank_needs::unjank!());
    let restored = unjank().args(["restore", "--state-dir"]).arg(state.path()).output().unwrap();
    assert!(stdout(&restored).contains("unjank swap tune --undo takes them back"));
    assert_eq!(Borrowed::look(), applied);
    let undone = tune(state.path(), &["--undo", "--etc", state.path().to_str().unwrap()]);
    assert!(undone.status.success(), "{}", stderr(&undone));
    assert!(stdout(&undone).contains("removed again"), "{}", stdout(&undone));
    assert_eq!(Borrowed::look(), before);
    let nothing = tune(state.path(), &["--undo", "--etc", state.path().to_str().unwrap()]);
    assert_eq!(stdout(&nothing).trim(), "there was nothing to take back");
}

#[test]
fn pages_of_programs_do_not_outlive_a_kill() {
    let Some(_turn) = turn() else { return };
    let state = tempfile::tempdir().unwrap();
    let before = Borrowed::look();
    let mut killed = 0;
    for delay in [30, 80, 150, 300, 600] {
        let mut unjank = Command::new(unjank_needs::unjank!());
        unjank.args(["swap", "tune", "--no-store", "--state-dir"]).arg(state.path());
        let mut tuning = unjank.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(delay));
        killed += u32::from(tuning.try_wait().unwrap().is_none());
        tuning.kill().unwrap();
        tuning.wait().unwrap();
        // Waits for the keeper.
        let mut unjank = Command::new(unjank_needs::unjank!());
        let restored = unjank.args(["restore", "--state-dir"]).arg(state.path()).output().unwrap();
        assert!(restored.status.success(), "{}", stderr(&restored));
        let left = Borrowed::look();
        assert_eq!((&left.swaps, &left.sysctls), (&before.swaps, &before.sysctls));
        // A device that was added and not yet set up may stay, without content.
        for name in left.zram.iter().filter(|name| !before.zram.contains(name)) {
            let size = fs::read_to_string(format!("/sys/block/{name}/disksize")).unwrap();
            assert_eq!(size.trim(), "0", "{name}, {delay} ms");
            fs::write("/sys/class/zram-control/hot_remove", &name[4..]).unwrap();
        }
    }
    assert!(killed > 0, "it had always ended before");
}

#[test]
fn files_for_every_boot_are_written_and_removed() {
    let Some(_turn) = turn() else { return };
    let state = tempfile::tempdir().unwrap();
    let etc = tempfile::tempdir().unwrap();
    let place = etc.path().to_str().unwrap();
    let writing = [&SMALL[..], &["--use", "zram", "--write", "--etc", place]].concat();
    let written = tune(state.path(), &writing);
    record(&written);
    let zram = etc.path().join("systemd/zram-generator.conf.d/90-unjank.conf");
    assert!(stderr(&written).contains(&format!("wrote {}", zram.display())));
    assert!(fs::read_to_string(&zram).unwrap().contains("compression-algorithm = "));
    let undone = tune(state.path(), &["--undo", "--json", "--etc", place]);
    let document = record(&undone);
    assert_eq!(document["schema"], "unjank.swap-tune-undo/1");
    assert_eq!(document["removed"].as_array().unwrap().len(), 2, "{document}");
    assert!(!zram.exists());
}

#[test]
fn without_root_nothing_is_proposed() {
    if !unjank_needs::root() {
        return;
    }
    // The build directory need not be open to others.
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = directory.path().join("unjank");
    unjank_needs::copy_program(unjank_needs::unjank!(), &program);
    let mut as_nobody = Command::new("setpriv");
    as_nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    let output = as_nobody.args(["swap", "tune", "--no-store"]).env("HOME", "/tmp").output();
    let output = output.unwrap();
    assert_eq!((output.status.code(), stdout(&output)), (Some(4), ""));
    assert!(stderr(&output).contains(" needs root"), "{}", stderr(&output));
}
