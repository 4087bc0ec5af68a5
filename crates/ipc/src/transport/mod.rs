//! The ways a call can take.
//!
//! Each transport has a client, which sends a request and waits for the reply,
//! and a peer: another process that serves it. The peer is the same program,
//! started with the arguments of a [`PeerCommand`]; it finds its end of the
//! transport on stdin (and stdout), so nothing is listened on and nothing has
//! a name.

mod binder;
mod futex;
mod passthrough;
mod pi;
mod pipe;
mod service;
mod unix;

pub(crate) use binder::Manager;
pub use service::Service;
pub(crate) use service::{Examined, SIGHT, SeenPolicy, Sight, examine, look_around};

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};
use unjank_host::process::{Helper, die_with_parent};
use unjank_host::sched::AffinityGuard;
use unjank_host::{Error, Result, Support};

/// A way from one process to another and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A plain call within the caller's thread: no transport at all.
    Passthrough,
    /// A stream socket pair: `unix(7)`.
    Unix,
    /// Two pipes: `pipe(7)`.
    Pipe,
    /// Shared memory with a futex in each direction, without spinning.
    Futex,
    /// Shared memory that lends the server its client's priority.
    Pi,
    /// The binder driver, where the kernel has it: a payload in one piece.
    Binder,
    /// The same driver behind hwbinder's device: a payload that is gathered.
    Hwbinder,
}

impl Transport {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Passthrough,
        Self::Unix,
        Self::Pipe,
        Self::Futex,
        Self::Pi,
        Self::Binder,
        Self::Hwbinder,
    ];

    /// Those that lead to another process.
    pub const BETWEEN_PROCESSES: [Self; 6] =
        [Self::Unix, Self::Pipe, Self::Futex, Self::Pi, Self::Binder, Self::Hwbinder];

    /// Whether this machine has it.
    ///
    /// # Errors
    /// It could not be found out.
    pub(crate) fn support(self) -> Result<Support<()>> {
        match self {
            Self::Passthrough | Self::Unix | Self::Pipe | Self::Futex | Self::Pi => {
                Ok(Support::Yes(()))
            }
            Self::Binder | Self::Hwbinder => binder::support(self),
        }
    }

    /// Whether it is the binder driver.
    pub(crate) fn is_binder(self) -> bool {
        matches!(self, Self::Binder | Self::Hwbinder)
    }

    /// The name in series and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passthrough => "passthrough",
            Self::Unix => "unix",
            Self::Pipe => "pipe",
            Self::Futex => "futex",
            Self::Pi => "pi",
            Self::Binder => "binder",
            Self::Hwbinder => "hwbinder",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One call after the other, served by the peer.
pub(crate) trait Client: Send {
    /// Sends `request` and waits until `reply`, of the same length, is filled.
    /// Allocates nothing.
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()>;
}

/// How to start the peer of a transport.
#[derive(Debug, Clone)]
pub struct PeerCommand {
    /// The program: usually this one (`/proc/self/exe`).
    pub program: PathBuf,
    /// Its arguments before those of the peer: a [`Role`] as JSON, and the
    /// process number of the one that starts it.
    pub arguments: Vec<OsString>,
}

impl PeerCommand {
    fn to_start(&self, role: &Role) -> Command {
        let mut command = Command::new(&self.program);
        let role = serde_json::to_string(role).expect("names, numbers and flags have a JSON form");
        command.args(&self.arguments).args([role, std::process::id().to_string()]);
        command
    }
}

/// What another process is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Serve calls.
    Serve(Route),
    /// Be the context manager of the transport's binder device.
    KeepRegistry(Transport),
}

/// Over what a peer is called, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The way to it.
    pub transport: Transport,
    /// What it does with a request.
    pub service: Service,
    /// Bytes of a request, and of its reply.
    pub payload: usize,
    /// Where it runs; where the scheduler puts it if `None`.
    pub peer_cpu: Option<usize>,
    /// Whether it asks for its client's real-time priority, where that must be
    /// asked for.
    pub inherit_rt: bool,
}

impl Route {
    /// To a peer that echoes `payload` bytes, wherever it runs.
    pub fn echo(transport: Transport, payload: usize) -> Self {
        Self { transport, service: Service::Echo, payload, peer_cpu: None, inherit_rt: true }
    }
}

