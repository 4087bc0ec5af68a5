//! Programs with other runtimes that wait for locks.

pub(crate) mod postgres;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether a program runs with this argument.
pub(crate) fn is_there(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    let command = command.arg(argument).stdout(Stdio::null()).stderr(Stdio::null());
    let there = command.status().is_ok_and(|status| status.success());
    unjank_needs::is_there(program, there)
}

/// A file beside this one.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// Runs a compiler.
pub(crate) fn build(command: &mut Command) {
    let status = command.status().expect("the compiler is there");
    assert!(status.success(), "{command:?}");
}
