//! How lanes reach the thread that serves them.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::sleep;
use std::time::Duration;

use crate::clock::Moment;
use crate::doorbell::{Bell, Doorbells};
use crate::error::{Error, Result};
use crate::lane::Lane;
use crate::layout::Geometry;
use crate::message::{Message, Received, ask_for_credentials, receive, send};
use crate::peer::Peer;

/// How long a client may take to say hello.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a client may take to be gone, when there is no free lane for a new
/// one.
const PATIENCE_FOR_A_LANE: Duration = Duration::from_millis(500);
/// How long the server may take to look who is gone after that. One that
/// serves a long call, or nobody yet, does not look.
const PATIENCE_FOR_A_LOOK: Duration = Duration::from_secs(5);
/// How often the server has begun to look, by which once it has ended. The
/// first one may have begun before.
const LOOKS_FOR_A_LANE: u32 = 3;
/// How often to look whether it has.
const LOOK_FOR_A_LANE: Duration = Duration::from_millis(1);

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

/// Who has arrived and is not served yet.
#[derive(Debug, Default)]
struct Arrivals {
    connections: Vec<Connection>,
    closed: bool,
}

/// What a server shares with those who bring it clients, or stop it.
///
/// While it serves, the server never waits for one of them, who may have no
/// priority at all: it tries the lock, and if it fails, whoever holds it tells
/// the news again after letting go.
#[derive(Debug)]
pub(crate) struct Intake {
    geometry: Geometry,
    lanes: usize,
    thread: u32,
    doorbells: Doorbells,
    bell: Arc<Bell>,
    bell_fd: OwnedFd,
    has_news: AtomicBool,
    reap: AtomicBool,
    stop: AtomicBool,
    taken: AtomicUsize,
    arrivals: Mutex<Arrivals>,
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
            reap: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            taken: AtomicUsize::new(0),
            arrivals: Mutex::default(),
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
        let mut arrivals = self.arrivals();
        if arrivals.closed {
            // The client finds out when it sees its socket closed.
            return Err(Error::Closed);
        }
        arrivals.connections.push(connection);
        drop(arrivals);
        self.tell();
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

    /// Takes one of the lanes, waiting for one that has no client any more
    /// until the server has looked.
    fn reserve(&self) -> Result<()> {
        let soon = Moment::now().after(PATIENCE_FOR_A_LANE);
        let late = soon.after(PATIENCE_FOR_A_LOOK);
        let mut looks = 0;
        loop {
            if self.arrivals().closed {
                return Err(Error::Closed);
            }
            let free = |taken| (taken < self.lanes).then_some(taken + 1);
            if self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free).is_ok() {
                return Ok(());
            }
            let now = Moment::now();
            if now >= late || (now >= soon && looks >= LOOKS_FOR_A_LANE) {
                return Err(Error::Full { lanes: self.lanes });
            }
            // The server takes it back when it begins to look.
            if !self.reap.swap(true, Ordering::Relaxed) && now >= soon {
                looks += 1;
            }
            self.tell();
            sleep(LOOK_FOR_A_LANE);
        }
    }

    /// Gives a lane back.
    pub(crate) fn free(&self) {
        let less = |taken: usize| taken.checked_sub(1);
        // One is given back for each that was taken.
        let _never_below_zero = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Has the server look at what was written before.
    fn tell(&self) {
        // Pairs with the acquire in `take`.
        self.has_news.store(true, Ordering::Release);
        self.bell.ring();
    }

    /// Whether there is something to [`take`](Self::take).
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.has_news.load(Ordering::Relaxed)
    }

    /// What has happened since the last time. A stop is told every time.
    pub(crate) fn take(&self) -> News {
        // Pairs with the release in `tell`.
        let stop =
            self.has_news.swap(false, Ordering::Acquire) && self.stop.load(Ordering::Relaxed);
        if stop {
            self.has_news.store(true, Ordering::Relaxed);
        }
        let arrivals = match self.arrivals.try_lock() {
            Ok(mut arrivals) => std::mem::take(&mut arrivals.connections),
            Err(TryLockError::Poisoned(poisoned)) => {
                std::mem::take(&mut poisoned.into_inner().connections)
            }
            // Whoever holds the lock tells the news afterwards.
            Err(TryLockError::WouldBlock) => Vec::new(),
        };
        News { arrivals, reap: self.reap.swap(false, Ordering::Relaxed), stop }
    }

    /// Refuses everybody from here on; who has arrived is left to the caller.
    pub(crate) fn close(&self) -> Vec<Connection> {
        let mut arrivals = self.arrivals();
        arrivals.closed = true;
        std::mem::take(&mut arrivals.connections)
    }

    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        // Nothing panics while it holds the lock, and every state is valid.
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// for what the client sends, for at most 20 seconds, so a server that
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
        self.0.stop.store(true, Ordering::Relaxed);
        self.0.tell();
    }
}
