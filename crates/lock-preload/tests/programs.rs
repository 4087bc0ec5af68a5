//! Programs in C with the built library in `LD_PRELOAD`.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;

/// What the program prints with any lock that excludes.
const PRINTS: &str = "normal: 200000\nadaptive: 200000\nrecursive: 200000\nchecking: 200000\n\
                      robust: 200000\ninheriting: 200000\nin turn: 4000\n\
                      cancelled: 1, free: 1\nheld: 10\nbetween processes: 200000\nforked\n\
                      taken twice: refused\n";

/// The library. Cargo does not build it for tests, so this does.
fn library() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        // In a directory of its own: other tests use the library of the workspace meanwhile.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("preload");
        unjank_needs::library::build(env!("CARGO_PKG_NAME"), &target, "libunjank_lock.so")
    })
}

/// The compiled program, removed when dropped.
struct Mutexes {
    directory: TempDir,
}

impl Mutexes {
    /// `None` without a compiler.
    fn compile() -> Option<Self> {
        let there = Command::new("cc").arg("--version").output().is_ok();
        if !unjank_needs::is_there("a C compiler", there) {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let output = Command::new("cc")
            .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutexes.c"))
            .arg("-o")
            .arg(directory.path().join("mutexes"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Self { directory })
    }

    fn command(&self) -> Command {
        Command::new(self.directory.path().join("mutexes"))
    }

    fn preloaded(&self) -> Command {
        let mut command = self.command();
        command.env("LD_PRELOAD", library());
        command
    }
}

/// Processes, waits, those of them that got the mutex by spinning, that gave up; and calls
/// for held mutexes of other kinds.
fn counts(file: &Path) -> [u64; 5] {
    let bytes = fs::read(file).unwrap();
    let count = |n: usize| u64::from_ne_bytes(bytes[8 * n..8 * n + 8].try_into().unwrap());
    [0, 1, 2, 3, 4].map(count)
}

fn prints(output: &Output) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stdout), PRINTS);
    assert_eq!(stderr, "", "the linker has said nothing");
}

#[test]
fn every_kind_of_mutex_still_excludes() {
    let Some(program) = Mutexes::compile() else { return };
    prints(&program.command().output().unwrap());
    prints(&program.preloaded().output().unwrap());
    // Where sleeping costs little or much.
    for park in ["1", "100000000", "x"] {
        prints(&program.preloaded().env("UNJANK_LOCK_PARK_NS", park).output().unwrap());
    }
}

#[test]
fn contended_calls_are_counted() {
    let Some(program) = Mutexes::compile() else { return };
    let file = program.directory.path().join("counts");
    fs::write(&file, [0; 40]).unwrap();
    prints(&program.preloaded().env("UNJANK_LOCK_COUNTS", &file).output().unwrap());
    let [processes, waits, spun, gave_up, other_kinds] = counts(&file);
    assert_eq!(processes, 1, "forked children are the same program");
    assert!(waits > 0 && other_kinds > 0, "{waits} waits, {other_kinds} of other kinds");
    assert!(spun + gave_up > 0 && spun + gave_up <= waits, "{spun} and {gave_up} of {waits}");
}

#[test]
fn a_file_that_cannot_hold_the_counts_is_left_alone() {
    let Some(program) = Mutexes::compile() else { return };
    let short = program.directory.path().join("short");
    fs::write(&short, "8 bytes!").unwrap();
    let link = program.directory.path().join("link");
    std::os::unix::fs::symlink(&short, &link).unwrap();
    let none = program.directory.path().join("none");
    for file in [short.as_path(), &link, &none, Path::new("/dev/null"), Path::new("")] {
        prints(&program.preloaded().env("UNJANK_LOCK_COUNTS", file).output().unwrap());
    }
    assert_eq!(fs::read_to_string(short).unwrap(), "8 bytes!");
    assert!(!none.exists());
}
