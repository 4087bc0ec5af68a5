//! The other side: whoever asks.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};

use super::heard::{Heard, Piece};
use crate::error::{Error, Result};

/// Asks the service at `path` one line, and gives back its answer, which it may
/// take `patience` for.
///
/// # Errors
/// `Unsupported` if nobody listens there; `File` if it does not answer.
pub fn ask(path: &Path, question: &str, patience: Duration) -> Result<String> {
    let failed = |error| Error::file("ask the service at", path, error);
    let mut stream = connected(path, patience).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            Error::Unsupported(format!("no service listens at {}", path.display()))
        }
        _ => failed(error),
    })?;
    stream.set_read_timeout(Some(patience)).map_err(failed)?;
    stream.write_all(format!("{question}\n").as_bytes()).map_err(failed)?;
    answer(&mut stream, patience).map_err(failed)
}

/// A service that lets nobody in is waited for no longer than one that does not
/// answer: `SO_SNDTIMEO` of `socket(7)` holds for `connect(2)` as well.
fn connected(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(patience))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// A service that says a little all the time may not take longer than one that
/// says nothing.
fn answer(stream: &mut UnixStream, patience: Duration) -> io::Result<String> {
    let begun = Instant::now();
    let mut heard = Heard::default();
    let mut piece = [0; 4096];
    loop {
        let length = stream.read(&mut piece)?;
        match heard.take(&piece[..length]) {
            Piece::Line(line) => return Ok(line),
            Piece::Nonsense => return Err(io::ErrorKind::InvalidData.into()),
            Piece::More if length == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            Piece::More if begun.elapsed() > patience => return Err(io::ErrorKind::TimedOut.into()),
            Piece::More => {}
        }
    }
}
