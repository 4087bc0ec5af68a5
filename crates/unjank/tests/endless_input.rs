//! Inputs that never begin, never end, or are much too large.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use unjank_needs::wait::Process;

const SIGINT: u32 = 2;
const INTERRUPTED: Option<i32> = Some(130);

fn unjank(arguments: &[&str]) -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn fifo(directory: &Path) -> PathBuf {
    let path = directory.join("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Sends a signal to a child. Returns its exit code and its stderr.
fn end(child: Child, signal: &str) -> (Option<i32>, String) {
    Process(child.id()).until_it_handles(SIGINT);
    assert!(
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success()
    );
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_signal_ends_the_wait_for_a_fifo_without_a_writer() {
    let dir = tempfile::tempdir().unwrap();
    let (fifo, out) = (fifo(dir.path()), dir.path().join("out.csv"));
    let (fifo, out) = (fifo.to_str().unwrap(), out.to_str().unwrap());
    let meter = format!("csv:{fifo}");
    let model = ["--meter", "model", "--device", fifo];
    let power = [&["launch", "power", "--no-store"], &model[..]].concat();
    let bench = ["launch", "bench", "--no-store", "--pairs", "1", "--gap", "0"];
    let bench = [&bench[..], &model, &["--", "true"]].concat();
    for (arguments, signal) in [
        (&["swap", "convert", fifo, out][..], "-INT"),
        (&["swap", "convert", "--format", "csv", fifo, out], "-TERM"),
        (&["swap", "analyze", "--no-store", fifo], "-INT"),
        (&["swap", "mrc", "--no-store", fifo], "-TERM"),
        (&["swap", "simulate", "--no-store", "--tier", "1MiB", fifo], "-INT"),
        (&["swap", "sweep", "--no-store", "--tier", "1MiB", "--policy", "lru", fifo], "-INT"),
        (&["swap", "sweep", "--no-store", "--tier", "1MiB", "--policy", "lru", fifo], "-TERM"),
        (&["why", "--no-store", fifo], "-INT"),
        (&["launch", "power", "--no-store", "--meter", &meter], "-INT"),
        (&["launch", "power", "--no-store", "--meter", &meter], "-TERM"),
        (&power, "-INT"),
        (&bench, "-TERM"),
        (&["reproduce", "launch", "--no-phone", "--no-store", "--device", fifo], "-INT"),
    ] {
        let (code, said) = end(unjank(arguments).spawn().unwrap(), signal);
        assert_eq!(code, INTERRUPTED, "{arguments:?}: {said}");
        assert!(said.contains("interrupted before its end"), "{arguments:?}: {said}");
    }
    assert!(!Path::new(out).exists());
}

#[test]
fn a_signal_ends_the_wait_for_a_pipe_that_is_idle() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.csv");
    let out = out.to_str().unwrap();
    for arguments in [
        &["swap", "convert", "--format", "csv", "-", out][..],
        &["swap", "analyze", "--no-store", "--format", "csv", "-"],
        &["swap", "mrc", "--no-store", "--format", "csv", "-"],
    ] {
        let mut child = unjank(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(b"time,page\n1,2\n").unwrap();
        let (code, said) = end(child, "-INT");
        assert_eq!(code, INTERRUPTED, "{arguments:?}: {said}");
        drop(pipe);
    }
}

/// Nobody could pack such programs into the phone.
#[test]
fn a_program_for_the_phone_is_a_regular_file() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = fifo(dir.path());
    let kernel = dir.path().join("vmlinuz");
    File::create(&kernel).unwrap();
    let lab = ["lab", "run", "--no-store", "--kernel", kernel.to_str().unwrap()];
    for file in [fifo.to_str().unwrap(), "/dev/zero"] {
        for named in ["--guest", "--add"] {
            let output = unjank(&lab).args([named, file, "--", "true"]).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(&format!("{file} is not a regular file")), "{said}");
        }
    }
}

#[test]
fn an_endless_line_is_an_error_and_not_read_whole() {
    let dir = tempfile::tempdir().unwrap();
    let sparse = dir.path().join("sparse.csv");
    File::create(&sparse).unwrap().set_len(5 << 30).unwrap();
    let out = dir.path().join("out.csv");
    let out = out.to_str().unwrap();
    for file in [sparse.to_str().unwrap(), "/dev/zero"] {
        let meter = format!("csv:{file}");
        for (arguments, message) in [
            (&["swap", "convert", "--format", "csv", file, out][..], "the line is longer than"),
            (&["launch", "power", "--no-store", "--meter", &meter], "more than a recording"),
        ] {
            // The limit on memory is less than the size of the file.
            let mut command = Command::new("sh");
            command.args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh"]);
            let output = command.arg(unjank_needs::unjank!()).args(arguments).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
            assert!(said.contains(&format!("{file}, line 1: {message}")), "{arguments:?}: {said}");
        }
    }
    let arguments = ["swap", "convert", "--format", "csv", "--skip-bad", "/dev/zero", out];
    let (code, said) = end(unjank(&arguments).spawn().unwrap(), "-INT");
    assert_eq!(code, INTERRUPTED, "{said}");
    let output = unjank(&["runs", "import", sparse.to_str().unwrap()]).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("larger than 1 GiB"));
}

/// Reads binary records from `/dev/zero`, which never ends, and from a sparse file of 5 GiB,
/// with a limit of 2 GB on memory.
#[test]
fn a_signal_ends_records_that_never_end() {
    let dir = tempfile::tempdir().unwrap();
    let sparse = dir.path().join("sparse");
    File::create(&sparse).unwrap().set_len(5 << 30).unwrap();
    let out = dir.path().join("out.csv");
    let out = out.to_str().unwrap();
    for file in [sparse.to_str().unwrap(), "/dev/zero"] {
        for arguments in [
            &["swap", "convert", "--format", "oracleGeneral", file, out][..],
            &["swap", "convert", "--format", "vscsi", "--skip-bad", file, out],
            &["swap", "analyze", "--no-store", "--format", "oracleGeneral", file],
            &["swap", "mrc", "--no-store", "--format", "vscsi", "--skip-bad", file],
        ] {
            let mut command = Command::new("sh");
            command.args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh"]);
            command.arg(unjank_needs::unjank!()).args(arguments);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            Process(child.id()).until_it_has_computed(Duration::from_millis(100));
            let (code, said) = end(child, "-INT");
            assert_eq!(code, INTERRUPTED, "{arguments:?}: {said}");
        }
        let arguments = ["swap", "convert", "--format", "vscsi", file, out];
        let output = unjank(&arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("not a vscsi record"), "{said}");
    }
    assert!(!Path::new(out).exists());
}

#[test]
fn a_small_stack_is_enough() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log.csv");
    fs::write(&log, "time_s,power_W\n0,2\n60,2\n").unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -s 64; exec \"$@\"", "sh", unjank_needs::unjank!()]);
    command.args(["launch", "power", "--no-store", "--for", "30s", "--json", "--meter"]);
    let output = command.arg(format!("csv:{}", log.display())).env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
