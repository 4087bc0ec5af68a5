//! The messages that set up a lane over a socket.
//!
//! The client sends a hello. The server answers with a welcome, which carries the
//! descriptors of the lane and of its doorbell, or with a refusal. A message is 32
//! bytes in the byte order of the machine. The kernel identifies its sender
//! (`SCM_CREDENTIALS`): `SO_PEERCRED` would name the process that created a socket
//! pair, not the child that has one end of it.

use std::io::{self, IoSlice};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use std::{ptr, slice};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, UCred, sendmsg, sockopt};
use rustix::process::{getegid, geteuid, getpid};

use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::peer_process::Credentials;
use crate::version::VERSION;

const MAGIC: u32 = u32::from_ne_bytes(*b"pi-c");
const LENGTH: usize = 32;
/// A welcome has two descriptors; no message has more.
const MOST_FDS: usize = 2;

/// The content of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// The client asks for a lane.
    Hello,
    /// The server gives it a lane, served by this thread.
    Welcome {
        /// The thread's number in the server's PID namespace.
        thread: u32,
    },
    /// All lanes are taken; this is their number.
    Full(u32),
    /// The server has ended.
    Closed,
    /// The client is in another PID namespace.
    PidNamespace,
}

impl Message {
    fn parts(self) -> (u32, u32) {
        match self {
            Self::Hello => (1, 0),
            Self::Welcome { thread } => (2, thread),
            Self::Full(lanes) => (3, lanes),
            Self::Closed => (4, 0),
            Self::PidNamespace => (5, 0),
        }
    }

    /// Encodes a message of the process with number `process`.
    fn encode(self, process: u32) -> [u8; LENGTH] {
        let (kind, value) = self.parts();
        let mut bytes = [0; LENGTH];
        for (field, word) in [MAGIC, VERSION, process, kind, value].into_iter().enumerate() {
            bytes[4 * field..4 * field + 4].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// Decodes a message and the PID that its sender has for itself.
    fn decode(bytes: &[u8; LENGTH]) -> Result<(Self, u32)> {
        let (words, _) = bytes.as_chunks::<4>();
        let word = |field: usize| u32::from_ne_bytes(words[field]);
        if word(0) != MAGIC {
            return Err(Error::NotAChannel { what: "a message of another protocol" });
        }
        if word(1) != VERSION {
            return Err(Error::Version { theirs: word(1) });
        }
        let message = match (word(3), word(4)) {
            (1, _) => Self::Hello,
            (2, thread) => Self::Welcome { thread },
            (3, lanes) => Self::Full(lanes),
            (4, _) => Self::Closed,
            (5, _) => Self::PidNamespace,
            _ => return Err(Error::NotAChannel { what: "a message of an unknown kind" }),
        };
        Ok((message, word(2)))
    }
}

#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) message: Message,
    pub(crate) sender: Credentials,
    pub(crate) fds: Vec<OwnedFd>,
}

/// Makes the kernel attach the sender's credentials to received messages.
pub(crate) fn ask_for_credentials(socket: &UnixStream) -> Result<()> {
    sockopt::set_socket_passcred(socket, true).map_err(Error::request("setsockopt(SO_PASSCRED)"))
}

/// Sends a message with descriptors.
pub(crate) fn send(socket: &UnixStream, message: Message, fds: &[BorrowedFd<'_>]) -> Result<()> {
    let pid = getpid();
    let bytes = message.encode(pid.as_raw_nonzero().get().unsigned_abs());
    let sender = UCred { pid, uid: geteuid(), gid: getegid() };
    let mut space =
        [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS), ScmCredentials(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fits = ancillary.push(SendAncillaryMessage::ScmCredentials(sender))
        && (fds.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(fds)));
    assert!(fits, "the buffer is made for this many");
    let sent = sendmsg(socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)
        .map_err(Error::request("sendmsg"))?;
    if sent == LENGTH {
        Ok(())
    } else {
        Err(Error::request("sendmsg")(io::Error::from(io::ErrorKind::WriteZero)))
    }
}

/// Receives a message within `timeout`.
pub(crate) fn receive(socket: &UnixStream, timeout: Duration) -> Result<Received> {
    let give_up = Moment::now().after(timeout);
    let mut bytes = [0; LENGTH];
    let mut had = 0;
    let mut sender = None;
    let mut fds = Vec::new();
    while had < LENGTH {
        let left = Duration::from_nanos(give_up.since(Moment::now()));
        if left.is_zero() {
            return Err(Error::TimedOut { waited: timeout });
        }
        socket.set_read_timeout(Some(left)).map_err(Error::request("setsockopt(SO_RCVTIMEO)"))?;
        match receive_some(socket.as_fd(), &mut bytes[had..], &mut sender, &mut fds) {
            Ok(0) => return Err(Error::Closed),
            Ok(count) => had += count,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                return Err(Error::Closed);
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(error) => return Err(Error::request("recvmsg")(error)),
        }
    }
    let (message, process) = Message::decode(&bytes)?;
    let sender = sender.ok_or(Error::NotAChannel { what: "a message without credentials" })?;
    if sender.process != process {
        return Err(Error::PidNamespace);
    }
    Ok(Received { message, sender, fds })
}

/// An aligned buffer for control messages.
#[repr(C)]
struct Control {
    align: [libc::cmsghdr; 0],
    bytes: [u8; 128],
}

/// One `recvmsg(2)`. The wrapper of rustix does not work here: for a sender in an
/// invisible PID namespace, the kernel returns the PID 0, which its type cannot
/// hold.
fn receive_some(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    sender: &mut Option<Credentials>,
    fds: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut control = Control { align: [], bytes: [0; 128] };
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: zeroes are a valid msghdr (recvmsg(2)).
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = &raw mut piece;
    header.msg_iovlen = 1;
    header.msg_control = control.bytes.as_mut_ptr().cast();
    header.msg_controllen = control.bytes.len() as _;
    // SAFETY: the header points to memory that lives through the call, with
    // its true lengths (recvmsg(2)).
    let count =
        unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC) };
    let Ok(count) = usize::try_from(count) else { return Err(io::Error::last_os_error()) };
    // SAFETY: the kernel has filled the control buffer as cmsg(3) describes,
    // and set its length.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
    while !next.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return headers that lie completely
        // in the buffer; data follows them (cmsg(3)). Descriptors of this message
        // have no other owner yet.
        unsafe {
            let (level, kind) = ((*next).cmsg_level, (*next).cmsg_type);
            let data = libc::CMSG_DATA(next);
            let length = ((*next).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
            if level == libc::SOL_SOCKET && kind == libc::SCM_RIGHTS {
                for fd in slice::from_raw_parts(data, length).as_chunks().0 {
                    fds.push(OwnedFd::from_raw_fd(i32::from_ne_bytes(*fd)));
                }
            } else if level == libc::SOL_SOCKET
                && kind == libc::SCM_CREDENTIALS
                && length >= size_of::<libc::ucred>()
            {
                let ucred = ptr::read_unaligned(data.cast::<libc::ucred>());
                let process = ucred.pid.unsigned_abs();
                *sender = Some(Credentials { process, user: ucred.uid, group: ucred.gid });
            }
            next = libc::CMSG_NXTHDR(&raw const header, next);
        }
    }
    let cut = header.msg_flags & libc::MSG_CTRUNC != 0;
    if cut || fds.len() > MOST_FDS {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "more descriptors than offered"));
    }
    Ok(count)
}

