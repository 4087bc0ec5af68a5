//! Files named by the user, and stdin: reading them stops when a signal asks
//! the program to end.
//!
//! A pipe may stay idle for hours, a FIFO may never get a writer, and
//! `/dev/zero` never ends. So a file is opened without blocking (`O_NONBLOCK`
//! of `open(2)`), possible waits use `poll(2)`, and each read checks for a stop
//! request.

use std::error;
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufRead, Read};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use unjank_units::Bytes;

/// The interval between checks for a stop request while an input is idle: the
/// signal may be delivered to another thread.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A request to stop.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The flag that a signal handler sets to request the stop.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether a stop was requested.
    pub fn is_requested(&self) -> bool {
        // The flag guards no other data, so there is no ordering to pair with.
        self.0.load(Ordering::Relaxed)
    }
}

/// Always the same text: options that contain one are compared by their text.
impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stop")
    }
}

/// The error of a read that a stop request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted before its end")
    }
}

impl error::Error for Stopped {}

impl Stopped {
    /// Whether `error` is this one.
    pub fn is(error: &io::Error) -> bool {
        matches!(error.get_ref(), Some(why) if why.is::<Self>())
    }
}

/// An open file. Its reads fail with [`Stopped`] after a stop request.
#[derive(Debug)]
pub struct Input {
    file: File,
    metadata: Metadata,
    stop: Stop,
}

impl Input {
    /// Opens the file at `path`, without waiting for a writer.
    ///
    /// # Errors
    /// Errors of `open(2)`; `IsADirectory`.
    pub fn open(path: &Path, stop: &Stop) -> io::Result<Self> {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        Self::of(OpenOptions::new().read(true).custom_flags(flags).open(path)?, stop)
    }

    /// Stdin, beyond the data that this process has already buffered.
    ///
    /// # Errors
    /// If no file descriptor is left.
    pub fn stdin(stop: &Stop) -> io::Result<Self> {
        Self::of(io::stdin().as_fd().try_clone_to_owned()?.into(), stop)
    }

    /// Stdin if the name is `-`, otherwise the file of that name.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn named(name: &Path, stop: &Stop) -> io::Result<Self> {
        if name == Path::new("-") { Self::stdin(stop) } else { Self::open(name, stop) }
    }

    /// An open file.
    ///
    /// # Errors
    /// The kernel's error of `fstat(2)`; `IsADirectory`.
    pub fn of(file: File, stop: &Stop) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Self { file, metadata, stop: stop.clone() })
    }

    /// The file and its length, if it is a regular file.
    pub fn regular(&self) -> Option<(&File, Bytes)> {
        self.metadata.is_file().then_some((&self.file, Bytes(self.metadata.len())))
    }

    /// Reads everything, up to `most`.
    ///
    /// # Errors
    /// `FileTooLarge`, before reading if the length is known.
    pub fn bytes(self, most: Bytes) -> io::Result<Vec<u8>> {
        self.bytes_after(Vec::new(), most)
    }

    /// As `bytes`, if the bytes in `start` were read before.
    ///
    /// # Errors
    /// As `bytes`.
    pub fn bytes_after(mut self, start: Vec<u8>, most: Bytes) -> io::Result<Vec<u8>> {
        let too_large = || Err(io::ErrorKind::FileTooLarge.into());
        if self.regular().is_some_and(|(_, length)| length > most) {
            return too_large();
        }
        let mut bytes = start;
        let rest = most.get().saturating_add(1).saturating_sub(bytes.len() as u64);
        self.by_ref().take(rest).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most.get() { too_large() } else { Ok(bytes) }
    }

    /// Waits for one tick; returns whether there is input, or the end.
    fn is_ready(&self) -> io::Result<bool> {
        // Reads of disk files and of most devices do not block.
        if self.metadata.is_file() {
            return Ok(true);
        }
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&TICK)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.is_requested() {
                return Err(io::Error::other(Stopped));
            }
            if !self.is_ready()? {
                continue;
            }
            match self.file.read(buffer) {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) => {}
                done => return done,
            }
        }
    }
}

/// Reads a line into `line`, without its end; false at the end of the input.
///
/// # Errors
/// `FileTooLarge` for a line of more than `most` bytes, of which no more is
/// read.
pub fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    line.clear();
    let mut bounded = input.by_ref().take(most as u64 + 1);
    let length = bounded.read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if length > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(length > 0)
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write as _};
    use std::thread;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn fifo() -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        (dir, path)
    }

    #[test]
    fn opening_a_fifo_without_a_writer_waits_until_a_stop() {
        let (_dir, path) = fifo();
        let stop = Stop::default();
        let mut input = Input::open(&path, &stop).unwrap();
        thread::scope(|scope| {
            let read = scope.spawn(|| input.read(&mut [0; 8]).unwrap_err());
            stop.flag().store(true, Ordering::Relaxed);
            assert!(Stopped::is(&read.join().unwrap()));
        });
    }

    #[test]
    fn data_of_a_writer_arrives_up_to_its_end() {
        let (_dir, path) = fifo();
        let input = Input::open(&path, &Stop::default()).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut writer = File::options().write(true).open(&path).unwrap();
                for piece in ["one ", "two"] {
                    writer.write_all(piece.as_bytes()).unwrap();
                }
            });
            assert_eq!(input.bytes(Bytes(7)).unwrap(), b"one two");
        });
    }

    #[test]
    fn an_endless_input_is_read_until_a_stop_or_a_limit() {
        let stop = Stop::default();
        let zero = || Input::open(Path::new("/dev/zero"), &stop).unwrap();
        let too_large = zero().bytes(Bytes(1 << 20)).unwrap_err();
        assert_eq!(too_large.kind(), io::ErrorKind::FileTooLarge);
        let mut line = Vec::new();
        let too_long = read_line(&mut BufReader::new(zero()), &mut line, 100).unwrap_err();
        assert_eq!((too_long.kind(), line.len()), (io::ErrorKind::FileTooLarge, 101));
        thread::scope(|scope| {
            let read = scope.spawn(|| io::copy(&mut zero(), &mut io::sink()).unwrap_err());
            stop.flag().store(true, Ordering::Relaxed);
            assert!(Stopped::is(&read.join().unwrap()));
        });
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        File::create(&path).unwrap().set_len(5 << 30).unwrap();
        let stop = Stop::default();
        let input = Input::open(&path, &stop).unwrap();
        assert_eq!(input.regular().unwrap().1, Bytes(5 << 30));
        assert_eq!(input.bytes(Bytes(5)).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let error = Input::open(dir.path(), &stop).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn lines_are_read_without_their_ends() {
        let mut input = &b"one\n\nthree\nfour"[..];
        let mut line = Vec::new();
        let mut lines = Vec::new();
        while read_line(&mut input, &mut line, 5).unwrap() {
            lines.push(String::from_utf8(line.clone()).unwrap());
        }
        assert_eq!(lines, ["one", "", "three", "four"]);
    }
}
