//! A connection over any transport.

use std::io;

use unjank_host::process::{Helper, HelperCommand};
use unjank_host::{Error, Result, Support};

use super::client::Opened;
use super::kind::Transport;
use super::role::{Role, Route};
use super::stream::is_hang_up;
use super::{binder, futex, passthrough, pi, pipe, unix};

impl Transport {
    /// Whether this machine has the transport.
    ///
    /// # Errors
    /// The binder device could not be examined.
    pub fn support(self) -> Result<Support<()>> {
        match self {
            Self::Passthrough | Self::Unix | Self::Pipe | Self::Futex | Self::Pi => {
                Ok(Support::Yes(()))
            }
            Self::Binder | Self::Hwbinder => binder::support(self),
        }
    }
}

/// A connected client and its peer process, which ends with this value.
pub(crate) struct Connection {
    opened: Opened,
    transport: Transport,
}

impl Connection {
    /// Starts a peer and connects to it.
    pub(crate) fn open(route: &Route, peer: &HelperCommand) -> Result<Self> {
        let mut command = peer.with_task(&Role::Serve(*route))?;
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

    /// The kind of call: the name of the service, or `ping` (without a payload) if
    /// the device has another context manager.
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
        // A peer that closed its end has ended, even if it cannot be reaped yet.
        let alive = !is_hang_up(error) && self.opened.peer.as_mut().is_none_or(Helper::is_alive);
        let state = if alive { "lives" } else { "has ended" };
        let source = io::Error::new(error.kind(), error.to_string());
        Error::syscall("call", format!("the peer over {} (which {state})", self.transport), source)
    }
}