/// Decodes bytes as a message, for the fuzzer.
///
/// # Panics
/// If a decoded message differs after encoding and decoding.
#[cfg(fuzzing)]
pub(crate) fn decode_for_fuzzing(bytes: &[u8]) {
    let Some(bytes) = bytes.first_chunk() else { return };
    if let Ok((message, process)) = Message::decode(bytes) {
        let again = Message::decode(&message.encode(process));
        assert_eq!(again.ok(), Some((message, process)));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use proptest::prelude::*;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LATE: Duration = Duration::from_secs(60);

    fn pair() -> (UnixStream, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ask_for_credentials(&ours).unwrap();
        (ours, theirs)
    }

    #[test]
    fn a_message_arrives_with_its_sender_and_its_descriptors() {
        let (ours, theirs) = pair();
        let welcome = Message::Welcome { thread: 77 };
        send(&theirs, welcome, &[ours.as_fd(), theirs.as_fd()]).unwrap();
        let received = receive(&ours, LATE).unwrap();
        assert_eq!(received.message, welcome);
        assert_eq!(received.sender.process, std::process::id());
        assert_eq!(received.sender.user, geteuid().as_raw());
        assert_eq!(received.fds.len(), 2);
    }

    #[test]
    fn a_message_may_come_in_pieces() {
        let (ours, mut theirs) = pair();
        let bytes = Message::Full(8).encode(std::process::id());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for byte in bytes {
                    theirs.write_all(&[byte]).unwrap();
                }
            });
            assert_eq!(receive(&ours, LATE).unwrap().message, Message::Full(8));
        });
    }

    #[test]
    fn silence_and_hang_up_are_errors() {
        let (ours, theirs) = pair();
        assert!(matches!(receive(&ours, SOON), Err(Error::TimedOut { .. })));
        (&theirs).write_all(&[1; LENGTH - 1]).unwrap();
        assert!(matches!(receive(&ours, SOON), Err(Error::TimedOut { .. })));
        drop(theirs);
        assert!(matches!(receive(&ours, LATE), Err(Error::Closed)));
    }

    #[test]
    fn a_sender_of_another_pid_namespace_is_refused() {
        let (ours, mut theirs) = pair();
        theirs.write_all(&Message::Hello.encode(std::process::id() ^ 1)).unwrap();
        assert!(matches!(receive(&ours, LATE), Err(Error::PidNamespace)));
    }

    #[test]
    fn too_many_descriptors_are_refused_and_closed() {
        let (ours, theirs) = pair();
        let fd = theirs.as_fd();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(20))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let many = [fd; 20];
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&many)));
        let bytes = Message::Hello.encode(std::process::id());
        sendmsg(&theirs, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::empty()).unwrap();
        let error = receive(&ours, LATE).unwrap_err().to_string();
        assert!(error.contains("more descriptors"), "{error}");
        drop(theirs);
        let mut rest = Vec::new();
        (&ours).read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "a copy of the other end is still open");
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_decoder(bytes in prop::array::uniform32(any::<u8>())) {
            let _refused = Message::decode(&bytes);
        }

        #[test]
        fn messages_decode_to_themselves(value in any::<u32>(), process in any::<u32>()) {
            for message in [
                Message::Hello,
                Message::Welcome { thread: value },
                Message::Full(value),
                Message::Closed,
                Message::PidNamespace,
            ] {
                prop_assert_eq!(
                    Message::decode(&message.encode(process)).unwrap(),
                    (message, process)
                );
            }
        }
    }
}
