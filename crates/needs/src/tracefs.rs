//! tracefs, which nothing may have mounted on this machine since its boot.

use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::{is_there, root};

const PLACE: &str = "/sys/kernel/tracing";

/// Whether this thread and the programs that it starts have tracefs at its usual place. If it is
/// not mounted there, it is mounted in a mount namespace of this thread's own, so that the machine
/// stays as it is. If that fails, the test is skipped.
///
/// # Panics
/// As [`skip`](crate::skip).
pub fn tracefs() -> bool {
    let is_mounted = || Path::new(PLACE).join("events").exists();
    root() && is_there("tracefs", is_mounted() || mount_privately().is_ok())
}

fn mount_privately() -> rustix::io::Result<()> {
    // SAFETY: a mount namespace has no file descriptors, which other threads could see.
    #[expect(unsafe_code, reason = "other flags than this one would be unsafe")]
    unsafe {
        unshare_unsafe(UnshareFlags::NEWNS)?;
    }
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount("tracefs", PLACE, "tracefs", MountFlags::empty(), None)
}
