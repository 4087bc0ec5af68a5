//! The peer's side of stream transports (unix sockets, pipes).

use std::io;

use unjank_host::{Error, Result};

use super::role::Route;

/// Reads requests and writes replies until the other end is closed.
pub(super) fn serve_stream(
    route: &Route,
    mut from: impl io::Read,
    mut to: impl io::Write,
) -> Result<()> {
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

/// Whether the other end is closed.
pub(super) fn is_hang_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}
