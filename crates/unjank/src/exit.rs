//! Exit codes, and error messages.

use std::process::ExitCode;

use unjank_host::process::is_root;
use unjank_host::{Error, ErrorClass};
use unjank_why::report::shell_line;

use crate::output;

/// Success.
pub(crate) const FINE: u8 = 0;
/// A bug in unjank, or a failure without its own code.
pub(crate) const FAILURE: u8 = 1;
/// The command line was wrong (clap uses the same code).
pub(crate) const USAGE: u8 = 2;
/// Not possible on this machine.
pub(crate) const UNSUPPORTED: u8 = 3;
/// Not permitted to this user.
pub(crate) const PERMISSION: u8 = 4;
/// A gate or verdict failed, if the user has asked for this exit code.
pub(crate) const GATE: u8 = 5;
/// Ended by Ctrl-C after printing the results so far: 128 + SIGINT, as shells do.
pub(crate) const INTERRUPTED: u8 = 130;

/// Prints an error as one sentence on stderr, and returns its exit code. If only root may do what was
/// typed, the command for that is printed, too.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    output::remark(&format!("error: {}", sentence(error)));
    if needs_root(error) && !is_root() {
        let sudo = std::iter::once("sudo".into());
        output::remark(&format!("→ {}", shell_line(sudo.chain(std::env::args_os()))));
    }
    ExitCode::from(code(error))
}

/// Whether root has the permission that is missing.
fn needs_root(error: &anyhow::Error) -> bool {
    let is_root = |needs: &str| needs.split([' ', ',']).next() == Some("root");
    let mut errors = error.chain().filter_map(|cause| cause.downcast_ref());
    errors.any(|error| matches!(error, Error::Permission { needs, .. } if is_root(needs)))
}

/// The error and its causes, without causes that are already in the text, and without the numbers
/// of the kernel's errors, whose names are there.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let mut sentence = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if sentence.ends_with(&cause) {
            continue;
        }
        if !sentence.is_empty() {
            sentence.push_str(": ");
        }
        sentence.push_str(&cause);
    }
    without_numbers(&sentence)
}

/// The text without each ` (os error 2)` that the standard library adds.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.parse::<i32>().is_ok() => plain.push_str(rest),
            _ => plain.extend([" (os error ", part]),
        }
    }
    plain
}

/// A failure of a helper process, reported as if it had happened here.
#[derive(Debug, thiserror::Error)]
#[error("{sentence}")]
pub(crate) struct Relayed {
    pub(crate) sentence: String,
    pub(crate) code: u8,
}

/// The exit code of an error.
pub(crate) fn code(error: &anyhow::Error) -> u8 {
    if let Some(relayed) = error.downcast_ref::<Relayed>() {
        return relayed.code;
    }
    error.chain().find_map(class).map_or(FAILURE, |class| match class {
        ErrorClass::Usage => USAGE,
        ErrorClass::Unsupported => UNSUPPORTED,
        ErrorClass::Permission => PERMISSION,
        ErrorClass::Interrupted => INTERRUPTED,
        ErrorClass::Other => FAILURE,
    })
}

/// The class of an error, if it is of a type that has one.
fn class(error: &(dyn std::error::Error + 'static)) -> Option<ErrorClass> {
    let host = error.downcast_ref::<Error>().map(Error::class);
    let measure =
        || error.downcast_ref::<unjank_measure::Error>().map(unjank_measure::Error::class);
    let lab = || error.downcast_ref::<unjank_lab::Error>().map(unjank_lab::Error::class);
    let lock = || error.downcast_ref::<unjank_lock::Error>().map(unjank_lock::Error::class);
    host.or_else(measure).or_else(lab).or_else(lock)
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::Context as _;

    use super::*;

    fn missing_file() -> anyhow::Error {
        let source = io::Error::from_raw_os_error(2);
        Error::file("read", "/proc/nothing", source).into()
    }

    #[test]
    fn a_cause_is_printed_once() {
        let error = Err::<(), _>(missing_file()).context("while looking").unwrap_err();
        assert_eq!(
            sentence(&error),
            "while looking: cannot read /proc/nothing: No such file or directory"
        );
        assert_eq!(without_numbers("a (os error 2): b (os error x) (os"), "a: b (os error x) (os");
    }

    #[test]
    fn root_is_told_from_other_permissions() {
        let error = |needs: &str| {
            let (what, needs) = ("tracing".to_owned(), needs.to_owned());
            Err::<(), _>(Error::Permission { what, needs }).context("while looking").unwrap_err()
        };
        assert!(needs_root(&error("root")));
        assert!(needs_root(&error("root, or the group of the socket")));
        assert!(!needs_root(&error("a directory of root's")));
        assert!(!needs_root(&error("rootless containers")));
        assert!(!needs_root(&missing_file()));
    }

    #[test]
    fn the_class_of_a_cause_decides_the_code() {
        assert_eq!(code(&missing_file()), FAILURE);
        let invalid = Error::Invalid("no CPU".to_owned());
        let error = Err::<(), _>(invalid).context("while looking").unwrap_err();
        assert_eq!(code(&error), USAGE);
        let denied = io::Error::from_raw_os_error(13);
        assert_eq!(code(&Error::file("write", "/sys/x", denied).into()), PERMISSION);
    }
}
