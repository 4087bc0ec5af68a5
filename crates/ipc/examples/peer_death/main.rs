//! Kills clients and servers of `unjank ipc latency` during calls, over several
//! transports at the same time.
//!
//! ```text
//! peer_death UNJANK TRANSPORT,… KILLS SLEEPS MILLISECONDS
//! ```
//!
//! Kills `KILLS` processes over each transport, each within `MILLISECONDS` after
//! the server's process was started or has slept `SLEEPS` times. Prints a line for
//! each transport. Panics if an error is not reported, a process is left behind,
//! or a wait does not end.

// An example prints.
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
        // A panic has printed its message.
        lanes.into_iter().filter_map(|lane| lane.join().err()).count() == 0
    });
    Ok(if all_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
