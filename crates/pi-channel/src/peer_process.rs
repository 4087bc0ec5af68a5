//! The process at the other end of a lane, and whether it is gone.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A process, identified by the kernel: `SCM_CREDENTIALS` of `unix(7)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    /// PID in the namespace of this process.
    pub process: u32,
    /// Effective user id.
    pub user: u32,
    /// Effective group id.
    pub group: u32,
}

/// The process at the other end of a lane.
///
/// It is gone when it has closed the set-up socket, or when it has ended. Both are
/// checked: a child that it forked may hold a copy of the socket, and a process
/// may close the channel long before it ends.
#[derive(Debug)]
pub(crate) struct PeerProcess {
    credentials: Credentials,
    socket: UnixStream,
    /// `None` before Linux 5.3.
    process: Option<OwnedFd>,
}

impl PeerProcess {
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

    /// Whether the other side has hung up or ended.
    pub(crate) fn is_gone(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // poll(2) always reports a hang-up.
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

    use unjank_needs::wait::until;

    use super::*;

    fn peer(process: u32) -> (PeerProcess, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (PeerProcess::new(Credentials { process, user: 0, group: 0 }, ours), theirs)
    }

    /// A child that another test is starting has a copy of the socket until its exec.
    fn until_its_hang_up(peer: &PeerProcess) {
        until("it has hung up", || peer.is_gone());
    }

    #[test]
    fn a_peer_is_gone_when_it_hangs_up() {
        let (peer, theirs) = peer(std::process::id());
        assert!(!peer.is_gone());
        drop(theirs);
        until_its_hang_up(&peer);
    }

    #[test]
    fn a_peer_is_gone_when_its_process_has_ended_though_its_socket_is_open() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let (peer, _theirs) = peer(child.id());
        assert!(!peer.is_gone());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(peer.is_gone());
    }

    #[test]
    fn for_an_impossible_pid_only_the_socket_counts() {
        for process in [0, u32::MAX] {
            let (peer, theirs) = peer(process);
            assert!(!peer.is_gone());
            drop(theirs);
            until_its_hang_up(&peer);
        }
    }
}
