//! The ways a call can take.
//!
//! Each transport has a client, which sends a request and waits for the reply,
//! and a peer: another process that sends back what it gets. The peer is the
//! same program, started with the arguments of a [`PeerCommand`]; it finds its
//! end of the transport on stdin (and stdout), so nothing is listened on and
//! nothing has a name.

mod binder;
mod futex;
mod pipe;
mod unix;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use unjank_host::process::{Helper, die_with_parent};
use unjank_host::sched::AffinityGuard;
use unjank_host::{Error, Result, Support};

/// A way from one process to another and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A stream socket pair: `unix(7)`.
    Unix,
    /// Two pipes: `pipe(7)`.
    Pipe,
    /// Shared memory with a futex in each direction, without spinning.
    Futex,
    /// The binder driver, where the kernel has it.
    Binder,
}

impl Transport {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Unix, Self::Pipe, Self::Futex, Self::Binder];

    /// Whether this machine has it.
    ///
    /// # Errors
    /// It could not be found out.
    pub(crate) fn support(self) -> Result<Support<()>> {
        match self {
            Self::Unix | Self::Pipe | Self::Futex => Ok(Support::Yes(())),
            Self::Binder => binder::support(),
        }
    }

    /// The name in series and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Pipe => "pipe",
            Self::Futex => "futex",
            Self::Binder => "binder",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One call after the other, echoed by the peer.
pub(crate) trait Client {
    /// Sends `request` and waits until `reply`, of the same length, is filled.
    /// Allocates nothing.
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()>;
}

/// How to start the peer of a transport.
#[derive(Debug, Clone)]
pub struct PeerCommand {
    /// The program: usually this one (`/proc/self/exe`).
    pub program: PathBuf,
    /// Its arguments before those of the peer: transport, payload, process
    /// number of the client, and the CPU if it is to have a certain one.
    pub arguments: Vec<OsString>,
}

impl PeerCommand {
    fn for_peer(&self, peer: &Peer) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(peer.transport.name());
        command.args([peer.payload.to_string(), peer.parent.to_string()]);
        command.args(peer.cpu.map(|cpu| cpu.to_string()));
        command
    }
}

/// What a peer is told by its command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Over what it is called.
    pub transport: Transport,
    /// Bytes of a request, and of its reply.
    pub payload: usize,
    /// The process that calls it, and without which it ends.
    pub parent: u32,
    /// Where it runs; anywhere if `None`.
    pub cpu: Option<usize>,
}

/// A client and who answers it.
struct Opened {
    // Dropped first: a peer that sees its end closed ends by itself.
    client: Box<dyn Client>,
    /// `None` where a process of somebody else's answers.
    peer: Option<Helper>,
    /// What a call is: `echo`, or `ping` without a payload.
    call: &'static str,
}

impl Opened {
    fn echo(client: impl Client + 'static, peer: Helper) -> Self {
        Self { client: Box::new(client), peer: Some(peer), call: "echo" }
    }
}

/// A connected client and its peer process, which ends with this value.
pub(crate) struct Connection {
    opened: Opened,
    transport: Transport,
}

impl Connection {
    /// Starts a peer on `cpu` (or wherever the scheduler puts it) and connects.
    pub(crate) fn open(
        transport: Transport,
        payload: usize,
        cpu: Option<usize>,
        peer: &PeerCommand,
    ) -> Result<Self> {
        let parent = std::process::id();
        let mut command = peer.for_peer(&Peer { transport, payload, parent, cpu });
        let opened = match transport {
            Transport::Unix => unix::connect(&mut command)?,
            Transport::Pipe => pipe::connect(&mut command)?,
            Transport::Futex => futex::connect(&mut command, payload)?,
            Transport::Binder => binder::connect(&mut command, payload)?,
        };
        Ok(Self { opened, transport })
    }

    /// What a call is: `echo` or `ping`.
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

/// The peer's side: echoes the requests that arrive on its stdin until the
/// client is gone. Called by the program that a [`PeerCommand`] starts.
///
/// # Errors
/// Stdin is not this transport's, or the CPU is not there.
pub fn serve(peer: Peer) -> Result<()> {
    if !die_with_parent(peer.parent)? {
        return Ok(());
    }
    let _pinned = peer.cpu.map(AffinityGuard::pin_to).transpose()?;
    match peer.transport {
        Transport::Unix => unix::serve(peer.payload),
        Transport::Pipe => pipe::serve(peer.payload),
        Transport::Futex => futex::serve(peer.payload),
        Transport::Binder => binder::serve(),
    }
}

/// Reads one request and writes it back, until the other end is closed.
fn echo(payload: usize, mut from: impl io::Read, mut to: impl io::Write) -> Result<()> {
    let mut buffer = vec![0; payload];
    loop {
        match from.read_exact(&mut buffer).and_then(|()| to.write_all(&buffer)) {
            Ok(()) => {}
            Err(error) if is_hang_up(&error) => return Ok(()),
            Err(error) => return Err(Error::file("echo", "the client's request", error)),
        }
    }
}

fn is_hang_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}
