//! Who is at the other end, and whether it still is.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A process as the kernel vouches for it: `SCM_CREDENTIALS` of `unix(7)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    /// Its number, as this process sees it.
    pub process: u32,
    /// Its effective user.
    pub user: u32,
    /// Its effective group.
    pub group: u32,
}

/// The other end of a lane.
///
/// It is gone when it has closed the set-up socket, or when its process has
/// ended. The process is looked at too because a child that it forked may
/// hold a copy of the socket; the socket, because a process may end its side
/// of the channel long before itself.
#[derive(Debug)]
pub(crate) struct Peer {
    credentials: Credentials,
    socket: UnixStream,
    /// Not there before Linux 5.3.
    process: Option<OwnedFd>,
}

impl Peer {
    pub(crate) fn new(credentials: Credentials, socket: UnixStream) -> Self {
        let pid = i32::try_from(credentials.process).ok().and_then(Pid::from_raw);
        let process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Self { credentials, socket, process }
    }

    pub(crate) fn credentials(&self) -> Credentials {
        self.credentials
    }

    /// The set-up socket.
    pub(crate) fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Whether there is nobody left at the other end.
    pub(crate) fn is_gone(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A hang-up is reported without being asked for (poll(2)).
        let mut socket = [PollFd::new(&self.socket, PollFlags::empty())];
        let is_ready =
            |fds: &mut [PollFd<'_>]| matches!(poll(fds, Some(&now)), Ok(ready) if ready > 0);
        is_ready(&mut socket)
            || self
                .process
                .as_ref()
                .is_some_and(|process| is_ready(&mut [PollFd::new(process, PollFlags::IN)]))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn peer(process: u32) -> (Peer, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Peer::new(Credentials { process, user: 0, group: 0 }, ours), theirs)
    }

    #[test]
    fn a_peer_is_gone_when_it_hangs_up() {
        let (peer, theirs) = peer(std::process::id());
        assert!(!peer.is_gone());
        drop(theirs);
        assert!(peer.is_gone());
    }

    #[test]
    fn a_peer_is_gone_when_its_process_has_ended_whoever_holds_its_socket() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let (peer, _theirs) = peer(child.id());
        assert!(!peer.is_gone());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(peer.is_gone());
    }

    #[test]
    fn a_process_that_cannot_be_is_known_by_its_socket_alone() {
        for process in [0, u32::MAX] {
            let (peer, theirs) = peer(process);
            assert!(!peer.is_gone());
            drop(theirs);
            assert!(peer.is_gone());
        }
    }
}
