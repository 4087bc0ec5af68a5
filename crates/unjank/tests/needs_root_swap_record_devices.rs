//! `unjank swap record` on swap in compressed memory and on a partition, on pages of files, and
//! on all requests to a device.
//!
//! Needs root, tracefs, memory control groups, loop devices, zram and addpart. Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise names the skipped parts. The programs are this test itself,
//! started again.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod recorded;

use std::collections::HashSet;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use recorded::{LIMIT, PAGE, Recording, SIZE, can_record, fact, fill, look_at};
use serde_json::Value;

const ROLE: &str = "UNJANK_TEST_ROLE";
const FILE: &str = "UNJANK_TEST_FILE";

/// Not a test: the recorded programs.
#[test]
fn program() {
    match std::env::var(ROLE).as_deref() {
        Ok("fill") => look_at(&fill()),
        Ok("read") => read(),
        _ => {}
    }
}

fn read() {
    let file = File::open(std::env::var(FILE).unwrap()).unwrap();
    let mut page = [0; PAGE];
    for turn in 0..2 * SIZE / PAGE {
        file.read_exact_at(&mut page, (turn * PAGE % SIZE) as u64).unwrap();
        black_box(&page);
    }
}

/// A new file of a recording's directory.
fn file(recording: &Recording, name: &str, size: u64) -> PathBuf {
    let path = recording.dir.path().join(name);
    let mut file = File::create(&path).unwrap();
    io::copy(&mut io::Read::take(io::repeat(0x55), size), &mut file).unwrap();
    file.flush().unwrap();
    file.sync_all().unwrap();
    path
}

/// Records `command` and returns the run record.
fn run(recording: &Recording, arguments: &[&str], command: &mut Command) -> Value {
    let mut unjank = recording.record();
    unjank.args(arguments).arg("--").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        unjank.env(name, value.unwrap());
    }
    let output = unjank.stdin(Stdio::null()).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{talk}");
    let record = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(fact(&record, "swap/record/lost_events") as u64, 0);
    assert_eq!(fact(&record, "swap/record/exit_code") as u64, 0, "{talk}");
    record
}

/// This test as a program.
fn program_of(role: &str) -> Command {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["program", "--exact"]).env(ROLE, role);
    program
}

