//! Unix sockets with unread data or connections that were not accepted: `sock_diag(7)`,
//! `net/unix/diag.c`.

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

use crate::error::{Error, Result};

/// A socket with something unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadSocket {
    /// Its inode, as in `/proc/PID/fd`: `socket:[INODE]`.
    pub inode: u64,
    /// Bytes that were not read; of a listening socket, connections that were not accepted.
    pub unread: u32,
}

/// The size of the buffer for answers: the kernel fills at most this much.
const BUFFER: usize = 32 << 10;
/// The most answers that are read.
const MOST_ANSWERS: usize = 10_000;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// The length of a `struct nlmsghdr`.
const HEADER: usize = 16;
/// The length of a `struct unix_diag_msg`.
const MESSAGE: usize = 16;
/// `UNIX_DIAG_RQLEN`.
const QUEUES: u16 = 4;

/// All Unix sockets of this network namespace with something unread.
///
/// # Errors
/// `Unsupported` for a kernel without `CONFIG_UNIX_DIAG`; other errors of the kernel.
pub fn unread_sockets() -> Result<Vec<UnreadSocket>> {
    let failed = |call| move |error| Error::syscall(call, "sock_diag", error);
    let (family, kind) = (AddressFamily::NETLINK, SocketType::DGRAM);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))
        .map_err(failed("socket"))?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&socket, &request(), SendFlags::empty(), &kernel).map_err(failed("sendto"))?;
    let mut sockets = Vec::new();
    let mut buffer = vec![0; BUFFER];
    for _ in 0..MOST_ANSWERS {
        let receive = || recv(&socket, buffer.as_mut_slice(), RecvFlags::empty());
        let (_, length) = rustix::io::retry_on_intr(receive).map_err(failed("recv"))?;
        match parse(buffer.get(..length).unwrap_or_default(), &mut sockets) {
            Answer::More => {}
            Answer::Done => return Ok(sockets),
            Answer::Error(Errno::NOENT) => {
                let reason = "this kernel does not list Unix sockets (CONFIG_UNIX_DIAG)";
                return Err(Error::Unsupported(reason.to_owned()));
            }
            Answer::Error(error) => return Err(failed("list the sockets by")(error)),
        }
    }
    Ok(sockets)
}

/// A `struct nlmsghdr` and a `struct unix_diag_req`: all sockets with the lengths of their queues.
fn request() -> Vec<u8> {
    const LENGTH: u32 = 40;
    const REQUEST_AND_DUMP: u16 = 0x1 | 0x300;
    /// `UDIAG_SHOW_RQLEN`.
    const SHOW_QUEUES: u32 = 0x10;
    /// `AF_UNIX`.
    const UNIX: u8 = 1;
    let mut bytes = Vec::with_capacity(LENGTH as usize);
    bytes.extend(LENGTH.to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST_AND_DUMP.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([UNIX, 0, 0, 0]);
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend(SHOW_QUEUES.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes
}

/// The end of a datagram.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    More,
    Done,
    Error(Errno),
}

/// Adds the sockets of a datagram. Parts that are malformed are left out.
fn parse(mut bytes: &[u8], sockets: &mut Vec<UnreadSocket>) -> Answer {
    while let Some(header) = bytes.get(..HEADER) {
        let (length, kind) = (word(header, 0) as usize, half(header, 4));
        let Some(body) = bytes.get(HEADER..length) else { return Answer::Done };
        match kind {
            DONE => return Answer::Done,
            ERROR => {
                let code = word(body, 0).cast_signed();
                return Answer::Error(Errno::from_raw_os_error(code.saturating_neg()));
            }
            BY_FAMILY => sockets.extend(one(body)),
            _ => {}
        }
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
    }
    Answer::More
}

/// A `struct unix_diag_msg` with its attributes, if something is unread.
fn one(message: &[u8]) -> Option<UnreadSocket> {
    let mut attributes = message.get(MESSAGE..)?;
    let inode = u64::from(word(message, 4));
    while attributes.len() >= 4 {
        let (length, kind) = (usize::from(half(attributes, 0)), half(attributes, 2));
        let value = attributes.get(4..length)?;
        if kind == QUEUES {
            let unread = word(value, 0);
            return (unread > 0).then_some(UnreadSocket { inode, unread });
        }
        attributes = attributes.get(aligned(length)..).unwrap_or_default();
    }
    None
}

/// Netlink aligns to four bytes.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// The number at a place; 0 beyond the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    word.map_or(0, u32::from_ne_bytes)
}

fn half(bytes: &[u8], at: usize) -> u16 {
    let half = bytes.get(at..at + 2).and_then(|half| half.try_into().ok());
    half.map_or(0, u16::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn unread_of(socket: &UnixStream) -> Option<u32> {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let name = link.to_str().unwrap().to_owned();
        let sockets = unread_sockets().unwrap();
        let is_it = |it: &&UnreadSocket| format!("socket:[{}]", it.inode) == name;
        sockets.iter().find(is_it).map(|it| it.unread)
    }

    #[test]
    fn a_socket_is_listed_until_it_is_read() {
        if matches!(unread_sockets(), Err(Error::Unsupported(_))) {
            return;
        }
        let (mut one, mut other) = UnixStream::pair().unwrap();
        assert_eq!(unread_of(&other), None);
        one.write_all(b"seven b").unwrap();
        assert_eq!(unread_of(&other), Some(7));
        other.read_exact(&mut [0; 7]).unwrap();
        assert_eq!(unread_of(&other), None);
    }

    proptest::proptest! {
        #[test]
        fn any_datagram_is_parsed(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            let _either = parse(&bytes, &mut Vec::new());
        }

        #[test]
        fn any_message_is_parsed(body in proptest::collection::vec(0_u8..40, 0..80)) {
            let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
            bytes.extend(BY_FAMILY.to_ne_bytes());
            bytes.extend([0; 10]);
            bytes.extend(&body);
            let _either = parse(&bytes, &mut Vec::new());
        }
    }
}
