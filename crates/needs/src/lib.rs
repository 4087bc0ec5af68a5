//! Requirements of tests on their machine. If one is missing, they fail
//! with `UNJANK_TEST_ALL=1`, else they are skipped with a note. Also: how tests
//! wait on a busy machine ([`wait`]), repeat attempts there ([`attempts`]), wait for each other
//! ([`turns`]), and reach [`tracefs()`]. And which program they start ([`program`]), what one
//! printed ([`printed`]), the [`library`] that another language loads, and how often a path
//! allocates ([`allocations`]).

pub mod allocations;
pub mod attempts;
pub mod library;
pub mod printed;
pub mod program;
mod tracefs;
pub mod turns;
pub mod wait;

use std::fmt::Display;
use std::path::Path;
use std::process::Command;

pub use tracefs::tracefs;

/// Prints that a test is skipped, because the machine lacks `what`.
///
/// # Panics
/// With `UNJANK_TEST_ALL=1`.
#[expect(clippy::print_stdout, reason = "a test says by printing why it was skipped")]
pub fn skip(what: impl Display) {
    assert!(std::env::var_os("UNJANK_TEST_ALL").is_none(), "this test needs {what}");
    println!("skipped: needs {what}");
}

/// Returns `there`; if it is false, the test is skipped for lack of `what`.
///
/// # Panics
/// As [`skip`].
pub fn is_there(what: &str, there: bool) -> bool {
    if !there {
        skip(what);
    }
    there
}

/// Whether the test runs as root; if not, it is skipped.
///
/// # Panics
/// As [`skip`].
pub fn root() -> bool {
    is_there("root", rustix::process::geteuid().is_root())
}

/// Copies a program so that the copy can be started at once. Another process
/// makes the copy: a process that a thread of this one starts in the meantime
/// would inherit the copy open for writing, and the kernel would refuse to
/// execute it (`ETXTBSY` of `execve(2)`).
///
/// # Panics
/// If it cannot be copied.
#[track_caller]
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to.as_ref()).status();
    assert!(copied.is_ok_and(|status| status.success()), "cannot copy {}", from.as_ref().display());
}
