//! The virtual phone, and programs for it.

// No test file uses all of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::Value;

/// Whether a phone can run here.
pub(crate) fn lab() -> bool {
    let missing = missing();
    if let Some(what) = &missing {
        unjank_needs::skip(format!("the lab: {what}"));
    }
    missing.is_none()
}

fn missing() -> Option<String> {
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        return Some("QEMU is not installed".to_owned());
    }
    let examples = ["exercise", "peer_death", "boost_kills", "tier_device", "suspend"].map(example);
    if let Some(program) = examples.iter().find(|program| !program.is_file()) {
        return Some(format!("no {} (cargo build --workspace --examples)", program.display()));
    }
    let fetch = Command::new(unjank()).args(["lab", "fetch"]).output().unwrap();
    (!fetch.status.success()).then(|| String::from_utf8_lossy(&fetch.stderr).into_owned())
}

pub(crate) fn unjank() -> &'static str {
    unjank_needs::unjank!()
}

/// An example program of the crates, which `cargo test --workspace` builds.
pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(unjank()).with_file_name("examples").join(name)
}

/// `unjank lab run`, emulated, so it is the same everywhere.
pub(crate) fn lab_run() -> Command {
    run_by("tcg")
}

/// `unjank lab run` with instructions as time: other load on this machine makes no
/// difference, and pauses cost nothing. An instruction takes 8 ns, so that a given
/// time has few instructions to emulate.
pub(crate) fn lab_run_counted() -> Command {
    let mut command = run_by("icount");
    command.args(["--instruction-time", "8ns"]);
    command
}

/// Waits for a turn: a phone computes without a pause, and with more phones than CPUs, each would
/// run so rarely that its emulated CPUs wait for each other. The stdin of the command, which it
/// does not read, is the lock file of the turn, so the turn ends when the command does.
fn run_by(accelerator: &str) -> Command {
    let mut command = Command::new(unjank());
    let cpus = thread::available_parallelism().unwrap().get();
    let turn = unjank_needs::turns::take("unjank-phones", cpus);
    command.args(["lab", "run", "--accel", accelerator]).stdin(Stdio::from(turn));
    command
}

/// A phone that runs to its end.
pub(crate) trait RunPhone {
    /// Runs it. If the emulator broke its CPU, runs it anew, at most twice more.
    fn run_phone(&mut self) -> Output;
}

impl RunPhone for Command {
    fn run_phone(&mut self) -> Output {
        let mut output = self.output().unwrap();
        for _ in 0..2 {
            let console = String::from_utf8_lossy(&output.stderr);
            if !lost_flags(&console) {
                break;
            }
            println!("the emulator lost the flags of its CPU; the phone runs again: {console}");
            output = self.output().unwrap();
        }
        output
    }
}

/// Bits of EFLAGS that are zero on every x86 processor (Intel's manual, volume 1, 3.4.3).
const NEVER_SET: u32 = 0xffc0_0000;

/// Whether the kernel died with flags that no processor can have. With QEMU 7.2 this happens now and
/// then: an operand seems to be taken for the flags that it sets.
pub(crate) fn lost_flags(console: &str) -> bool {
    let flags = console.split("EFLAGS: ").skip(1).filter_map(|rest| rest.get(..8));
    let flags = flags.filter_map(|digits| u32::from_str_radix(digits, 16).ok());
    console.contains("Kernel panic") && flags.into_iter().any(|flags| flags & NEVER_SET != 0)
}

/// Compiles a C program.
pub(crate) fn compiled(directory: &Path, name: &str, source: &str) -> PathBuf {
    let (file, program) = (directory.join("source.c"), directory.join(name));
    fs::write(&file, source).unwrap();
    let mut cc = Command::new("cc");
    let built = cc.arg("-o").arg(&program).arg(&file).status().unwrap();
    assert!(built.success());
    program
}

pub(crate) fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// A program that prints a mark with the exit code after the output of a command.
const ENDS: &str = include_str!("ends.c");

/// The output of one of several commands, and its exit code.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Ran {
    /// Its only JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Runs all commands in one phone, one after the other, even if some fail. Its time is
/// its instructions. `programs` are copied to its `/bin`.
pub(crate) fn in_one_phone(cpus: usize, programs: &[PathBuf], commands: &[&str]) -> Vec<Ran> {
    in_one_phone_with(&[], cpus, programs, commands)
}

/// As [`in_one_phone`], with further options.
pub(crate) fn in_one_phone_with(
    options: &[&str],
    cpus: usize,
    programs: &[PathBuf],
    commands: &[&str],
) -> Vec<Ran> {
    let directory = tempfile::tempdir().unwrap();
    let mut phone = lab_run_counted();
    phone.args(["--no-store", "--cpu-count", &cpus.to_string()]).args(options);
    phone.arg("--add").arg(compiled(directory.path(), "ends", ENDS));
    for program in programs {
        phone.arg("--add").arg(program);
    }
    for (number, command) in commands.iter().enumerate() {
        phone.args([if number == 0 { "--" } else { "--and" }, "ends"]);
        phone.args(command.split_whitespace());
    }
    let output = phone.run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    let (stdout, stderr) = (pieces(&stdout), pieces(&stderr));
    assert_eq!((stdout.len(), stderr.len()), (commands.len(), commands.len()), "{stderr:#?}");
    let both = stdout.into_iter().zip(stderr);
    both.map(|((stdout, code), (stderr, _))| Ran { stdout, stderr, code }).collect()
}

/// The output before each mark, and the exit code in the mark.
fn pieces(text: &str) -> Vec<(String, i32)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((piece, after)) = rest.split_once('\u{1e}') {
        let (code, after) = after.split_once('\n').unwrap();
        pieces.push((piece.to_owned(), code.parse().unwrap()));
        rest = after;
    }
    pieces
}
