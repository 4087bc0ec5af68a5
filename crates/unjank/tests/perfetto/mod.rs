//! Traces that Perfetto's own classes write.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A trace that a script of this directory makes, in this form; `None` without Python.
pub(crate) fn trace(script: &str, form: &str) -> Option<tempfile::NamedTempFile> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let python = target.join("perfetto-0.59.1/bin/python");
    if !python.exists() {
        unjank_needs::skip(format!("{}; `make test` installs it", python.display()));
        return None;
    }
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto");
    let mut command = Command::new(python);
    command.env("PYTHONDONTWRITEBYTECODE", "1").arg(scripts.join(script));
    assert!(command.arg(file.path()).arg(form).status().unwrap().success());
    Some(file)
}

/// Runs a command on a trace.
pub(crate) fn run(command: &[&str], file: &Path, options: &[&str]) -> Output {
    let mut unjank = Command::new(unjank_needs::unjank!());
    unjank.args(command).arg("--no-store").args(options).arg(file).output().unwrap()
}

/// The record of a command on a trace.
pub(crate) fn record(command: &[&str], file: &Path, options: &[&str]) -> Value {
    let output = run(command, file, &[&["--json"], options].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a command says that refuses a trace.
pub(crate) fn refused(command: &[&str], file: &Path, options: &[&str]) -> String {
    let output = run(command, file, options);
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

/// A table of a record.
pub(crate) fn table<'a>(record: &'a Value, name: &str) -> &'a Value {
    let tables = record["tables"].as_array().unwrap();
    tables.iter().find(|table| table["name"] == name).unwrap()
}

/// The warnings, which are about the recording and not about the machine that reads it.
pub(crate) fn warnings(record: &Value) -> Vec<&str> {
    record["warnings"].as_array().unwrap().iter().map(|warning| warning.as_str().unwrap()).collect()
}
