//! Checks the tier on a real kernel, in the virtual phone: writes, reads and discards pages of its
//! block device, swaps to it, and kills its server again and again. Every page is compared.
//!
//! Usage, as root: `tier_device check SLOW FAST POLICY`, where SLOW is a block device that nobody
//! uses, and FAST is another one or `memory`; `zram` is a new one in memory. Prints what was done.

// The device is used by system calls.
#![allow(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

mod check;
mod serve;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["check", slow, fast, policy] => check::run(slow, fast, policy),
        ["serve", slow, fast, policy, device] => serve::run(slow, fast, policy, device),
        ["requests", device] => check::requests(device),
        ["swap", device] => check::swap(device),
        _ => Err("usage: tier_device check SLOW FAST POLICY".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tier_device: {error}");
            ExitCode::FAILURE
        }
    }
}
