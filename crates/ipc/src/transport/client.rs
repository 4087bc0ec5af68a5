//! The caller's side of a transport.

use std::io;

use unjank_host::process::Helper;

use super::peer::Route;

/// One call after the other, served by the peer.
pub(crate) trait Client: Send {
    /// Sends `request` and waits until `reply`, of the same length, is filled.
    /// Allocates nothing.
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()>;
}

/// A client and who answers it.
pub(super) struct Opened {
    // Dropped first: a peer that sees its end closed ends by itself.
    pub(super) client: Box<dyn Client>,
    /// `None` where no process was started for this connection.
    pub(super) peer: Option<Helper>,
    /// What a call is: see `Connection::call_kind`.
    pub(super) call: &'static str,
}

impl Opened {
    pub(super) fn new(client: impl Client + 'static, peer: Helper, route: &Route) -> Self {
        Self { client: Box::new(client), peer: Some(peer), call: route.service.name() }
    }
}
