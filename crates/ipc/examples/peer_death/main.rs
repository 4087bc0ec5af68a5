//! Kills clients and servers of `unjank ipc latency` in the middle of calls,
//! over several transports at a time.
//!
//! ```text
//! peer_death UNJANK TRANSPORT,… KILLS SLEEPS MILLISECONDS
//! ```
//!
//! `KILLS` over each transport, each within so many milliseconds after the
//! server's process was started, or has slept so often. Prints a line for each transport; panics when
//! an error is not told, somebody is left behind, or there is no end.

// An example talks to its user.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod kills;

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use kills::Moment;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<ExitCode, Box<dyn Error>> {
    let &[unjank, transports, kills, sleeps, milliseconds] = arguments else {
        return Err("peer_death UNJANK TRANSPORT,… KILLS SLEEPS MILLISECONDS".into());
    };
    let kills: u64 = kills.parse()?;
    let spread = Duration::from_millis(milliseconds.parse()?);
    let moment = Moment { sleeps: sleeps.parse()?, spread };
    let over = |transport| {
        let killed = kills::kill_many(Path::new(unjank), transport, kills, moment);
        println!("{transport}: {killed}");
    };
    let all_kept = thread::scope(|scope| {
        let lanes: Vec<_> =
            transports.split(',').map(|transport| scope.spawn(move || over(transport))).collect();
        // Those that have panicked have said why.
        lanes.into_iter().filter_map(|lane| lane.join().err()).count() == 0
    });
    Ok(if all_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
