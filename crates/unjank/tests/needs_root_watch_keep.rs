//! `unjank watch --keep` enlarges its buffers. In a file of its own, because it keeps the CPUs busy.
//!
//! Needs root and tracefs. Fails without them when `UNJANK_TEST_ALL=1`, otherwise says that it was
//! skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod watch_service;

use std::path::Path;
use std::process::Command;

use unjank_needs::wait::until;
use watch_service::{Killed, Pair, Service, stall};

#[test]
fn buffers_grow_until_they_hold_a_time() {
    let mut program = Command::new(unjank_needs::unjank!());
    // It looks at them when it reports to systemd: once a second here.
    program.env("WATCHDOG_USEC", "2000000").env_remove("WATCHDOG_PID");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // The least is 512 KiB for each CPU.
    let most = std::thread::available_parallelism().unwrap().get() as u64 * (8 << 20);
    let wanted = ["--keep", "1h", "--buffers", &most.to_string()];
    let Some(service) = Service::start_by(program, directory, &wanted) else { return };
    let buffers = || service.status()["buffers"].as_u64().unwrap();
    let first = buffers();
    let busy = ["-c", "while :; do /bin/true; done"];
    let busy = Killed(Command::new("sh").args(busy).spawn().unwrap());
    until("the buffers have their limit", || buffers() > most / 8 * 7);
    drop(busy);
    assert!(first < most / 4 && buffers() <= most, "{first}, {}", buffers());
    let mut pair = Pair::new();
    stall(&mut pair);
    let found = service.mark_process(pair.0.0.id());
    assert!(found.contains("stopped by a signal"), "{found}");
    let (ended_well, said) = service.end("-TERM");
    assert!(ended_well, "{said}");
}
