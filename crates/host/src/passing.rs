//! Bytes and open files, through a socket of this machine: `SCM_RIGHTS` in
//! [unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    recvmsg, sendmsg, socket_with, sockopt,
};

use crate::error::{Error, Result};

/// The most files that come with one message: as many as libwayland sends
/// (`MAX_FDS_OUT` in its `connection.c`).
pub const MOST_FILES: usize = 28;

/// A piece of what was sent.
#[derive(Debug)]
pub struct Passed {
    /// Number of bytes; 0 at the end.
    pub length: usize,
    /// The files that came with some of its bytes; none came with a later one.
    pub files: Vec<OwnedFd>,
}

/// Connects, within a time: `SO_SNDTIMEO` of `socket(7)` applies to `connect(2)`, which
/// otherwise waits for as long as the listener has no room for one more.
///
/// # Errors
/// Nothing listens there, or it did not accept in time.
pub fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(timeout))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, None)?;
    Ok(socket.into())
}

/// Waits for the next bytes. One piece never has the files of two messages, so that
/// they can be passed on with the bytes that they came with.
///
/// # Errors
/// `Syscall` if the socket failed; `Invalid` if some files are lost: there were more than
/// [`MOST_FILES`], or this process may not open as many.
pub fn receive(socket: &UnixStream, buffer: &mut [u8]) -> Result<Passed> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut came_with = RecvAncillaryBuffer::new(&mut space);
    let message = loop {
        let into = &mut [IoSliceMut::new(&mut *buffer)];
        match recvmsg(socket, into, &mut came_with, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(Error::syscall("recvmsg", "a socket", error)),
            Ok(message) => break message,
        }
    };
    let mut files = Vec::new();
    for part in came_with.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = part {
            files.extend(rights);
        }
    }
    // There is room for a few more, as the buffer is aligned.
    if message.flags.contains(ReturnFlags::CTRUNC) || files.len() > MOST_FILES {
        let (came, most) = (files.len(), MOST_FILES);
        return Err(Error::Invalid(format!(
            "open files were lost: {came} of a message came, and {most} are the most, or no more \
             can be opened here (ulimit -n)"
        )));
    }
    Ok(Passed { length: message.bytes, files })
}

/// Sends all of `bytes`, and the files, [`MOST_FILES`] at most, with the first of them.
///
/// # Errors
/// `Syscall` if the socket failed: its other end is closed, for example.
///
/// # Panics
/// With more files.
pub fn send(socket: &UnixStream, mut bytes: &[u8], files: &[OwnedFd]) -> Result<()> {
    let mut files: Vec<BorrowedFd<'_>> = files.iter().map(OwnedFd::as_fd).collect();
    while !bytes.is_empty() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut come_with = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            let fits = come_with.push(SendAncillaryMessage::ScmRights(&files));
            assert!(fits, "the buffer is made for as many as were received");
        }
        match sendmsg(socket, &[IoSlice::new(bytes)], &mut come_with, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(Error::syscall("sendmsg", "a socket", error)),
            Ok(length) => {
                bytes = &bytes[length..];
                files.clear();
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};

    use super::*;

    fn null() -> OwnedFd {
        File::open("/dev/null").unwrap().into()
    }

    #[test]
    fn files_arrive_with_the_bytes_that_they_were_sent_with() {
        let (near, far) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        send(&near, b"before", &[]).unwrap();
        send(&near, b"with", &[writer.into(), null()]).unwrap();
        let mut buffer = [0; 64];
        // The kernel may give the first two pieces as one, but no bytes after the files.
        let mut had = Vec::new();
        let mut files = Vec::new();
        while had.len() < 10 {
            let passed = receive(&far, &mut buffer).unwrap();
            had.extend_from_slice(&buffer[..passed.length]);
            files.extend(passed.files);
        }
        assert_eq!(had, b"beforewith");
        assert_eq!(files.len(), 2);
        File::from(files.remove(0)).write_all(b"through it").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through it");
        drop(near);
        assert_eq!(receive(&far, &mut buffer).unwrap().length, 0);
        assert!(send(&far, b"too late", &[]).is_err());
    }

    #[test]
    fn more_than_the_buffer_holds_is_sent_in_pieces() {
        let (near, far) = UnixStream::pair().unwrap();
        let sent = vec![7; 4 << 20];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                send(&near, &sent, &[null()]).unwrap();
                near.shutdown(std::net::Shutdown::Both).unwrap();
            });
            let (mut bytes, mut files, mut buffer) = (0, 0, [0; 4096]);
            loop {
                let passed = receive(&far, &mut buffer).unwrap();
                if passed.length == 0 {
                    break;
                }
                bytes += passed.length;
                files += passed.files.len();
            }
            assert_eq!((bytes, files), (sent.len(), 1));
        });
    }

    #[test]
    fn more_files_than_fit_are_an_error() {
        let (near, far) = UnixStream::pair().unwrap();
        let many: Vec<OwnedFd> = (0..=MOST_FILES).map(|_| null()).collect();
        let all: Vec<BorrowedFd<'_>> = many.iter().map(OwnedFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES + 1))];
        let mut come_with = SendAncillaryBuffer::new(&mut space);
        assert!(come_with.push(SendAncillaryMessage::ScmRights(&all)));
        sendmsg(&near, &[IoSlice::new(b"x")], &mut come_with, SendFlags::empty()).unwrap();
        let said = receive(&far, &mut [0; 8]).unwrap_err().to_string();
        assert!(said.contains("open files were lost"), "{said}");
    }
}
