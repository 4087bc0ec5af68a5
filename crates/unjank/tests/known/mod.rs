//! Programs that time their own parts.
// Each test file uses some of it.
#![allow(dead_code)]

pub(crate) mod explained;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nanoseconds by way and activity.
pub(crate) type Cells = BTreeMap<(String, String), u64>;

/// A program cannot time its own end. Beside 4 to 8 computing processes on 2 CPUs, it took 0.5 to
/// 2.7 ms of CPU time (n = 40, Xeon).
const END: i64 = 4_000_000;

/// Only one test at a time may have real-time threads or swap.
static ALONE: Mutex<()> = Mutex::new(());

/// The compiled programs, and a directory on a disk.
pub(crate) struct Known {
    directory: tempfile::TempDir,
}

/// A program's own measurements of its parts, in nanoseconds.
#[derive(Debug)]
pub(crate) struct OwnParts(BTreeMap<String, i64>);

impl Known {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }

    /// The path of a file beside the programs.
    pub(crate) fn file(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    fn compiled(&self, name: &str) -> PathBuf {
        self.compiled_with(name, name, &[])
    }

    /// Compiles a source with more flags, under a name.
    fn compiled_with(&self, source: &str, name: &str, flags: &[&str]) -> PathBuf {
        let program = self.directory.path().join(name);
        if !program.exists() {
            let source = format!("{}/tests/known/{source}.c", env!("CARGO_MANIFEST_DIR"));
            let mut compiler = Command::new("cc");
            compiler.args(["-O1", "-Wall", "-Wextra", "-Werror"]).args(flags).arg(source).arg("-o");
            let status = compiler.arg(&program).args(["-lpthread", "-lutil"]).status();
            assert!(status.unwrap().success());
        }
        program
    }

    /// The command that runs a program, which then writes the durations of its parts.
    pub(crate) fn command(&self, name: &str, arguments: &[&str]) -> Vec<String> {
        self.command_of(&self.compiled(name), arguments)
    }

    /// As `command`, for a source that is compiled with further flags, under another
    /// name.
    pub(crate) fn command_with(&self, source: &str, name: &str, flags: &[&str]) -> Vec<String> {
        self.command_of(&self.compiled_with(source, name, flags), &[])
    }

    fn command_of(&self, program: &Path, arguments: &[&str]) -> Vec<String> {
        let program = program.to_str().unwrap().to_owned();
        let words = arguments.iter().map(|word| (*word).to_owned());
        [program, self.file("parts")].into_iter().chain(words).collect()
    }

    /// The measurements of the last program.
    pub(crate) fn parts(&self) -> OwnParts {
        let text = std::fs::read_to_string(self.file("parts")).unwrap();
        std::fs::remove_file(self.file("parts")).unwrap();
        let part = |line: &str| {
            let (name, time) = line.split_once(' ').unwrap();
            (name.to_owned(), time.parse().unwrap())
        };
        OwnParts(text.lines().map(part).collect())
    }

    /// Excludes other tests with real-time threads or swap until the result is dropped.
    pub(crate) fn alone() -> MutexGuard<'static, ()> {
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a swap area on this disk, and excludes other tests as [`alone`](Self::alone) does,
    /// until the result is dropped.
    pub(crate) fn swap(&self) -> (Beside, File, MutexGuard<'static, ()>) {
        let alone = Self::alone();
        let turn = unjank_needs::turns::swap();
        (self.beside("swap", &self.file("swap-area"), "on"), turn, alone)
    }

    /// Load on every CPU and on the disk, until it is dropped.
    pub(crate) fn load(&self) -> Beside {
        self.beside("busy", self.directory.path().to_str().unwrap(), "busy")
    }

    /// A server on the socket `path`, whose CPU another process hogs, until it is dropped.
    pub(crate) fn server(&self, path: &str) -> Beside {
        self.beside("serve", path, "serves")
    }

    fn beside(&self, name: &str, argument: &str, says: &str) -> Beside {
        let mut command = Command::new(self.compiled(name));
        command.arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(program.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said.trim(), says);
        Beside(program)
    }
}

/// A program that runs until its standard input ends, even if this process is killed.
pub(crate) struct Beside(Child);

impl Beside {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let ended = self.0.wait();
        assert!(std::thread::panicking() || ended.unwrap().success());
    }
}

impl OwnParts {
    /// Describes the difference between the cells and the program's own measurement, if it
    /// exceeds 5 % and 2 ms, and the time that the host of a virtual machine took from its CPUs
    /// meanwhile. Cells may also contain the end of the program. A way or an activity may be `*`.
    pub(crate) fn differs(&self, part: &str, places: &[&str], cells: &Cells) -> Option<String> {
        let is_in = |way: &str, activity: &str| {
            places
                .iter()
                .filter_map(|place| place.split_once('/'))
                .any(|(of, what)| (of == "*" || of == way) && (what == "*" || what == activity))
        };
        let found: u64 = cells
            .iter()
            .filter(|((way, activity), _)| is_in(way, activity))
            .map(|(_, time)| time)
            .sum();
        // A clock that began at the fork, and the end of the program, give an upper bound.
        let least = self.0[part];
        let since_fork = self.0.get(&format!("{part}-since-fork"));
        let most = since_fork.map_or(least, |time| time + END);
        let tolerance = (least / 20).max(2_000_000) + self.0["stolen"];
        let found = i64::try_from(found).unwrap();
        let fits = (least - tolerance..=most + tolerance).contains(&found);
        (!fits).then(|| format!("{part} took {least} to {most} ns, {places:?} has {found} ns"))
    }
}
