//! What tests need of the machine that they run on. Without it they fail where
//! all of them are asked for (`UNJANK_TEST_ALL=1`), and else say that they were
//! skipped. And how they wait on a machine that is busy ([`wait`]).

pub mod wait;

use std::fmt::Display;
use std::path::Path;
use std::process::Command;

/// Says that a test is skipped, because the machine lacks `what`.
///
/// # Panics
/// All tests are asked for.
#[expect(clippy::print_stdout, reason = "a test says by printing why it was skipped")]
pub fn skip(what: impl Display) {
    assert!(std::env::var_os("UNJANK_TEST_ALL").is_none(), "this test needs {what}");
    println!("skipped: needs {what}");
}

/// Whether `what` is there: else the test is skipped.
///
/// # Panics
/// As [`skip`].
pub fn is_there(what: &str, there: bool) -> bool {
    if !there {
        skip(what);
    }
    there
}

/// Whether the test runs as root: else it is skipped.
///
/// # Panics
/// As [`skip`].
pub fn root() -> bool {
    is_there("root", rustix::process::geteuid().is_root())
}

/// Copies a program, so that the copy can be started at once. Another process does that: one that a
/// thread of this process starts meanwhile would hold the copy open for writing, and then the
/// kernel starts it for nobody (`ETXTBSY` of `execve(2)`).
///
/// # Panics
/// There is no room for it.
#[track_caller]
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to.as_ref()).status();
    assert!(copied.is_ok_and(|status| status.success()), "no copy of {}", from.as_ref().display());
}