/// A client and who answers it.
struct Opened {
    // Dropped first: a peer that sees its end closed ends by itself.
    client: Box<dyn Client>,
    /// `None` where no process was started for this connection.
    peer: Option<Helper>,
    /// What a call is: see [`Connection::call_kind`].
    call: &'static str,
}

impl Opened {
    fn new(client: impl Client + 'static, peer: Helper, route: &Route) -> Self {
        Self { client: Box::new(client), peer: Some(peer), call: route.service.name() }
    }
}

/// A connected client and its peer process, which ends with this value.
pub(crate) struct Connection {
    opened: Opened,
    transport: Transport,
}

impl Connection {
    /// Starts a peer and connects to it.
    pub(crate) fn open(route: &Route, peer: &PeerCommand) -> Result<Self> {
        let mut command = peer.to_start(&Role::Serve(*route));
        let opened = match route.transport {
            Transport::Passthrough => passthrough::connect(route.service),
            Transport::Unix => unix::connect(&mut command, route)?,
            Transport::Pipe => pipe::connect(&mut command, route)?,
            Transport::Futex => futex::connect(&mut command, route)?,
            Transport::Pi => pi::connect(&mut command, route)?,
            Transport::Binder | Transport::Hwbinder => binder::connect(route, peer)?,
        };
        Ok(Self { opened, transport: route.transport })
    }

    /// What a call is: the name of the service, or `ping` where somebody
    /// else's process answers, without a payload.
    pub(crate) fn call_kind(&self) -> &'static str {
        self.opened.call
    }

    /// The process number of the peer, if it was started for this connection.
    pub(crate) fn peer_id(&self) -> Option<u32> {
        self.opened.peer.as_ref().map(Helper::id)
    }

    /// One round trip.
    #[inline]
    pub(crate) fn call(&mut self, request: &[u8], reply: &mut [u8]) -> Result<()> {
        self.opened.client.call(request, reply).map_err(|error| self.failure(&error))
    }

    #[cold]
    fn failure(&mut self, error: &io::Error) -> Error {
        // A peer that hangs up has ended, even if it cannot be reaped yet.
        let alive = !is_hang_up(error) && self.opened.peer.as_mut().is_none_or(Helper::is_alive);
        let state = if alive { "lives" } else { "has ended" };
        let source = io::Error::new(error.kind(), error.to_string());
        Error::syscall("call", format!("the peer over {} (which {state})", self.transport), source)
    }
}

/// The peer's side: does its part for the process `parent` until that is gone.
/// Called by the program that a [`PeerCommand`] starts.
///
/// # Errors
/// Stdin is not this transport's, or the CPU is not there.
pub fn play(role: &Role, parent: u32) -> Result<()> {
    if !die_with_parent(parent)? {
        return Ok(());
    }
    match role {
        Role::Serve(route) => serve(route),
        Role::KeepRegistry(transport) => binder::keep_registry(*transport),
    }
}

fn serve(route: &Route) -> Result<()> {
    let _pinned = route.peer_cpu.map(AffinityGuard::pin_to).transpose()?;
    match route.transport {
        Transport::Passthrough => {
            Err(Error::Invalid("a plain call has no other process".to_owned()))
        }
        Transport::Unix => unix::serve(route),
        Transport::Pipe => pipe::serve(route),
        Transport::Futex => futex::serve(route),
        Transport::Pi => pi::serve(route),
        Transport::Binder | Transport::Hwbinder => binder::serve(route),
    }
}

/// Reads one request after the other and writes its reply, until the other end
/// is closed.
fn serve_stream(route: &Route, mut from: impl io::Read, mut to: impl io::Write) -> Result<()> {
    let mut message = vec![0; route.payload];
    loop {
        match from.read_exact(&mut message) {
            Ok(()) => {}
            Err(error) if is_hang_up(&error) => return Ok(()),
            Err(error) => return Err(Error::file("read", "the client's request", error)),
        }
        route.service.answer(&mut message);
        match to.write_all(&message) {
            Ok(()) => {}
            Err(error) if is_hang_up(&error) => return Ok(()),
            Err(error) => return Err(Error::file("write", "the reply", error)),
        }
    }
}

fn is_hang_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}
