//! The `unjank` command: finds where this machine loses time between a touch
//! and its response, and takes that time back.

mod began;
mod cli;
mod commands;
mod exit;
mod interrupt;
mod output;
mod paths;
mod stack;
mod values;

use std::process::ExitCode;

fn main() -> ExitCode {
    began::at();
    stack::with_enough(|| match commands::run(cli::Cli::read(std::env::args_os())) {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    })
}
