//! How lanes reach the thread that serves them.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::doorbell::{Bell, Doorbells};
use crate::error::{Error, Result};
use crate::lane::Lane;
use crate::layout::Geometry;
use crate::message::{Message, Received, ask_for_credentials, receive, send};
use crate::peer::Peer;

/// How long a client may take to say hello.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the server may take to find out that a client is gone, when there
/// is no free lane for a new one.
const PATIENCE_FOR_A_LANE: Duration = Duration::from_millis(500);

/// A lane with its client, not yet or no longer served.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) lane: Lane,
    /// The lane's own bell, if it has one.
    pub(crate) bell: Option<Bell>,
    pub(crate) peer: Peer,
}

/// What a server finds in its intake.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) arrivals: Vec<Connection>,
    /// Somebody waits for a lane: see who is gone.
    pub(crate) reap: bool,
    pub(crate) stop: bool,
}

#[derive(Debug, Default)]
struct State {
    news: News,
    taken: usize,
    closed: bool,
}

/// What a server shares with those who bring it clients, or stop it.
#[derive(Debug)]
pub(crate) struct Intake {
    geometry: Geometry,
    lanes: usize,
    thread: u32,
    doorbells: Doorbells,
    bell: Arc<Bell>,
    bell_fd: OwnedFd,
    has_news: AtomicBool,
    state: Mutex<State>,
    freed: Condvar,
}

impl Intake {
    pub(crate) fn new(
        geometry: Geometry,
        lanes: usize,
        thread: u32,
        doorbells: Doorbells,
    ) -> Result<Self> {
        let (bell, bell_fd) = Bell::create()?;
        Ok(Self {
            geometry,
            lanes,
            thread,
            doorbells,
            bell: Arc::new(bell),
            bell_fd,
            has_news: AtomicBool::new(false),
            state: Mutex::default(),
            freed: Condvar::new(),
        })
    }

    pub(crate) fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
    }

    /// Sets up a lane for who is at the other end of `socket`.
    fn admit(&self, socket: UnixStream) -> Result<()> {
        ask_for_credentials(&socket)?;
        let hello = match receive(&socket, PATIENCE) {
            Ok(Received { message: Message::Hello, sender, .. }) => sender,
            Ok(_) => return Err(Error::NotAChannel { what: "a client that does not say hello" }),
            Err(error) => {
                let answer = match error {
                    Error::PidNamespace => Message::PidNamespace,
                    // Whatever it is, the client sees the version in it.
                    _ => Message::Closed,
                };
                // The first failure is the one to tell.
                let _hung_up = send(&socket, answer, &[]);
                return Err(error);
            }
        };
        if let Err(error) = self.reserve() {
            let answer = match error {
                Error::Full { lanes } => Message::Full(lanes as u32),
                _ => Message::Closed,
            };
            let _hung_up = send(&socket, answer, &[]);
            return Err(error);
        }
        let welcomed = self.welcome(Peer::new(hello, socket));
        let connection = match welcomed {
            Ok(connection) => connection,
            Err(error) => {
                self.free();
                return Err(error);
            }
        };
        self.tell(|news| news.arrivals.push(connection));
        Ok(())
    }

    fn welcome(&self, peer: Peer) -> Result<Connection> {
        let (lane, lane_fd) = Lane::create(self.geometry, self.thread)?;
        let (bell, bell_fd) = match self.doorbells {
            Doorbells::OnePerLane => {
                let (bell, fd) = Bell::create()?;
                (Some(bell), Some(fd))
            }
            Doorbells::Shared => (None, None),
        };
        let bell_fd = bell_fd.as_ref().unwrap_or(&self.bell_fd);
        let welcome = Message::Welcome { thread: self.thread };
        send(peer.socket(), welcome, &[lane_fd.as_fd(), bell_fd.as_fd()])?;
        Ok(Connection { lane, bell, peer })
    }

    /// Takes one of the lanes, waiting a little for one that has no client
    /// any more.
    fn reserve(&self) -> Result<()> {
        let mut state = self.state();
        if state.taken >= self.lanes && !state.closed {
            drop(state);
            self.tell(|news| news.reap = true);
            state = self
                .freed
                .wait_timeout_while(self.state(), PATIENCE_FOR_A_LANE, |state| {
                    state.taken >= self.lanes && !state.closed
                })
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        if state.closed {
            return Err(Error::Closed);
        }
        if state.taken >= self.lanes {
            return Err(Error::Full { lanes: self.lanes });
        }
        state.taken += 1;
        Ok(())
    }

    /// Gives a lane back.
    pub(crate) fn free(&self) {
        let mut state = self.state();
        state.taken = state.taken.saturating_sub(1);
        drop(state);
        self.freed.notify_one();
    }

    fn tell(&self, what: impl FnOnce(&mut News)) {
        what(&mut self.state().news);
        // Pairs with the acquire in `has_news`.
        self.has_news.store(true, Ordering::Release);
        self.bell.ring();
    }

    /// Whether there is something to [`take`](Self::take).
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.has_news.load(Ordering::Acquire)
    }

    /// What has happened since the last time. A stop is told every time.
    pub(crate) fn take(&self) -> News {
        let mut state = self.state();
        let stop = state.news.stop;
        self.has_news.store(stop, Ordering::Release);
        let news = std::mem::take(&mut state.news);
        state.news.stop = stop;
        news
    }

    /// Refuses everybody from here on; who has arrived is left to the caller.
    pub(crate) fn close(&self) -> Vec<Connection> {
        let mut state = self.state();
        state.closed = true;
        let left = std::mem::take(&mut state.news.arrivals);
        drop(state);
        self.freed.notify_all();
        left
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock, and every state is valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Brings clients to a server, from any thread.
#[derive(Debug, Clone)]
pub struct Acceptor(Arc<Intake>);

impl Acceptor {
    pub(crate) fn new(intake: Arc<Intake>) -> Self {
        Self(intake)
    }

    /// Gives the client at the other end of `socket`, who calls
    /// [`Client::connect`](crate::Client::connect), a lane of its own. Waits
    /// for what the client sends, for at most two seconds, so a server that
    /// should not wait has this done by another thread.
    ///
    /// # Errors
    /// There is no client, it is in another PID namespace, speaks another
    /// version, or there is no lane for it. The server goes on in any case.
    pub fn admit(&self, socket: UnixStream) -> Result<()> {
        self.0.admit(socket)
    }
}

/// Ends a server's loop, from any thread.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<Intake>);

impl Stopper {
    pub(crate) fn new(intake: Arc<Intake>) -> Self {
        Self(intake)
    }

    /// Ends [`Server::serve`](crate::Server::serve) after the call that it
    /// serves, and every later one at once.
    pub fn stop(&self) {
        self.0.tell(|news| news.stop = true);
    }
}
