//! The calling side of a channel.

use std::hint::spin_loop;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::bytes::{Outgoing, SharedBytes};
use crate::clock::Moment;
use crate::doorbell::Doorbell;
use crate::error::{Error, Result};
use crate::fork_check::ForkCheck;
use crate::lane::Lane;
use crate::lock::{WaitOutcome, Waiter, put_back};
use crate::message::{Message, Received, ask_for_credentials, receive, send};
use crate::peer_process::{Credentials, PeerProcess};
use crate::spin::{DEFAULT_SPIN, Spin};
use crate::thread;

/// Time limit for the server's answer to a hello. A server that is gone hangs up.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client sleeps before it checks that its server still lives. The
/// kernel reports a death by itself, unless the number of the dead thread was
/// reused before the client went to sleep.
const SLICE: Duration = Duration::from_millis(500);
/// Checks of the reply between two readings of the clock.
const LOOKS: u32 = 8;

/// The reason for which a connection ended.
#[derive(Debug, Clone, Copy)]
enum End {
    Died,
    Closed,
    Broken(&'static str),
}

impl From<End> for Error {
    fn from(end: End) -> Self {
        match end {
            End::Died => Self::PeerDied,
            End::Closed => Self::Closed,
            End::Broken(what) => Self::Broken { what },
        }
    }
}

/// Calls a [`Server`](crate::Server), which has the calling thread's priority
/// until it replies.
#[derive(Debug)]
pub struct Client {
    lane: Lane,
    bell: Doorbell,
    peer: PeerProcess,
    fork_check: ForkCheck,
    waiter: Waiter,
    spin: Spin,
    priority: u32,
    /// Number of the last request posted.
    sent: u32,
    /// Number of the last reply received.
    answered: u32,
    end: Option<End>,
}

impl Client {
    /// Asks for a lane from the server at the other end of `socket`, which passes
    /// its end to [`Acceptor::admit`](crate::Acceptor::admit). The socket is kept,
    /// so that the server detects that the client is gone.
    ///
    /// # Errors
    /// No server answers within a minute, it has no free lane, or it offers
    /// something that is not a lane of this version.
    pub fn connect(socket: UnixStream) -> Result<Self> {
        ask_for_credentials(&socket)?;
        send(&socket, Message::Hello, &[])?;
        let Received { message, sender, fds } = receive(&socket, WELCOME_TIMEOUT)?;
        match message {
            Message::Welcome { .. } => {}
            Message::Full(lanes) => return Err(Error::Full { lanes: lanes as usize }),
            Message::Closed => return Err(Error::Closed),
            Message::PidNamespace => return Err(Error::PidNamespace),
            Message::Hello => {
                return Err(Error::NotAChannel { what: "the other end is a client too" });
            }
        }
        let Ok([lane, bell]) = <[_; 2]>::try_from(fds) else {
            return Err(Error::NotAChannel { what: "a welcome without its two descriptors" });
        };
        Ok(Self {
            lane: Lane::open(lane)?,
            bell: Doorbell::open(bell)?,
            peer: PeerProcess::new(sender, socket),
            fork_check: ForkCheck::this_process()?,
            waiter: Waiter::of_this_kernel(),
            spin: Spin::new(DEFAULT_SPIN),
            priority: thread::priority(),
            sent: 0,
            answered: 0,
            end: None,
        })
    }

    /// Sets how long to spin for a reply before sleeping: [`DEFAULT_SPIN`] by
    /// default, at most [`MAX_SPIN`](crate::MAX_SPIN), zero for not at all.
    pub fn set_spin(&mut self, limit: Duration) {
        self.spin = Spin::new(limit);
    }

    /// Publishes the calling thread's current priority, so that the server serves
    /// the most urgent of several waiting calls first.
    /// [`connect`](Self::connect) does this once. The inherited priority is always
    /// the true one.
    pub fn refresh_priority(&mut self) {
        self.priority = thread::priority();
    }

    /// The server's process.
    pub fn server(&self) -> Credentials {
        self.peer.credentials()
    }

    /// The longest request, in bytes.
    pub fn request_capacity(&self) -> usize {
        self.lane.geometry().request_capacity()
    }

    /// The longest reply, in bytes.
    pub fn reply_capacity(&self) -> usize {
        self.lane.geometry().reply_capacity()
    }

    /// Sends `request`, waits for the reply without a time limit, and copies it to
    /// the beginning of `reply`. Returns the length of the reply.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the request does not fit into the lane, or the reply
    /// into `reply`; [`Error::Refused`] by the handler; other errors if the server
    /// is gone or broke the protocol, after which every later call fails in the
    /// same way.
    pub fn call(&mut self, request: &[u8], reply: &mut [u8]) -> Result<usize> {
        self.call_in_place(
            None,
            |room| room.write(request),
            |bytes| bytes.read(reply).map(|b| b.len()),
        )?
    }

