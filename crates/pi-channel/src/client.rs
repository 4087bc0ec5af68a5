//! Who calls.

use std::hint::spin_loop;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::bytes::{Outgoing, SharedBytes};
use crate::clock::Moment;
use crate::doorbell::Bell;
use crate::error::{Error, Result};
use crate::lane::Lane;
use crate::lock::{Waited, Waiter, put_back};
use crate::message::{Message, Received, ask_for_credentials, receive, send};
use crate::owner::Owner;
use crate::peer::{Credentials, Peer};
use crate::spin::{DEFAULT_SPIN, Spin};
use crate::thread;

/// How long the server may take to answer a hello. One that is gone hangs up.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a client sleeps before it looks whether its server still lives.
/// The kernel tells of a death by itself, unless the number of the dead
/// thread has been given to another before the client went to sleep.
const SLICE: Duration = Duration::from_millis(500);
/// Looks at the reply between two looks at the clock.
const LOOKS: u32 = 8;

/// How a connection ended for good.
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

/// One end of a lane: calls a [`Server`](crate::Server), and lends it the
/// calling thread's priority until the reply is there.
#[derive(Debug)]
pub struct Client {
    lane: Lane,
    bell: Bell,
    peer: Peer,
    owner: Owner,
    waiter: Waiter,
    spin: Spin,
    priority: u32,
    /// Number of the last request posted.
    sent: u32,
    /// Number of the last reply seen.
    answered: u32,
    end: Option<End>,
}

impl Client {
    /// Asks for a lane from the server at the other end of `socket`, which
    /// passes its own end to [`Acceptor::admit`](crate::Acceptor::admit). The
    /// socket is kept: the server sees by it that the client has gone.
    ///
    /// # Errors
    /// There is no server that answers within a minute, what it offers is
    /// not a lane as this version knows it, or it has none left.
    pub fn connect(socket: UnixStream) -> Result<Self> {
        ask_for_credentials(&socket)?;
        send(&socket, Message::Hello, &[])?;
        let Received { message, sender, fds } = receive(&socket, PATIENCE)?;
        match message {
            Message::Welcome { .. } => {}
            Message::Full(lanes) => return Err(Error::Full { lanes: lanes as usize }),
            Message::Closed => return Err(Error::Closed),
            Message::PidNamespace => return Err(Error::PidNamespace),
            Message::Hello => return Err(Error::NotAChannel { what: "the other end calls too" }),
        }
        let Ok([lane, bell]) = <[_; 2]>::try_from(fds) else {
            return Err(Error::NotAChannel { what: "a welcome without its two descriptors" });
        };
        Ok(Self {
            lane: Lane::open(lane)?,
            bell: Bell::open(bell)?,
            peer: Peer::new(sender, socket),
            owner: Owner::this_process()?,
            waiter: Waiter::of_this_kernel(),
            spin: Spin::new(DEFAULT_SPIN),
            priority: thread::priority(),
            sent: 0,
            answered: 0,
            end: None,
        })
    }

    /// How long to look out for a reply before sleeping; zero for not at all.
    /// [`DEFAULT_SPIN`] if this is not called, at most
    /// [`MAX_SPIN`](crate::MAX_SPIN).
    pub fn set_spin(&mut self, limit: Duration) {
        self.spin = Spin::new(limit);
    }

    /// Tells the server the calling thread's priority as it is now, so that
    /// of several waiting calls the most urgent is served first. Done once by
    /// [`connect`](Self::connect); the priority that is lent is always the
    /// true one.
    pub fn refresh_priority(&mut self) {
        self.priority = thread::priority();
    }

    /// The server's process.
    pub fn server(&self) -> Credentials {
        self.peer.credentials()
    }

    /// The longest request.
    pub fn request_capacity(&self) -> usize {
        self.lane.geometry().request_capacity()
    }

    /// The longest reply.
    pub fn reply_capacity(&self) -> usize {
        self.lane.geometry().reply_capacity()
    }

    /// Sends `request`, waits for the reply, however long that takes, and
    /// copies it to the beginning of `reply`. Tells the length of the reply.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the request does not fit into the lane, or the
    /// reply not into `reply`; [`Error::Refused`] by the handler; the others
    /// if the server is gone or not to be trusted. After those, every later
    /// call fails in the same way.
    pub fn call(&mut self, request: &[u8], reply: &mut [u8]) -> Result<usize> {
        self.call_in_place(
            None,
            |room| room.write(request),
            |bytes| bytes.read(reply).map(|b| b.len()),
        )?
    }

    /// As [`call`](Self::call), and gives up after `limit`.
    ///
    /// The server goes on with a call that was given up; nothing is lent to
    /// it meanwhile. The next call waits, within its own limit, until that is
    /// done, and drops the late reply.
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

    /// As [`call_within`](Self::call_within), with a request that `fill`
    /// writes where the server reads it, and a reply that `read` reads where
    /// the server wrote it.
    ///
    /// # Errors
    /// As before, and those of `fill`; nothing is sent then.
    pub fn call_in_place<T>(
        &mut self,
        limit: Option<Duration>,
        fill: impl FnOnce(&mut Outgoing<'_>) -> Result<()>,
        read: impl FnOnce(SharedBytes<'_>) -> T,
    ) -> Result<T> {
        if !self.owner.is_this_process() {
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

    /// Waits until the reply to the last request is there.
    #[inline]
    fn await_reply(&mut self, limit: Option<(Duration, Moment)>) -> Result<()> {
        if self.look_out() || self.lane.is_answered(self.sent) {
            self.answered = self.sent;
            return Ok(());
        }
        self.sleep(limit)
    }

    /// Spins for a reply, if the server runs elsewhere. Whether it came.
    #[inline]
    fn look_out(&mut self) -> bool {
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
            // On this thread's CPU the server cannot run while this spins.
            if Moment::now().since(start) > budget || !may_come(&self.lane) {
                break false;
            }
        };
        self.spin.note(came);
        came
    }

    /// Sleeps for the reply, lending this thread's priority to the server.
    #[cold]
    fn sleep(&mut self, limit: Option<(Duration, Moment)>) -> Result<()> {
        let number = self.sent;
        loop {
            let slice = Moment::now().after(SLICE);
            let until = limit.map_or(slice, |(_, moment)| moment.min(slice));
            let waited = self.waiter.wait(self.lane.lock(number), until);
            if matches!(waited, Waited::Taken { .. }) {
                put_back(self.lane.lock(number));
            }
            if self.lane.is_answered(number) {
                self.answered = number;
                return Ok(());
            }
            let end = match waited {
                _ if self.lane.is_closed() => End::Closed,
                Waited::TimedOut => {
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
                Waited::Deadlock => return Err(Error::Deadlock),
                Waited::Taken { owner_died: true } | Waited::NoOwner => End::Died,
                Waited::Taken { owner_died: false } => {
                    End::Broken("a lock was let go without a reply")
                }
                Waited::Refused(_) => End::Broken("a lock that the kernel does not know"),
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
        // A copy in a forked child leaves nothing: the lane is its parent's.
        if self.owner.is_this_process() {
            self.lane.leave();
            self.bell.ring();
        }
    }
}

#[cfg(test)]
mod tests;
