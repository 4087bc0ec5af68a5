//! Triggers of pressure stall information: `Documentation/accounting/psi.rst`.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use unjank_units::Nanos;

use crate::error::{Error, Result};
use crate::root::Root;

/// A trigger. The kernel forgets it when this is dropped.
#[derive(Debug)]
pub struct PressureTrigger {
    file: File,
}

impl PressureTrigger {
    /// Registers a trigger: some task waited for the resource (`cpu`, `memory`, `io`) longer than
    /// `limit` within `window`, which is from 500 ms to 10 s. The kernel triggers at most once in a
    /// window.
    ///
    /// # Errors
    /// `Unsupported` on a kernel without pressure stall information; `Permission`; a window that
    /// the kernel refuses.
    pub fn register(root: &Root, resource: &str, limit: Nanos, window: Nanos) -> Result<Self> {
        let path = format!("/proc/pressure/{resource}");
        if !root.exists(&path) {
            let reason = format!(
                "there is no {path}: the kernel is older than 4.20, was built without PSI, or needs \
                 psi=1 on its command line"
            );
            return Err(Error::Unsupported(reason));
        }
        let error = |why| Error::file("register a trigger in", &path, why);
        let real = root.resolve(&path);
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        let mut file = options.open(real).map_err(error)?;
        let micros = |time: Nanos| time.get() / 1_000;
        // The kernel wants the final zero.
        let order = format!("some {} {}\0", micros(limit), micros(window));
        file.write_all(order.as_bytes()).map_err(error)?;
        Ok(Self { file })
    }
}

/// Waits until a trigger fires. Returns for each whether it has.
///
/// # Errors
/// If `poll(2)` failed, or a trigger is gone.
pub fn wait_for_any(triggers: &[PressureTrigger]) -> Result<Vec<bool>> {
    loop {
        let waits = triggers.iter().map(|trigger| trigger.file.as_fd());
        let mut waits: Vec<PollFd<'_>> =
            waits.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::PRI)).collect();
        match poll(&mut waits, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(Error::syscall("poll", "/proc/pressure", error)),
        }
        if waits.iter().any(|wait| wait.revents().contains(PollFlags::ERR)) {
            return Err(Error::Unsupported("a trigger of /proc/pressure is gone".to_owned()));
        }
        let fired: Vec<bool> =
            waits.iter().map(|wait| wait.revents().contains(PollFlags::PRI)).collect();
        if fired.contains(&true) {
            return Ok(fired);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_pressure_is_named() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let millis = Nanos::from_millis;
        let error = PressureTrigger::register(&root, "io", millis(100), millis(1_000)).unwrap_err();
        assert!(error.to_string().contains("there is no /proc/pressure/io"), "{error}");
    }

    #[test]
    fn a_trigger_is_written_as_the_kernel_reads_it() {
        let tree = tempfile::tempdir().unwrap();
        let file = tree.path().join("proc/pressure/io");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "").unwrap();
        let root = Root::at(tree.path());
        let millis = Nanos::from_millis;
        let _kept = PressureTrigger::register(&root, "io", millis(150), millis(1_000)).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"some 150000 1000000\0");
    }
}
