//! Runs of `unjank` in a test, and their output.

// No test file uses all of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output, Stdio};

pub(crate) fn unjank(arguments: &[&str]) -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(arguments).env_remove("DISPLAY").env_remove("NOTIFY_SOCKET").stdin(Stdio::null());
    command
}

/// Runs `launch bench` with two conditions whose difference does not affect launches.
pub(crate) fn bench(arguments: &[&str]) -> Output {
    let common = ["launch", "bench", "--b", "with:sleep 600", "--gap", "0", "--no-store"];
    unjank(&common).args(arguments).output().unwrap()
}
