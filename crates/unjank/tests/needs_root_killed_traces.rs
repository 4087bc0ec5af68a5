//! Commands that trace, killed while they do: their keepers remove the trace instances.
//!
//! Needs root. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that it
//! was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::{Child, Command, Stdio};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use unjank_host::Root;
use unjank_host::process::{pid, send_signal};
use unjank_needs::wait::{until, until_some};

/// The trace instances of the kernel, whether or not tracefs is mounted.
struct Instances(OwnedFd);

impl Instances {
    /// `None` if the kernel has none.
    fn find() -> Option<Self> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC);
        let Ok(context) = context else {
            unjank_needs::skip("a kernel with tracefs");
            return None;
        };
        fsconfig_create(&context).unwrap();
        let none = MountAttrFlags::empty();
        Some(Self(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, none).unwrap()))
    }

    /// The trace instances of this process, by the form of their names.
    fn of(&self, process: u32) -> Vec<String> {
        let path = format!("/proc/self/fd/{}/instances", self.0.as_raw_fd());
        let names = fs::read_dir(path).unwrap().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.starts_with(&format!("unjank-{process}-"))).collect()
    }
}

/// A process that a test has started, killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

fn start(program: &str, arguments: &[&str]) -> Running {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().unwrap())
}

#[test]
fn killed_commands_leave_no_trace_instance() {
    if !unjank_needs::root() {
        return;
    }
    let Some(instances) = Instances::find() else { return };
    let watched = start("sh", &["-c", "while :; do sleep 0.01; done"]);
    let watched = watched.0.id().to_string();
    for arguments in [
        &["jitter", "native", "--trace", "--for", "600s", "--no-store"][..],
        &["why", "--pid", &watched, "--for", "600s", "--no-store"],
        &["why", "--no-store", "--", "sleep", "600"],
        &["lock", "doctor", &watched, "--for", "600s", "--no-store"],
        &["checkup", "--no-store"],
    ] {
        let command = start(unjank_needs::unjank!(), arguments);
        let id = command.0.id();
        // A checkup's starts are processes of their own.
        let owner = until_some("it traces and is killed", || {
            let all = pid::tree(&Root::system(), id, 0);
            let owner = all.into_iter().find(|process| !instances.of(*process).is_empty())?;
            // A start may have ended meanwhile.
            send_signal(owner, 9).ok().map(|()| owner)
        });
        until("its instance is removed", || instances.of(owner).is_empty());
        drop(command);
        until("nothing is left", || instances.of(id).is_empty());
    }
}
