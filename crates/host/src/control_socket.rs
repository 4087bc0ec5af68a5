//! A socket on which a service is asked: `unix(7)`, one line each way.
//!
//! Everybody may ask. Who may change something is decided by who the kernel
//! says the other side is (`SO_PEERCRED`, `SO_PEERGROUPS`): root, the service's
//! own user, and the group that the socket belongs to, which is that of the
//! service unless somebody gives it to another one (`chgrp`).

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use crate::error::{Error, Result};

/// No line is longer.
const LONGEST: usize = 64 << 10;
/// How long the other side may keep a service waiting.
const PATIENCE: Duration = Duration::from_millis(500);
/// Groups of one process that are looked at.
const MOST_GROUPS: usize = 256;

/// A socket that a service listens on. Dropping it removes its file.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

/// Somebody who asks.
#[derive(Debug)]
pub struct Asker {
    stream: UnixStream,
    may_change: bool,
    process: u32,
}

impl ControlSocket {
    /// Listens at `path`. Its directory is made if need be. A file that a
    /// service left there when it was killed is replaced.
    ///
    /// # Errors
    /// `Busy` if another service listens there; `File` for what cannot be made.
    pub fn listen(path: &Path) -> Result<Self> {
        let failed = |action| move |error| Error::file(action, path, error);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(failed("make the directory of"))?;
        }
        if UnixStream::connect(path).is_ok() {
            return Err(Error::Busy(format!("another service listens at {}", path.display())));
        }
        // Only what nobody listens on any more is removed, and nothing that is
        // not a socket: `bind` fails on that.
        if fs::symlink_metadata(path).is_ok_and(|file| is_socket(&file)) {
            fs::remove_file(path).map_err(failed("replace"))?;
        }
        let listener = UnixListener::bind(path).map_err(failed("listen at"))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).map_err(failed("open"))?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// Removes its file: nobody else can ask, whoever still waits for askers.
    pub fn close(&self) {
        let _gone_already = fs::remove_file(&self.path);
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the next one to ask.
    ///
    /// # Errors
    /// The socket is of no use any more, or no file descriptor is left.
    pub fn accept(&self) -> Result<Asker> {
        let failed = |error| Error::file("accept at", &self.path, error);
        let (stream, _) = self.listener.accept().map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        let peer = socket_peercred(&stream).map_err(|error| failed(error.into()))?;
        let own_group = fs::metadata(&self.path).map_err(failed)?.gid();
        let user = peer.uid.as_raw();
        let may_change = user == 0
            || user == geteuid().as_raw()
            || peer.gid.as_raw() == own_group
            || groups_of(&stream).contains(&own_group);
        let process = peer.pid.as_raw_nonzero().get().unsigned_abs();
        Ok(Asker { stream, may_change, process })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.close();
    }
}

impl Asker {
    /// Whether it may change something.
    pub fn may_change(&self) -> bool {
        self.may_change
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Its question: a line, without its end.
    ///
    /// # Errors
    /// It takes too long, says too much, or is gone.
    pub fn question(&mut self) -> io::Result<String> {
        line(&mut self.stream, PATIENCE)
    }

    /// Answers with one line.
    ///
    /// # Errors
    /// It does not listen any more.
    pub fn answer(mut self, line: &str) -> io::Result<()> {
        self.stream.write_all(format!("{line}\n").as_bytes())
    }
}

/// Asks the service at `path` one line, and gives back its answer, which it may
/// take `patience` for.
///
/// # Errors
/// `Unsupported` if nobody listens there; `File` if it does not answer.
pub fn ask(path: &Path, question: &str, patience: Duration) -> Result<String> {
    let failed = |error| Error::file("ask the service at", path, error);
    let mut stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            Error::Unsupported(format!("no service listens at {}", path.display()))
        }
        _ => failed(error),
    })?;
    stream.set_read_timeout(Some(patience)).map_err(failed)?;
    stream.write_all(format!("{question}\n").as_bytes()).map_err(failed)?;
    line(&mut stream, patience).map_err(failed)
}

/// Who says a little all the time may not take longer than who says nothing.
fn line(stream: &mut UnixStream, patience: Duration) -> io::Result<String> {
    let until = Instant::now() + patience;
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let length = stream.read(&mut piece)?;
        let end = piece[..length].iter().position(|&byte| byte == b'\n');
        bytes.extend_from_slice(&piece[..end.unwrap_or(length)]);
        if end.is_some() {
            return String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into());
        }
        if length == 0 || bytes.len() > LONGEST {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if Instant::now() > until {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

fn is_socket(file: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_socket(&file.file_type())
}

/// The groups of whoever is at the other end, besides its first: `socket(7)`,
/// `SO_PEERGROUPS`. None where they are too many.
fn groups_of(stream: &UnixStream) -> Vec<u32> {
    let mut groups = [0_u32; MOST_GROUPS];
    let mut length = size_of_val(&groups) as libc::socklen_t;
    // SAFETY: getsockopt(2) writes no more than `length` bytes to the address,
    // and how many it wrote to `length`.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            &raw mut length,
        )
    } != 0;
    let count = if failed { 0 } else { length as usize / size_of::<u32>() };
    groups[..count.min(MOST_GROUPS)].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENT: Duration = Duration::from_secs(600);

    #[test]
    fn a_question_is_answered_and_the_owner_may_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/unjank/boost.sock");
        let socket = ControlSocket::listen(&path).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut asker = socket.accept().unwrap();
                assert!(asker.may_change());
                assert_eq!(asker.process(), std::process::id());
                let question = asker.question().unwrap();
                asker.answer(&format!("{question}!")).unwrap();
            });
            assert_eq!(ask(&path, "how", PATIENT).unwrap(), "how!");
        });
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o666);
        drop(socket);
        assert!(!path.exists());
        assert!(ask(&path, "how", PATIENT).unwrap_err().to_string().contains("boost.sock"));
    }

    #[test]
    fn a_second_service_is_refused_and_a_dead_one_s_socket_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        let first = ControlSocket::listen(&path).unwrap();
        assert!(ControlSocket::listen(&path).unwrap_err().to_string().contains("another service"));
        // As after a kill: the file stays, and nobody listens.
        let (listener, file) = (first.listener.try_clone().unwrap(), first.path.clone());
        let _as_if_killed = std::mem::ManuallyDrop::new(first);
        // The forgotten listener is still open; its twin shuts it down.
        rustix::net::shutdown(&listener, rustix::net::Shutdown::Both).unwrap();
        assert!(file.exists());
        assert!(ControlSocket::listen(&path).is_ok());
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        fs::write(&path, "mine").unwrap();
        assert!(ControlSocket::listen(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn who_says_nothing_or_too_much_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        let socket = ControlSocket::listen(&path).unwrap();
        let silent = UnixStream::connect(&path).unwrap();
        assert!(socket.accept().unwrap().question().is_err());
        drop(silent);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut loud = UnixStream::connect(&path).unwrap();
                // It is cut off when the service has heard enough.
                let _cut_off = loud.write_all(&vec![b'x'; 10 << 20]);
            });
            assert!(socket.accept().unwrap().question().is_err());
        });
    }
}
