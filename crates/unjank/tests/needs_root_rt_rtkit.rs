//! `unjank rt` as an ordinary user, with the real rtkit on the test's own bus. A
//! stand-in for polkit authorizes every request.
//!
//! Needs root, rtkit and dbus. Without them, fails if `UNJANK_TEST_ALL=1`,
//! otherwise prints that it was skipped.

mod message_bus;
mod program;

use std::path::{Path, PathBuf};
use std::process::Command;

use message_bus::Bus;
use unjank_host::process::{Helper, is_root};
use unjank_host::sched::Policy;
use unjank_needs::printed::{stderr, stdout};
use unjank_needs::wait;

/// Paths in Debian and Fedora.
const RTKIT: [&str; 2] = ["/usr/libexec/rtkit-daemon", "/usr/lib/rtkit/rtkit-daemon"];

/// Starts rtkit on a bus.
fn start(rtkit: &Path, bus: &Bus) -> Helper {
    let mut kit = Command::new(rtkit);
    kit.args(["--stderr", "--no-canary", "--no-chroot", "--no-drop-privileges"]);
    kit.args(["--no-limit-resources", "--max-realtime-priority=3", "--our-realtime-priority=4"]);
    let kit = message_bus::quietly(kit.env("DBUS_SYSTEM_BUS_ADDRESS", &bus.address));
    wait::until("rtkit", || unjank_host::rtkit::Rtkit::connect(&bus.address).yes().is_some());
    kit
}

fn rtkit() -> Option<PathBuf> {
    let missing = if is_root() {
        let found = RTKIT.iter().map(PathBuf::from).find(|path| path.exists());
        match found {
            Some(found) if message_bus::is_there() => return Some(found),
            _ => "rtkit and dbus-daemon",
        }
    } else {
        "root"
    };
    unjank_needs::skip(missing);
    None
}

#[test]
fn rtkit_gives_what_the_kernel_refuses_and_it_is_taken_back() {
    let Some(rtkit) = rtkit() else { return };
    let (place, program, unjank) = program::private_state::of_nobody();
    let bus = Bus::start(place.path());
    let _rtkit = start(&rtkit, &bus);
    let run = |arguments: &[&str]| {
        Command::new(&unjank[0])
            .args(&unjank[1..])
            .arg("rt")
            .args(arguments)
            .arg("--state-dir")
            .arg(place.state_dir())
            .env("DBUS_SYSTEM_BUS_ADDRESS", &bus.address)
            .output()
            .unwrap()
    };
    let id = program.id().to_string();
    let output = run(&["set", &id, "--thread", "meas=fifo:50", "--keep"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("→ rr:3 by rtkit instead of fifo:50: "), "{said}");
    assert!(said.contains("needs CAP_SYS_NICE"), "{said}");
    assert_eq!(program.policy("meas").0.to_string(), "rr:3");
    assert!(program.policy("meas").1, "its children must not be real-time");
    // rtkit requires this run limit.
    assert!(program.run_limit().is_some_and(|limit| limit.get() <= 200_000_000));
    let output = run(&["restore", &id]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("rr:3 reset-on-fork → "), "{}", stdout(&output));
    assert!(matches!(program.policy("meas").0, Policy::Other(_)));
    assert_eq!(place.ledgers(), 0);
}