/// The output of a program; `None` if it fails.
fn tool(program: &str, arguments: &[&str]) -> Option<String> {
    let search = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    let output = command.env("PATH", search).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A loop device over a file, detached when dropped.
struct Loop(String);

impl Loop {
    fn over(file: &Path) -> Self {
        let arguments = ["--find", "--show", "--partscan", file.to_str().unwrap()];
        Self(tool("losetup", &arguments).expect("a loop device"))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        tool("losetup", &["--detach", &self.0]);
    }
}

/// A swap device with the highest priority.
struct Swap(String);

impl Swap {
    fn on(device: &str) -> Self {
        tool("mkswap", &[device]).expect("mkswap");
        tool("swapon", &["--priority", "32000", device]).expect("swapon");
        Self(device.to_owned())
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        tool("swapoff", &[&self.0]);
    }
}

/// A new zram device, removed when dropped.
struct Zram(String);

impl Zram {
    fn new() -> Self {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").unwrap();
        let number = number.trim();
        fs::write(format!("/sys/block/zram{number}/disksize"), "128M").unwrap();
        Self(number.to_owned())
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        // A write that fails leaves a device without memory behind.
        let _stays = fs::write(format!("/sys/block/zram{}/reset", self.0), "1");
        let _stays = fs::write("/sys/class/zram-control/hot_remove", &self.0);
    }
}

#[test]
fn devices_and_files_are_recorded() {
    if !can_record() {
        return;
    }
    // One after the other: all but the first use the whole machine's swap.
    let _turn = unjank_needs::turns::swap();
    every_request_to_a_device_is_recorded();
    pages_of_a_file_come_and_go();
    let zram = Path::new("/sys/class/zram-control/hot_add").exists();
    if unjank_needs::is_there("zram", zram) {
        let zram = Zram::new();
        swap_is_recorded_on(&format!("/dev/zram{}", zram.0));
    }
    pages_of_a_partition_count_from_its_start();
}

fn every_request_to_a_device_is_recorded() {
    let recording = Recording::new();
    let device = Loop::over(&file(&recording, "disk", 16 << 20));
    let name = device.0.strip_prefix("/dev/").unwrap();
    let script = "dd if=$0 of=/dev/null bs=64k skip=16 count=4 iflag=direct; \
                  dd if=/dev/zero of=$0 bs=8k seek=3 count=2 oflag=direct,sync conv=notrunc";
    let mut command = Command::new("sh");
    run(&recording, &["--block-device", name], command.args(["-c", script, &device.0]));
    let events = recording.events();
    let pages = |operation: &str| -> Vec<u64> {
        let ours = events.iter().filter(|event| event.space == name);
        ours.filter(|event| event.operation == operation).map(|event| event.page).collect()
    };
    // Programs that probe a new device for file systems read at its beginning and its end.
    let reads: Vec<u64> =
        pages("read").into_iter().filter(|page| (256..320).contains(page)).collect();
    assert_eq!(reads, (256..320).collect::<Vec<_>>());
    assert_eq!(pages("write"), [6, 7, 8, 9]);
}

fn pages_of_a_file_come_and_go() {
    let recording = Recording::new();
    let file = file(&recording, "data", SIZE as u64);
    tool(
        "dd",
        &[&format!("of={}", file.display()), "oflag=nocache", "conv=notrunc,fdatasync", "count=0"],
    );
    let mut command = program_of("read");
    let record = run(&recording, &["--files", "--memory-limit", LIMIT], command.env(FILE, &file));
    let space = format!("inode {:x} on ", file.metadata().unwrap().ino());
    let events = recording.events();
    let ours = || events.iter().filter(|event| event.space.starts_with(&space));
    let pages = SIZE / PAGE;
    let mut inside = HashSet::new();
    let mut counts = [0, 0];
    for event in ours() {
        assert_eq!(event.backing, "file");
        assert!((event.page as usize) < pages, "{}", event.page);
        match event.operation.as_str() {
            "page-in" => assert!(inside.insert(event.page), "{} is there already", event.page),
            "clean-drop" => drop(inside.remove(&event.page)),
            other => panic!("a {other} of a file"),
        }
        counts[usize::from(event.operation == "clean-drop")] += 1;
    }
    // All pages are read twice, and a half fits.
    let [page_ins, drops] = counts;
    assert!(page_ins > pages && page_ins <= 2 * pages, "{page_ins} of {pages}");
    assert!(drops > pages / 2, "{drops} of {pages}");
    assert!(inside.len() * PAGE <= 36 << 20, "more than the limit is in memory");
    assert!(fact(&record, "swap/record/file_page_ins") as usize >= page_ins);
}

fn swap_is_recorded_on(device: &str) {
    let recording = Recording::new();
    let _on = Swap::on(device);
    let record = run(&recording, &["--memory-limit", LIMIT], &mut program_of("fill"));
    for name in ["pswpin", "pswpout"] {
        let share = fact(&record, &format!("swap/record/traced_of_{name}"));
        assert!((0.98..=1.02).contains(&share), "{share} of {name}");
    }
    let mut written = HashSet::new();
    let mut back = 0;
    for event in recording.events().iter().filter(|event| event.space == device) {
        match event.operation.as_str() {
            "page-out" => {
                assert!(event.page > 0, "the header of {device}");
                written.insert(event.page);
            }
            "page-in" => {
                assert!(written.contains(&event.page), "{} of {device}", event.page);
                back += 1;
            }
            other => panic!("a {other} of {device}"),
        }
    }
    let pages = SIZE / PAGE;
    assert!(written.len() > pages / 3 && back > pages / 3, "{} and {back}", written.len());
    let last = (128 << 20) / PAGE as u64;
    assert!(written.iter().all(|page| *page < last), "beyond the end");
    // An empty area is filled from its beginning.
    assert!(written.iter().min().unwrap() < &1024, "an area that begins elsewhere");
}

fn pages_of_a_partition_count_from_its_start() {
    let recording = Recording::new();
    let disk = file(&recording, "disk", 160 << 20);
    let device = Loop::over(&disk);
    // Added by addpart: not every kernel reads partition tables.
    let added = tool("addpart", &[&device.0, "2", "40960", "262144"]).is_some();
    if unjank_needs::is_there("addpart, and partitions on loop devices", added) {
        swap_is_recorded_on(&format!("{}p2", device.0));
    }
}
