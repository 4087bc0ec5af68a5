//! Exit codes, and how an error is told.

use std::io::{self, Write as _};
use std::process::ExitCode;

use unjank_host::ErrorClass;

/// Fine.
pub(crate) const FINE: u8 = 0;
/// A bug in unjank, or a failure it has no better name for.
pub(crate) const FAILURE: u8 = 1;
/// The command line was wrong (clap uses the same code).
pub(crate) const USAGE: u8 = 2;
/// Not possible on this machine.
pub(crate) const UNSUPPORTED: u8 = 3;
/// Not possible for this user.
pub(crate) const PERMISSION: u8 = 4;
/// A gate or verdict failed, as the user asked to be told.
pub(crate) const GATE: u8 = 5;
/// Ended by Ctrl-C after printing what was known: 128 + SIGINT, as shells do.
pub(crate) const INTERRUPTED: u8 = 130;

/// Tells an error in one sentence on stderr, and gives its exit code. A reader
/// that closed the pipe (`unjank … | head`) is not an error.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::from(FINE);
    }
    // If stderr is gone too, there is nobody left to tell.
    let _nobody_listens = writeln!(io::stderr(), "error: {error:#}");
    ExitCode::from(code(error))
}

fn code(error: &anyhow::Error) -> u8 {
    error.chain().find_map(class).map_or(FAILURE, |class| match class {
        ErrorClass::Usage => USAGE,
        ErrorClass::Unsupported => UNSUPPORTED,
        ErrorClass::Permission => PERMISSION,
        ErrorClass::Other => FAILURE,
    })
}

/// The class of an error, if it is of a type that has one.
fn class(error: &(dyn std::error::Error + 'static)) -> Option<ErrorClass> {
    error.downcast_ref::<unjank_host::Error>().map(unjank_host::Error::class)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
