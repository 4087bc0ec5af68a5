//! Checks the tier on a real kernel, in the virtual phone: writes, reads and discards pages of its
//! block device, swaps to it, and kills its processes again and again. Every page is compared.
//!
//! Usage, as root: `tier_device check FAST POLICY IDENTITY`, where FAST is `memory` or `device`, a new
//! one, and IDENTITY is what a page is for the policy of the area: `slot` or `page`.
//! `tier_device measure POLICY IDENTITY` swaps without kills, and prints the counts of the tier.
//! `tier_device faults` has backings fail, and two tiers at a time. `tier_device exhausted SLOW` swaps
//! to the phone's disk while there is no other memory. `tier_device writeback PART` checks the service
//! that writes pages of zram back, `tier_device measure-writeback POLICY` measures what it spares, and
//! `tier_device measure-cost` what it costs. `tier_device speed` compares the device with those of
//! libublk's examples, `null` and `loop`, on the phone's disk. Prints what was done. Needs `unjank` in
//! the path.

// The device is used by system calls.
#![allow(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

mod allocations;
mod beside;
mod check;
mod faults;
mod kernel;
mod killed_server;
mod memory_device;
mod speed;
mod tier;
mod user;
mod writeback;

use std::path::Path;
use std::process::ExitCode;

use unjank_host::process::HelperCommand;
use unjank_swap::remedy::tier::directory::TierDirectory;
use unjank_swap::remedy::tier::event::Event;
use unjank_swap::remedy::tier::helper::{Helpers, Task};
use unjank_swap::remedy::tier::task::{self, Voice};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["check", fast, policy, identity] => check::run(fast, policy, identity),
        ["helper", task, all, name] => help(task, all, name),
        ["measure", policy, identity] => check::measure(policy, identity),
        ["speed"] => speed::run(),
        ["faults"] => faults::run(),
        ["requests", device] => user::requests(device),
        ["many-requests", device, count] => user::many_requests(device, count),
        ["hot-and-cold", millis] => user::hot_and_cold(millis),
        ["thrash"] => user::thrash(),
        ["churn"] => user::churn(),
        ["evict"] => user::evict_and_end(),
        ["writeback", part] => writeback::run(part),
        ["measure-writeback", policy] => writeback::measure(policy),
        ["measure-cost"] => writeback::measure_cost(),
        ["swap"] => user::swap(Some(user::MEMORY)),
        ["swap-freely"] => user::swap(None),
        ["device", bytes, room] => memory_device::serve(bytes, room),
        ["exhaust"] => user::exhaust(),
        ["exhausted", slow] => faults::memory_is_exhausted(slow),
        _ => Err("usage: tier_device check FAST POLICY IDENTITY, or: tier_device faults".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tier_device: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts this program as a process of a tier.
fn helpers() -> Helpers {
    Helpers::new(HelperCommand::this_program(["helper"]))
}

fn help(task: &str, all: &str, name: &str) -> Result<()> {
    let directory = TierDirectory::named(Path::new(all), name)?;
    let answer = |line: &str| {
        println!("{line}");
        // A server has begun.
        allocations::reset();
    };
    let task: Task = task.parse()?;
    let done = task::run(task, &directory, &helpers(), Voice { answer, say, fatal });
    if task == Task::Serve {
        println!("{}", allocations::count());
    }
    Ok(done?)
}

fn say(event: &Event) {
    eprintln!("tier_device: {event}");
}

fn fatal(error: &unjank_host::Error) -> ! {
    eprintln!("tier_device: {error}");
    std::process::abort()
}
