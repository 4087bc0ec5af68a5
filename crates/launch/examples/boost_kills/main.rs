//! Kills `unjank launch boost` at random moments on this machine, whose clock it
//! really changes, and checks that every knob returns to its first value.
//!
//! ```text
//! boost_kills UNJANK KILLS SEED
//! boost_kills UNJANK METHOD
//! ```
//!
//! With a method, it kills nothing, and prints the knobs that change in a launch
//! with their values.
//!
//! Meanwhile the governor's `sampling_rate`, if it has one, is 100 ms, as in the
//! paper. Prints a line; panics if a knob is not restored.

// An example talks to its user.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod kills;

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use kills::{KillSetup, kill_many, watch};

const USAGE: &str = "boost_kills UNJANK (KILLS SEED | METHOD)";
const RATE: &str = "/sys/devices/system/cpu/cpufreq/ondemand/sampling_rate";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    if let ["spin", milliseconds] = *arguments {
        spin(Duration::from_millis(milliseconds.parse()?));
        return Ok(());
    }
    let (&unjank, rest) = arguments.split_first().ok_or(USAGE)?;
    let directory = env::temp_dir().join(format!("boost-kills-{}", std::process::id()));
    // Not what another user has put there.
    fs::create_dir(&directory)?;
    let rate = fs::read_to_string(RATE);
    if rate.is_ok() {
        fs::write(RATE, "100000")?;
    }
    let spinning = env::current_exe()?.to_string_lossy().into_owned();
    let setup = KillSetup {
        unjank: Path::new(unjank),
        root: Path::new("/"),
        directory: &directory,
        launch: &[spinning, "spin".to_owned(), "60".to_owned()],
    };
    match *rest {
        [kills, seed] => {
            let begin = Instant::now();
            println!("{}", kill_many(&setup, kills.parse()?, seed.parse()?));
            eprintln!("{kills} kills took {:.1?}", begin.elapsed());
        }
        [method] => {
            for (knob, [before, during, after]) in watch(&setup, method) {
                println!("{}: {before} {during} {after}", knob.display());
            }
        }
        _ => return Err(USAGE.into()),
    }
    if let Ok(rate) = rate {
        fs::write(RATE, rate.trim())?;
    }
    fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Keeps a CPU busy for `time`.
fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}
