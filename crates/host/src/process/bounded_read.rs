//! Reads of another process's memory that end in any case.
//!
//! Memory in `/proc/PID/mem` can be a file of a file system that the process's user
//! serves (FUSE). Then the kernel waits for as long as that user likes, and not even
//! SIGKILL ends the wait, so a thread that waits there keeps its process from ending.
//! So another process reads, and is left behind if it waits.
//!
//! `/proc/PID/cmdline` needs no such care: since Linux 4.17 it does not read memory of
//! files.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::time::Timespec;

use crate::clock::Timestamp;
use unjank_units::Nanos;

/// How long a read may take. Memory that must come from slow swap takes less.
const PATIENCE: Nanos = Nanos::from_millis(1_000);
/// With this many readers left behind, nothing is read.
const MOST_LEFT: usize = 4;
/// The readers that were left behind.
static LEFT: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// The bytes of `file` from `offset` on, up to its end, at most `most`. `None` if
/// reading them takes too long. A part that cannot be read ends them.
pub(crate) fn read(file: &File, offset: u64, most: usize) -> Option<Vec<u8>> {
    if left().len() >= MOST_LEFT {
        return None;
    }
    let (from, to) = pipe_with(PipeFlags::CLOEXEC).ok()?;
    // SAFETY: after a fork(2) in a process with threads, only async-signal-safe
    // functions may be called (signal-safety(7)): `send` makes system calls and does
    // not allocate.
    let reader = unsafe { libc::fork() };
    if reader == 0 {
        // SAFETY: this is the new process.
        unsafe { send(file.as_raw_fd(), to.as_raw_fd(), offset, most) };
    }
    drop(to);
    let reader = if reader > 0 { Pid::from_raw(reader)? } else { return None };
    let bytes = receive(from, most);
    reap(reader, bytes.is_none());
    bytes
}

/// Reads the pipe until the reader ends; `None` after [`PATIENCE`].
fn receive(from: OwnedFd, most: usize) -> Option<Vec<u8>> {
    let end = Timestamp::now() + PATIENCE;
    let mut bytes = Vec::new();
    let mut from = File::from(from);
    let mut buffer = [0; 4096];
    loop {
        let left = end.since(Timestamp::now());
        let left = Timespec::try_from(std::time::Duration::from(left)).ok()?;
        let mut polled = [PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)];
        match poll(&mut polled, Some(&left)) {
            Ok(1..) => {}
            Err(Errno::INTR) => continue,
            Ok(0) | Err(_) => return None,
        }
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => bytes.extend(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    bytes.truncate(most);
    Some(bytes)
}

/// Waits for the end of the reader, unless it `waits` and cannot be killed.
fn reap(reader: Pid, waits: bool) {
    if !waits {
        // It has closed the pipe, which is the last thing that it does.
        while matches!(waitpid(Some(reader), WaitOptions::empty()), Err(Errno::INTR)) {}
        return;
    }
    let _ended_just_now = kill_process(reader, Signal::KILL);
    let moment = Nanos::from_millis(10);
    for _ in 0..10 {
        if !runs(reader) {
            return;
        }
        (Timestamp::now() + moment).sleep_until();
    }
    left().push(reader);
}

/// The readers that were left behind and still wait.
fn left() -> MutexGuard<'static, Vec<Pid>> {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.retain(|reader| runs(*reader));
    left
}

/// Whether a reader has not ended; otherwise it is reaped.
fn runs(reader: Pid) -> bool {
    matches!(waitpid(Some(reader), WaitOptions::NOHANG), Ok(None))
}

/// Copies bytes into the pipe, in the reader.
///
/// # Safety
/// It ends the process, so it may be called only in a new fork.
unsafe fn send(file: i32, to: i32, mut offset: u64, most: usize) -> ! {
    let mut buffer = [0_u8; 4096];
    let mut left = most;
    // SAFETY: system calls on descriptors of this process and on a buffer of the
    // given length; async-signal-safe, and none of them allocates. Standard streams
    // are open in every Rust program, so `file` and `to` are neither 0 nor 1. No other
    // file of the parent (locks, its keeper's pipe) may stay open here.
    unsafe {
        libc::dup2(file, 0);
        libc::dup2(to, 1);
        if libc::syscall(libc::SYS_close_range, 2, u32::MAX, 0) != 0 {
            for other in 2..65_536 {
                libc::close(other);
            }
        }
        while left > 0 {
            let length = left.min(buffer.len());
            let read = libc::pread64(0, buffer.as_mut_ptr().cast(), length, offset.cast_signed());
            let Some(read) = usize::try_from(read).ok().filter(|read| *read > 0) else { break };
            let mut sent = 0;
            while sent < read {
                let rest = buffer.as_ptr().add(sent).cast();
                match usize::try_from(libc::write(1, rest, read - sent)) {
                    Ok(more @ 1..) => sent += more,
                    _ => libc::_exit(1),
                }
            }
            offset = offset.wrapping_add(read as u64);
            left -= read;
        }
        libc::_exit(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_up_to_the_end_or_the_limit() {
        let mut file = tempfile::tempfile().unwrap();
        let text: Vec<u8> = (0..10_000_u32).map(|it| it as u8).collect();
        io::Write::write_all(&mut file, &text).unwrap();
        assert_eq!(read(&file, 0, usize::MAX).unwrap(), text);
        assert_eq!(read(&file, 9_990, 5).unwrap(), text[9_990..9_995]);
        assert_eq!(read(&file, 10_000, 5).unwrap().len(), 0);
        assert_eq!(read(&File::open("/proc/self/mem").unwrap(), 0, 5).unwrap().len(), 0);
    }

    #[test]
    fn a_read_that_never_ends_is_given_up_and_leaves_no_process() {
        let (stuck, _writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        assert_eq!(receive(stuck, 5), None);
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        reap(Pid::from_child(&child), true);
        unjank_needs::wait::until("none is left", || left().is_empty());
        assert!(child.wait().is_err(), "it was killed and reaped");
    }
}
