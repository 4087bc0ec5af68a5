//! Waits for several files at once, and wakes a wait of another thread.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, ioctl_fionbio, read, write};

use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// Waits until one of `sources` is readable, has ended or has failed, or until
/// the moment `until`. Returns for each whether that is the case; all false if
/// the moment has passed or a signal arrived.
///
/// # Errors
/// If `poll(2)` itself failed, which no source can cause.
pub fn until_readable<const N: usize>(
    sources: [Option<BorrowedFd<'_>>; N],
    until: Option<Timestamp>,
) -> Result<[bool; N]> {
    let mut watched: Vec<(usize, PollFd<'_>)> = sources
        .into_iter()
        .enumerate()
        .filter_map(|(index, source)| {
            Some((index, PollFd::from_borrowed_fd(source?, PollFlags::IN)))
        })
        .collect();
    let mut fds: Vec<PollFd<'_>> = watched.iter().map(|(_, fd)| fd.clone()).collect();
    let timeout = until.map(|until| {
        let left = until.since(Timestamp::now()).get();
        Timespec { tv_sec: (left / 1_000_000_000) as _, tv_nsec: (left % 1_000_000_000) as _ }
    });
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok([false; N]),
        Err(error) => return Err(Error::syscall("poll", "the awaited files", error)),
    }
    let mut ready = [false; N];
    for ((index, _), fd) in watched.drain(..).zip(&fds) {
        ready[index] = !fd.revents().is_empty();
    }
    Ok(ready)
}

/// Reads available data, without waiting if `source` is non-blocking; returns
/// the number of bytes, 0 at the end, `None` if there is nothing yet.
///
/// # Errors
/// If `read(2)` failed.
pub fn read_some(source: impl AsFd, buffer: &mut [u8]) -> Result<Option<usize>> {
    match read(source, buffer) {
        Ok(length) => Ok(Some(length)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(Error::syscall("read", "an awaited file", error)),
    }
}

/// Whether some bytes (`PIPE_BUF`) can be written to `target` at once.
pub fn is_writable(target: impl AsFd) -> bool {
    let mut target = [PollFd::new(&target, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut target, Some(&now)).is_ok() && target[0].revents().contains(PollFlags::OUT)
}

/// Makes `source` non-blocking, here and wherever else it is open.
///
/// # Errors
/// If the file does not support it.
pub fn never_wait(source: impl AsFd) -> Result<()> {
    ioctl_fionbio(source, true).map_err(|error| Error::syscall("ioctl", "FIONBIO", error))
}

/// Wakes a thread that waits for this among other files: `eventfd(2)`.
#[derive(Debug)]
pub struct WakeEvent(OwnedFd);

impl WakeEvent {
    /// An event that has not been sent.
    ///
    /// # Errors
    /// If no file descriptor is left.
    pub fn new() -> Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        eventfd(0, flags)
            .map(Self)
            .map_err(|error| Error::syscall("eventfd", "a wake event", error))
    }

    /// Wakes a waiting thread. Later waits return at once, until the event is
    /// [`reset`](Self::reset).
    pub fn send(&self) {
        // It can only be full, after 2⁶⁴ − 2 unread events.
        let _sent_anyway = write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Resets it; returns whether it had been sent.
    pub fn reset(&self) -> bool {
        read(&self.0, &mut [0_u8; 8]).is_ok()
    }
}

impl AsFd for WakeEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unjank_units::Nanos;

    #[test]
    fn an_event_wakes_a_waiter_and_stays_until_it_is_reset() {
        let wake = WakeEvent::new().unwrap();
        let soon = Some(Timestamp::now() + Nanos::from_millis(1));
        assert_eq!(until_readable([Some(wake.as_fd()), None], soon).unwrap(), [false, false]);
        std::thread::scope(|scope| {
            scope.spawn(|| wake.send());
            assert_eq!(until_readable([None, Some(wake.as_fd())], None).unwrap(), [false, true]);
        });
        assert!(wake.reset());
        assert!(!wake.reset());
    }

    #[test]
    fn a_full_pipe_is_not_writable() {
        let (_reader, writer) = std::io::pipe().unwrap();
        assert!(is_writable(&writer));
        never_wait(&writer).unwrap();
        while write(&writer, &[0; 4096]).is_ok() {}
        assert!(!is_writable(&writer));
    }

    #[test]
    fn a_passed_moment_returns_at_once() {
        let past = Some(Timestamp::from_nanos(1));
        assert_eq!(until_readable([None], past).unwrap(), [false]);
    }
}
