//! `unjank rt` as an ordinary user, with the real rtkit on the test's own bus. A
//! stand-in for polkit authorizes every request.
//!
//! Needs root, rtkit and dbus. Without them, fails if `UNJANK_TEST_ALL=1`,
//! otherwise prints that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod program;

use std::collections::HashMap;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use dbus::Message;
use dbus::channel::Channel;
use unjank_host::process::{Helper, is_root};
use unjank_host::sched::Policy;
use unjank_needs::printed::{stderr, stdout};
use unjank_needs::wait;

/// Paths in Debian and Fedora.
const RTKIT: [&str; 2] = ["/usr/libexec/rtkit-daemon", "/usr/lib/rtkit/rtkit-daemon"];

/// A bus with rtkit and the stand-in for polkit.
struct Bus {
    address: String,
    _programs: [Helper; 2],
}

impl Bus {
    fn start(dir: &Path, rtkit: &Path) -> Self {
        let socket = dir.join("bus");
        let address = format!("unix:path={}", socket.display());
        let config = dir.join("bus.conf");
        let rules = "<allow send_destination='*'/><allow receive_sender='*'/><allow own='*'/>\
                     <allow user='*'/>";
        let text = format!(
            "<!DOCTYPE busconfig PUBLIC '-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN' \
             'http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd'><busconfig>\
             <type>system</type><listen>{address}</listen><auth>EXTERNAL</auth>\
             <policy context='default'>{rules}</policy></busconfig>"
        );
        fs::write(&config, text).unwrap();
        let quietly = |command: &mut Command| {
            Helper::start(command.stdout(Stdio::null()).stderr(Stdio::null())).unwrap()
        };
        let mut daemon = Command::new("dbus-daemon");
        daemon.arg(format!("--config-file={}", config.display())).args(["--nofork", "--nopidfile"]);
        let daemon = quietly(&mut daemon);
        // The socket exists before the daemon listens on it.
        wait::until("the bus", || UnixStream::connect(&socket).is_ok());
        allow_everything(&address);
        let mut kit = Command::new(rtkit);
        kit.args(["--stderr", "--no-canary", "--no-chroot", "--no-drop-privileges"]);
        kit.args([
            "--no-limit-resources",
            "--max-realtime-priority=3",
            "--our-realtime-priority=4",
        ]);
        let kit = quietly(kit.env("DBUS_SYSTEM_BUS_ADDRESS", &address));
        wait::until("rtkit", || unjank_host::rtkit::Rtkit::connect(&address).yes().is_some());
        Self { address, _programs: [daemon, kit] }
    }
}

/// Answers polkit's `CheckAuthorization` (`org.freedesktop.PolicyKit1.Authority`) with yes.
fn allow_everything(address: &str) {
    let mut bus = Channel::open_private(address).unwrap();
    bus.register().unwrap();
    let request = Message::call_with_args(
        "org.freedesktop.DBus",
        "/org/freedesktop/DBus",
        "org.freedesktop.DBus",
        "RequestName",
        ("org.freedesktop.PolicyKit1", 0_u32),
    );
    bus.send_with_reply_and_block(request, Duration::from_secs(60)).unwrap();
    thread::spawn(move || {
        while bus.is_connected() {
            let Ok(Some(message)) = bus.blocking_pop_message(Duration::from_secs(1)) else {
                continue;
            };
            if message.member().is_some_and(|member| &*member == "CheckAuthorization") {
                let yes = (true, false, HashMap::<String, String>::new());
                bus.send(message.method_return().append1(yes)).unwrap();
            }
        }
    });
}

fn rtkit() -> Option<PathBuf> {
    let missing = if is_root() {
        let found = RTKIT.iter().map(PathBuf::from).find(|path| path.exists());
        let bus = Command::new("dbus-daemon").arg("--version").output().is_ok();
        match found {
            Some(found) if bus => return Some(found),
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
    let bus = Bus::start(place.path(), &rtkit);
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
