//! The end of another process: `pidfd_open(2)`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::{Error, Result};

/// A process, which need not be a child of this one. Readable when it has ended.
#[derive(Debug)]
pub struct ProcessEnd(OwnedFd);

impl ProcessEnd {
    /// Of process `number`; `None` if there is none.
    ///
    /// # Errors
    /// The kernel's error: Linux before 5.3.
    pub fn of(number: u32) -> Result<Option<Self>> {
        let Some(pid) = i32::try_from(number).ok().and_then(Pid::from_raw) else { return Ok(None) };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => Ok(Some(Self(process))),
            Err(Errno::SRCH) => Ok(None),
            Err(error) => Err(Error::syscall("pidfd_open", format!("process {number}"), error)),
        }
    }

    /// Whether it has ended.
    pub fn has_come(&self) -> bool {
        let mut end = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut end, Some(&Timespec::default())).is_ok_and(|ready| ready == 1)
    }
}

impl AsFd for ProcessEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::process::Helper;

    #[test]
    fn the_end_of_a_process_is_seen() {
        let helper = Helper::start(Command::new("sleep").arg("600")).unwrap();
        let end = ProcessEnd::of(helper.id()).unwrap().unwrap();
        assert!(!end.has_come());
        drop(helper);
        assert!(end.has_come());
        assert!(ProcessEnd::of(u32::MAX).unwrap().is_none());
    }
}
