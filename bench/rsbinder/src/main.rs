//! The same 16-byte echo through rsbinder and through unjank-binder, in turn.
//!
//! ```text
//! unjank-bench-rsbinder DEVICE DEVICE CALLS CLIENT_CPU SERVER_CPU   # JSON, one line
//! unjank-bench-rsbinder table <LINES
//! ```
//!
//! The first device is rsbinder's, the second unjank-binder's; neither may have a
//! context manager. One thread of one process calls both. Each server is the context
//! manager of its device, in its own process, and serves on one thread. A call is timed
//! from a payload that exists already until its reply can be read. rsbinder's payload
//! begins with the name of the interface, which its objects require.

mod compare;
mod run;
mod servers;
mod stamped;
mod table;

use std::env;
use std::error::Error;

use rustix::thread::{CpuSet, sched_setaffinity};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str = "unjank-bench-rsbinder DEVICE DEVICE CALLS CLIENT_CPU SERVER_CPU | table";

/// The code of the call in both libraries.
const ECHO: u32 = 1;
/// The payload: two numbers of 8 bytes.
const NUMBERS: [i64; 2] = [0x0123_4567_89AB_CDEF, 42];

fn main() -> Outcome {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["table"] => table::print(),
        ["serve-rsbinder", device, cpu] => servers::rsbinder(device, cpu.parse()?),
        ["serve-unjank", device, cpu] => servers::unjank(device, cpu.parse()?),
        [theirs, ours, calls, client, server] => {
            let cpus = [client.parse()?, server.parse()?];
            let run = compare::compare([theirs, ours], calls.parse()?, cpus)?;
            println!("{}", serde_json::to_string(&run)?);
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}

/// Keeps the calling thread, and those that it starts, on one CPU.
fn pin(cpu: usize) -> Outcome {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    Ok(sched_setaffinity(None, &cpus)?)
}
