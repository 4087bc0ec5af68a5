//! Waiting until there is something to read: `poll(2)`.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::units::Nanos;

/// Waits until `file` has something to read, or has ended, at most for
/// `patience`. Says whether it has.
///
/// # Errors
/// None for a file that is open.
pub fn within(file: impl AsFd, patience: Nanos) -> Result<bool> {
    let timeout = Timespec {
        tv_sec: (patience.get() / 1_000_000_000) as i64,
        tv_nsec: (patience.get() % 1_000_000_000) as _,
    };
    match poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(Error::syscall("poll", "a file", error)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_was_written_can_be_read() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        assert!(!within(&reader, Nanos::from_micros(10)).unwrap());
        writer.write_all(b"x").unwrap();
        assert!(within(&reader, Nanos::from_millis(1_000)).unwrap());
    }
}
