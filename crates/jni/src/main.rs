//! A periodic task in a process of its own, which `CriticalTask` in Java
//! starts with its shared memory as standard input.

use std::io::{Write as _, stdin};
use std::process::ExitCode;

use unjank_rt::owner;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match owner::serve(stdin(), &arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With nobody there to read it, the exit code stays.
            let _unread = writeln!(std::io::stderr(), "unjank-rt-task: {error}");
            ExitCode::from(2)
        }
    }
}
