//! The committed header is the one generated from the source.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config};

/// In the order of the header.
const SOURCES: [&str; 6] =
    ["mutex.rs", "condvar.rs", "signal.rs", "backoff.rs", "costs.rs", "pool.rs"];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn made() -> String {
    let config = Config::from_file(here().join("cbindgen.toml")).unwrap();
    let builder = SOURCES.iter().fold(Builder::new().with_config(config), |builder, name| {
        builder.with_src(here().join("src").join(name))
    });
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let text = String::from_utf8(text).unwrap();
    // Replaces the heading for each contract, and drops the rules that all share.
    text.replace(" *\n * # Safety\n * The rules at the top of the header.\n", "")
        .replace(" * # Safety\n * ", " * Contract: ")
}

fn committed() -> PathBuf {
    here().join("include/unjank_backoff.h")
}

#[test]
fn the_header_is_up_to_date() {
    let made = made();
    if fs::read_to_string(committed()).is_ok_and(|text| text == made) {
        return;
    }
    let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unjank_backoff.h");
    fs::write(&new, made).unwrap();
    panic!(
        "the header is out of date: review the new one and copy it\n  cp {} {}",
        new.display(),
        committed().display()
    );
}

#[test]
fn the_header_covers_all_sources() {
    let all = fs::read_dir(here().join("src")).unwrap();
    let exporting = all
        .map(|entry| entry.unwrap().path())
        .filter(|path| fs::read_to_string(path).unwrap().contains("#[unsafe(no_mangle)]"))
        .count();
    assert_eq!(exporting, SOURCES.len());
}
