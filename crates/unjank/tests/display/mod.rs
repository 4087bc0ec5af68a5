//! An X display without a screen.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A display of its own, which ends with the test.
pub(crate) struct Display {
    server: Child,
    /// Its name, for `DISPLAY`.
    pub(crate) name: String,
}

impl Display {
    /// Starts Xvfb; `None` if it or xclock is not installed.
    pub(crate) fn start() -> Option<Self> {
        let mut server = Command::new("Xvfb");
        server.args(["-displayfd", "1", "-nolisten", "tcp"]).args(["-screen", "0", "640x480x24"]);
        let server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let client = Command::new("xclock").arg("-version").stderr(Stdio::null()).output();
        let (Ok(mut server), Ok(_)) = (server, client) else {
            unjank_needs::skip("Xvfb and xclock");
            return None;
        };
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
        Some(Self { server, name: format!(":{}", number.trim()) })
    }

    /// Gives a command this display, and no Wayland compositor.
    pub(crate) fn show(&self, command: &mut Command) {
        command
            .env("DISPLAY", &self.name)
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("XDG_RUNTIME_DIR");
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}