    /// Like [`call`](Self::call), with a time limit.
    ///
    /// The server finishes a call that timed out, without the client's priority.
    /// The next call first waits for the late reply, within its own limit, and
    /// drops it.
    ///
    /// # Errors
    /// [`Error::TimedOut`], and those of [`call`](Self::call).
    pub fn call_within(
        &mut self,
        limit: Duration,
        request: &[u8],
        reply: &mut [u8],
    ) -> Result<usize> {
        self.call_in_place(
            Some(limit),
            |room| room.write(request),
            |bytes| bytes.read(reply).map(|b| b.len()),
        )?
    }

    /// Like [`call_within`](Self::call_within), without copies: `fill` writes the
    /// request and `read` reads the reply in shared memory.
    ///
    /// # Errors
    /// Those of [`call_within`](Self::call_within), and those of `fill`, after
    /// which nothing is sent.
    pub fn call_in_place<T>(
        &mut self,
        limit: Option<Duration>,
        fill: impl FnOnce(&mut Outgoing<'_>) -> Result<()>,
        read: impl FnOnce(SharedBytes<'_>) -> T,
    ) -> Result<T> {
        if !self.fork_check.is_this_process() {
            return Err(Error::WrongOwner);
        }
        if let Some(end) = self.end {
            return Err(end.into());
        }
        let limit = limit.map(|waited| (waited, Moment::now().after(waited)));
        if self.answered != self.sent {
            // The server may still read the bytes of the last request.
            self.await_reply(limit)?;
        }
        let mut room = self.lane.room_for_request();
        fill(&mut room)?;
        let length = room.len();
        self.sent = self.sent.wrapping_add(1);
        self.lane.post(self.sent, length, thread::cpu(), self.priority);
        self.bell.ring();
        self.await_reply(limit)?;
        match self.lane.reply() {
            Ok(bytes) => Ok(read(bytes)),
            Err(Error::Broken { what }) => Err(self.ended(End::Broken(what))),
            Err(refused) => Err(refused),
        }
    }

    /// Waits for the reply to the last request.
    #[inline]
    fn await_reply(&mut self, limit: Option<(Duration, Moment)>) -> Result<()> {
        if self.spin_for_reply() || self.lane.is_answered(self.sent) {
            self.answered = self.sent;
            return Ok(());
        }
        self.sleep(limit)
    }

    /// Spins for a reply if the server runs on another CPU. Returns whether it came.
    #[inline]
    fn spin_for_reply(&mut self) -> bool {
        let may_come = |lane: &Lane| lane.server_cpu().is_some_and(|cpu| cpu != thread::cpu());
        if !may_come(&self.lane) {
            return false;
        }
        let budget = self.spin.budget();
        if budget == 0 {
            return false;
        }
        let start = Moment::now();
        let came = loop {
            for _ in 0..LOOKS {
                if self.lane.is_answered(self.sent) {
                    self.spin.note(true);
                    return true;
                }
                spin_loop();
            }
            // On this thread's CPU, the server cannot run while this thread spins.
            if Moment::now().since(start) > budget || !may_come(&self.lane) {
                break false;
            }
        };
        self.spin.note(came);
        came
    }

    /// Sleeps until the reply; the server has this thread's priority meanwhile.
    #[cold]
    fn sleep(&mut self, limit: Option<(Duration, Moment)>) -> Result<()> {
        let number = self.sent;
        loop {
            let slice = Moment::now().after(SLICE);
            let until = limit.map_or(slice, |(_, moment)| moment.min(slice));
            let waited = self.waiter.wait(self.lane.lock(number), until);
            if matches!(waited, WaitOutcome::Taken { .. }) {
                put_back(self.lane.lock(number));
            }
            if self.lane.is_answered(number) {
                self.answered = number;
                return Ok(());
            }
            let end = match waited {
                _ if self.lane.is_closed() => End::Closed,
                WaitOutcome::TimedOut => {
                    if !self.peer.is_gone() {
                        match limit {
                            Some((waited, moment)) if moment <= Moment::now() => {
                                return Err(Error::TimedOut { waited });
                            }
                            _ => continue,
                        }
                    }
                    End::Died
                }
                WaitOutcome::Deadlock => return Err(Error::Deadlock),
                WaitOutcome::Taken { owner_died: true } | WaitOutcome::NoOwner => End::Died,
                WaitOutcome::Taken { owner_died: false } => {
                    End::Broken("a lock was released without a reply")
                }
                WaitOutcome::Refused(_) => End::Broken("a lock that the kernel refuses"),
            };
            return Err(self.ended(end));
        }
    }

    #[cold]
    fn ended(&mut self, end: End) -> Error {
        self.end = Some(end);
        end.into()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A copy in a forked child must not leave the lane of its parent.
        if self.fork_check.is_this_process() {
            self.lane.leave();
            self.bell.ring();
        }
    }
}

#[cfg(test)]
mod tests;
