//! The client's side of the control socket.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::line_reader::{LineProgress, LineReader};
use crate::error::{Error, Result};
use crate::passing::connect;

/// Sends the service at `path` one line, and returns its answer, which must
/// arrive within `timeout`.
///
/// # Errors
/// `Unsupported` if no service listens there; `File` if it does not answer.
pub fn ask(path: &Path, question: &str, timeout: Duration) -> Result<String> {
    let failed = |error| Error::file("ask the service at", path, error);
    let mut stream = connect(path, timeout).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            Error::Unsupported(format!("no service listens at {}", path.display()))
        }
        _ => failed(error),
    })?;
    stream.set_read_timeout(Some(timeout)).map_err(failed)?;
    stream.set_write_timeout(Some(timeout)).map_err(failed)?;
    stream.write_all(format!("{question}\n").as_bytes()).map_err(failed)?;
    answer(&mut stream, timeout).map_err(failed)
}

/// Reads the answer. The timeout also applies to a service that sends its
/// answer slowly.
fn answer(stream: &mut UnixStream, timeout: Duration) -> io::Result<String> {
    let begun = Instant::now();
    let mut reader = LineReader::answer();
    let mut piece = [0; 4096];
    loop {
        let length = stream.read(&mut piece)?;
        match reader.take(&piece[..length]) {
            LineProgress::Line(line) => return Ok(line),
            LineProgress::Invalid => return Err(io::ErrorKind::InvalidData.into()),
            LineProgress::More if length == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            LineProgress::More if begun.elapsed() > timeout => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            LineProgress::More => {}
        }
    }
}
