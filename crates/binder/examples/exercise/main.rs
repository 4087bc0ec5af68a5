//! Checks every feature of the crate with the driver of the running kernel, between
//! several processes that this program starts.
//!
//! ```text
//! exercise [DEVICE]     # /dev/binder, which must have no context manager
//! exercise --binderfs   # a device of its own, which needs root
//! ```
//!
//! Prints `PASS` or `FAIL` for each feature, and exits with 0, 1 if one failed,
//! or 3 if there is no such device, or no binderfs.

// An example prints, and a watchdog thread ends the process.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

mod calls;
mod checks;
mod private;
mod servers;

use std::env;
use std::error::Error;
use std::process::{self, ExitCode};
use std::thread;
use std::time::Duration;

/// The result of a check, with any error.
type CheckResult<T = ()> = Result<T, Box<dyn Error>>;

/// Longer than any run takes, even on a busy emulated machine.
const TOO_LONG: Duration = Duration::from_secs(1800);

fn main() -> ExitCode {
    thread::spawn(|| {
        thread::sleep(TOO_LONG);
        eprintln!("error: still not done after {TOO_LONG:?}");
        process::exit(1);
    });
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match *arguments {
        ["--binderfs"] => private::run(),
        [] => checks::run("/dev/binder"),
        [device] => checks::run(device),
        ["registry", device] => servers::registry(device).map(|()| ExitCode::SUCCESS),
        ["peer", device, number] => servers::one(device, number).map(|()| ExitCode::SUCCESS),
        ["crowd", device, number] => servers::crowd(device, number).map(|()| ExitCode::SUCCESS),
        _ => Err("exercise [DEVICE | --binderfs]".into()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}
