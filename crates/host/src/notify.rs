//! Receives readiness messages of programs, as a service manager does: the
//! datagrams of `sd_notify(3)`.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::socket_directory::SocketDirectory;
use unjank_units::Nanos;

/// The longest datagram that is read.
const LONGEST: usize = 4096;

/// A socket that receives the readiness message of a program that was started
/// with its path in `NOTIFY_SOCKET`. It is in its own directory that only this
/// user may enter; both are removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    socket: UnixDatagram,
    place: SocketDirectory,
}

impl Listener {
    /// Creates a socket below `place`, in which no other user may replace the
    /// socket's directory: `/tmp`, for example, is sticky.
    ///
    /// # Errors
    /// `File` if nothing can be created there.
    pub fn bind(place: &Path) -> Result<Self> {
        let place = SocketDirectory::create(place, "notify")?;
        let socket = UnixDatagram::bind(place.socket())
            .map_err(|source| Error::file("listen on", place.socket(), source))?;
        Ok(Self { socket, place })
    }

    /// The value for `NOTIFY_SOCKET`.
    pub fn path(&self) -> PathBuf {
        self.place.socket()
    }

    /// Waits for `READY=1`, at most for `patience`. Returns the moment of its
    /// arrival, or `None` if it did not arrive.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn ready_within(&self, patience: Nanos) -> Result<Option<Timestamp>> {
        let failed = |source| Error::file("listen on", self.path(), source);
        let end = Timestamp::now() + patience;
        let mut datagram = [0; LONGEST];
        loop {
            let left = end.since(Timestamp::now()).max(Nanos::from_micros(1));
            self.socket.set_read_timeout(Some(left.into())).map_err(failed)?;
            match self.socket.recv(&mut datagram) {
                Ok(length) if says_ready(&datagram[..length]) => return Ok(Some(Timestamp::now())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(failed(error)),
            }
            if Timestamp::now() >= end {
                return Ok(None);
            }
        }
    }
}

/// Whether one of the lines is `READY=1`.
fn says_ready(datagram: &[u8]) -> bool {
    datagram.split(|&byte| byte == b'\n').any(|line| line == b"READY=1")
}

/// Whether a datagram contains `READY=1`; for the fuzzer.
#[cfg(fuzzing)]
pub fn says_ready_for_fuzzing(datagram: &[u8]) -> bool {
    says_ready(datagram)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_the_ready_state_is_received() {
        let dir = tempfile::tempdir().unwrap();
        let listener = Listener::bind(dir.path()).unwrap();
        let path = listener.path();
        let send = |state: &str| UnixDatagram::unbound()?.send_to(state.as_bytes(), &path);
        send("STATUS=loading\nREADY=0").unwrap();
        assert_eq!(listener.ready_within(Nanos::from_millis(5)).unwrap(), None);
        send("STATUS=there\nREADY=1\nMAINPID=7").unwrap();
        assert!(listener.ready_within(Nanos::from_millis(1_000)).unwrap().is_some());
        drop(listener);
        assert!(fs::read_dir(dir.path()).unwrap().next().is_none(), "nothing is left behind");
        assert!(send("READY=1").is_err());
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        assert!(Listener::bind(Path::new("/nonexistent")).is_err());
    }
}
