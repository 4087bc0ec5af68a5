//! Starts programs one after the other at a steady rate, to measure the cost of
//! watching them: `starts COUNT PER_SECOND [alone|led]`. With `alone`, each leads
//! a process group of its own, like programs that a user starts; with `led`, they
//! stay in this process's group, like programs of a build.

// An example may print and panic.
#![allow(clippy::print_stdout)]

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use unjank_host::{Nanos, Timestamp};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, usual: u64| {
        arguments.get(index).map_or(usual, |text| text.parse().expect("a whole number"))
    };
    let (count, rate) = (number(0, 3_000), number(1, 100));
    let led = arguments.get(2).is_some_and(|how| how == "led");
    let period = Nanos::from(Duration::from_secs(1) / u32::try_from(rate).expect("a small number"));
    let begin = Timestamp::now();
    for nth in 0..count {
        (begin + period.times(nth)).sleep_until();
        let mut command = Command::new("/bin/true");
        if !led {
            command.process_group(0);
        }
        command.status().expect("/bin/true can be started");
    }
    let took = Timestamp::now().since(begin);
    println!("{count} programs in {took}: {:.0} a second", count as f64 / took.as_secs_f64());
}
