//! Runs a periodic task in its own process. `CriticalTask` in Java starts it with
//! the shared memory as standard input.

use std::io::{Write as _, stdin};
use std::process::ExitCode;

use unjank_rt::owner;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match owner::serve(stdin(), &arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is closed, the exit code remains.
            let _unread = writeln!(std::io::stderr(), "unjank-rt-task: {error}");
            ExitCode::from(2)
        }
    }
}
