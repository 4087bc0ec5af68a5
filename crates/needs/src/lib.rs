//! What tests need of the machine that they run on. Without it they fail where
//! all of them are asked for (`UNJANK_TEST_ALL=1`), and else say that they were
//! skipped.

use std::fmt::Display;

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
