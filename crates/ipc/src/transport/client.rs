//! The caller's side of a transport.

use std::io;

use unjank_host::process::Helper;

use super::role::Route;

/// Makes calls, one after the other.
pub(crate) trait Client: Send {
    /// Sends `request` and waits until `reply`, of the same length, is filled.
    /// Allocates nothing.
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()>;
}

/// A connected client and its peer process.
pub(super) struct Opened {
    // Dropped first, which closes the peer's end, so the peer ends.
    pub(super) client: Box<dyn Client>,
    /// `None` where no process was started for this connection.
    pub(super) peer: Option<Helper>,
    /// The kind of call: see `Connection::call_kind`.
    pub(super) call: &'static str,
}

impl Opened {
    pub(super) fn new(client: impl Client + 'static, peer: Helper, route: &Route) -> Self {
        Self { client: Box::new(client), peer: Some(peer), call: route.service.name() }
    }
}
