//! Libraries for other languages, which Cargo does not build for tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Builds a package into a target directory, and returns the file of the library that was built
/// under `name`, such as `libx.so`.
///
/// # Panics
/// If it cannot be built, or has no such library.
pub fn build(package: &str, target: &Path, name: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").expect("Cargo runs the tests");
    let built = Command::new(cargo)
        .args(["build", "--locked", "--package", package, "--target-dir"])
        .arg(target)
        .arg("--message-format=json")
        .output()
        .expect("Cargo starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    String::from_utf8_lossy(&built.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|message| Some(message["filenames"].as_array()?.clone()))
        .flatten()
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .find(|file| file.ends_with(name))
        .unwrap_or_else(|| panic!("{package} has no {name}"))
}
