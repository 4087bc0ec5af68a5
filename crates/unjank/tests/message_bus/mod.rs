//! A message bus (D-Bus) for a test's services, on which every request is authorized.

// No test file uses all of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use dbus::Message;
use dbus::channel::{Channel, default_reply};
use unjank_host::process::Helper;
use unjank_needs::wait;

/// Timeout of a call on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A bus with a stand-in for polkit.
pub(crate) struct Bus {
    pub(crate) address: String,
    _daemon: Helper,
}

/// Whether there is a bus daemon on this machine.
pub(crate) fn is_there() -> bool {
    Command::new("dbus-daemon").arg("--version").output().is_ok()
}

/// Starts a program that is ended when dropped.
pub(crate) fn quietly(command: &mut Command) -> Helper {
    Helper::start(command.stdout(Stdio::null()).stderr(Stdio::null())).unwrap()
}

impl Bus {
    pub(crate) fn start(dir: &Path) -> Self {
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
        let mut daemon = Command::new("dbus-daemon");
        daemon.arg(format!("--config-file={}", config.display())).args(["--nofork", "--nopidfile"]);
        let daemon = quietly(&mut daemon);
        // The socket exists before the daemon listens on it.
        wait::until("the bus", || UnixStream::connect(&socket).is_ok());
        allow_everything(&address);
        Self { address, _daemon: daemon }
    }

    /// Sends a method call and waits for the answer.
    pub(crate) fn call(&self, message: Message) -> Result<Message, dbus::Error> {
        open(&self.address).send_with_reply_and_block(message, TIMEOUT)
    }
}

fn open(address: &str) -> Channel {
    let mut channel = Channel::open_private(address).unwrap();
    channel.register().unwrap();
    channel
}

/// Answers polkit's `CheckAuthorization` (`org.freedesktop.PolicyKit1.Authority`) with yes.
fn allow_everything(address: &str) {
    let bus = open(address);
    let request = Message::call_with_args(
        "org.freedesktop.DBus",
        "/org/freedesktop/DBus",
        "org.freedesktop.DBus",
        "RequestName",
        ("org.freedesktop.PolicyKit1", 0_u32),
    );
    bus.send_with_reply_and_block(request, TIMEOUT).unwrap();
    thread::spawn(move || {
        while bus.is_connected() {
            let Ok(Some(message)) = bus.blocking_pop_message(Duration::from_secs(1)) else {
                continue;
            };
            if message.member().is_some_and(|member| &*member == "CheckAuthorization") {
                let yes = (true, false, HashMap::<String, String>::new());
                bus.send(message.method_return().append1(yes)).unwrap();
            } else if let Some(reply) = default_reply(&message) {
                bus.send(reply).unwrap();
            }
        }
    });
}
