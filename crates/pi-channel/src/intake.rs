//! Passes new clients, and requests to stop, to the serving thread.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::sleep;
use std::time::Duration;

use crate::clock::Moment;
use crate::doorbell::{Doorbell, Doorbells};
use crate::error::{Error, Result};
use crate::lane::Lane;
use crate::layout::Geometry;
use crate::message::{Message, Received, ask_for_credentials, receive, send};
use crate::peer_process::PeerProcess;

/// Time limit for a client's hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a new client waits for a lane whose client has ended.
const LANE_TIMEOUT: Duration = Duration::from_millis(500);
/// Further time for the server to detect clients that are gone. A server that is
/// busy with a long call, or does not serve yet, does not check.
const REAP_TIMEOUT: Duration = Duration::from_secs(5);
/// After this many checks have begun, one was made after `LANE_TIMEOUT`: the first
/// may have begun before.
const REAPS_FOR_A_LANE: u32 = 3;
/// Time between two attempts to reserve a lane.
const LANE_CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// A lane and its client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) lane: Lane,
    /// The lane's own doorbell, if it has one.
    pub(crate) bell: Option<Doorbell>,
    pub(crate) peer: PeerProcess,
}

/// Events since the server's last [`Intake::take`].
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) arrivals: Vec<Connection>,
    /// A client waits for a lane: check which clients are gone.
    pub(crate) reap: bool,
    pub(crate) stop: bool,
}

/// Clients that are not served yet.
#[derive(Debug, Default)]
struct Arrivals {
    connections: Vec<Connection>,
    closed: bool,
}

/// State that a server shares with its acceptors and stoppers.
///
/// While it serves, the server never waits for their threads, which may have any
/// priority: it only tries the lock. If that fails, the thread that holds the lock
/// notifies the server again after releasing it.
#[derive(Debug)]
pub(crate) struct Intake {
    geometry: Geometry,
    lanes: usize,
    thread: u32,
    doorbells: Doorbells,
    bell: Arc<Doorbell>,
    bell_fd: OwnedFd,
    has_events: AtomicBool,
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
        let (bell, bell_fd) = Doorbell::create()?;
        Ok(Self {
            geometry,
            lanes,
            thread,
            doorbells,
            bell: Arc::new(bell),
            bell_fd,
            has_events: AtomicBool::new(false),
            reap: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            taken: AtomicUsize::new(0),
            arrivals: Mutex::default(),
        })
    }

    pub(crate) fn bell(&self) -> Arc<Doorbell> {
        Arc::clone(&self.bell)
    }

    /// Sets up a lane for the client at the other end of `socket`.
    fn admit(&self, socket: UnixStream) -> Result<()> {
        ask_for_credentials(&socket)?;
        let hello = match receive(&socket, HELLO_TIMEOUT) {
            Ok(Received { message: Message::Hello, sender, .. }) => sender,
            Ok(_) => return Err(Error::NotAChannel { what: "a client that does not say hello" }),
            Err(error) => {
                let answer = match error {
                    Error::PidNamespace => Message::PidNamespace,
                    // Any message shows the client this side's version.
                    _ => Message::Closed,
                };
                // The first failure is returned.
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
        let welcomed = self.welcome(PeerProcess::new(hello, socket));
        let connection = match welcomed {
            Ok(connection) => connection,
            Err(error) => {
                self.free();
                return Err(error);
            }
        };
        let mut arrivals = self.arrivals();
        if arrivals.closed {
            // The client notices that its socket is closed.
            return Err(Error::Closed);
        }
        arrivals.connections.push(connection);
        drop(arrivals);
        self.notify();
        Ok(())
    }

    fn welcome(&self, peer: PeerProcess) -> Result<Connection> {
        let (lane, lane_fd) = Lane::create(self.geometry, self.thread)?;
        let (bell, bell_fd) = match self.doorbells {
            Doorbells::OnePerLane => {
                let (bell, fd) = Doorbell::create()?;
                (Some(bell), Some(fd))
            }
            Doorbells::Shared => (None, None),
        };
        let bell_fd = bell_fd.as_ref().unwrap_or(&self.bell_fd);
        let welcome = Message::Welcome { thread: self.thread };
        send(peer.socket(), welcome, &[lane_fd.as_fd(), bell_fd.as_fd()])?;
        Ok(Connection { lane, bell, peer })
    }

    /// Reserves a lane. If all are taken, waits until the server has checked for
    /// clients that are gone.
    fn reserve(&self) -> Result<()> {
        let soon = Moment::now().after(LANE_TIMEOUT);
        let late = soon.after(REAP_TIMEOUT);
        let mut reaps = 0;
        loop {
            if self.arrivals().closed {
                return Err(Error::Closed);
            }
            let free = |taken| (taken < self.lanes).then_some(taken + 1);
            if self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free).is_ok() {
                return Ok(());
            }
            let now = Moment::now();
            if now >= late || (now >= soon && reaps >= REAPS_FOR_A_LANE) {
                return Err(Error::Full { lanes: self.lanes });
            }
            // The server clears the flag when it begins to check.
            if !self.reap.swap(true, Ordering::Relaxed) && now >= soon {
                reaps += 1;
            }
            self.notify();
            sleep(LANE_CHECK_INTERVAL);
        }
    }

    /// Gives a lane back.
    pub(crate) fn free(&self) {
        let less = |taken: usize| taken.checked_sub(1);
        // Each lane is given back once.
        let _never_below_zero = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Makes the server call [`take`](Self::take), after the data was written.
    fn notify(&self) {
        // Pairs with the acquire in `take`.
        self.has_events.store(true, Ordering::Release);
        self.bell.ring();
    }

    /// Whether there are events to [`take`](Self::take).
    #[inline]
    pub(crate) fn has_events(&self) -> bool {
        self.has_events.load(Ordering::Relaxed)
    }

    /// Returns the events since the last call. A stop is returned by every call.
    pub(crate) fn take(&self) -> Events {
        // Pairs with the release in `notify`.
        let stop =
            self.has_events.swap(false, Ordering::Acquire) && self.stop.load(Ordering::Relaxed);
        if stop {
            self.has_events.store(true, Ordering::Relaxed);
        }
        let arrivals = match self.arrivals.try_lock() {
            Ok(mut arrivals) => std::mem::take(&mut arrivals.connections),
            Err(TryLockError::Poisoned(poisoned)) => {
                std::mem::take(&mut poisoned.into_inner().connections)
            }
            // The thread that holds the lock notifies afterwards.
            Err(TryLockError::WouldBlock) => Vec::new(),
        };
        Events { arrivals, reap: self.reap.swap(false, Ordering::Relaxed), stop }
    }

    /// Refuses new clients from now on; returns those that are not served yet.
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

/// Admits clients to a server, from any thread.
#[derive(Debug, Clone)]
pub struct Acceptor(Arc<Intake>);

impl Acceptor {
    pub(crate) fn new(intake: Arc<Intake>) -> Self {
        Self(intake)
    }

    /// Gives a lane to the client at the other end of `socket`, which calls
    /// [`Client::connect`](crate::Client::connect). Waits at most 20 seconds for
    /// the client, so call this in another thread if the server must not wait.
    ///
    /// # Errors
    /// There is no client, it is in another PID namespace, it has another version,
    /// or there is no free lane. The server is not affected.
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

    /// Ends [`Server::serve`](crate::Server::serve) after the current call, and
    /// every later `serve` at once.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
        self.0.notify();
    }
}
