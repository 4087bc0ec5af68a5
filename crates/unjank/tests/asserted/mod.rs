//! What a command prints, with its exit code asserted.

// No test file uses all of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used)]

use assert_cmd::Command;
use serde_json::Value;

/// The standard output of a command that succeeds.
pub(crate) fn stdout(command: &mut Command) -> String {
    String::from_utf8(command.assert().code(0).get_output().stdout.clone()).unwrap()
}

/// The standard error of a command that ends with this exit code.
pub(crate) fn fails(command: &mut Command, code: i32) -> String {
    String::from_utf8(command.assert().code(code).get_output().stderr.clone()).unwrap()
}

/// The record that a command prints.
pub(crate) fn json(command: &mut Command) -> Value {
    serde_json::from_str(&stdout(command.arg("--json"))).unwrap()
}
