//! A Wayland compositor without a screen.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// A compositor of its own, which ends with the test.
pub(crate) struct Compositor {
    server: Child,
    /// Its `XDG_RUNTIME_DIR`.
    directory: TempDir,
}

impl Compositor {
    /// Its socket's name, which is not the one that clients look for by themselves.
    pub(crate) const NAME: &str = "wayland-test";

    /// Starts weston; `None` if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let server = Command::new("weston")
            .args(["--backend=headless-backend.so", "--no-config", "--idle-time=0"])
            .arg(format!("--socket={}", Self::NAME))
            .env("XDG_RUNTIME_DIR", directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(server) = server else {
            unjank_needs::skip("weston");
            return None;
        };
        let mut compositor = Self { server, directory };
        let socket = compositor.place().join(Self::NAME);
        while !socket.exists() {
            let ended = compositor.server.try_wait().unwrap();
            assert!(ended.is_none(), "weston ended: {ended:?}");
            thread::sleep(Duration::from_millis(10));
        }
        Some(compositor)
    }

    /// The directory of its socket.
    pub(crate) fn place(&self) -> &Path {
        self.directory.path()
    }

    /// Gives a command this compositor, and no X display.
    pub(crate) fn show(&self, command: &mut Command) {
        command
            .env("XDG_RUNTIME_DIR", self.place())
            .env("WAYLAND_DISPLAY", Self::NAME)
            .env_remove("DISPLAY");
    }
}

impl Drop for Compositor {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}
