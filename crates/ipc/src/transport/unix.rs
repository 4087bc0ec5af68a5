//! A stream socket pair: `unix(7)`.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use unjank_host::process::Helper;
use unjank_host::{Error, Result};

use super::client::{Client, Opened};
use super::role::Route;
use super::stream::serve_stream;

struct Socket(UnixStream);

impl Client for Socket {
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()> {
        self.0.write_all(request)?;
        self.0.read_exact(reply)
    }
}

/// The peer gets its end as stdin.
pub(super) fn connect(command: &mut Command, route: &Route) -> Result<Opened> {
    let (ours, theirs) =
        UnixStream::pair().map_err(|error| Error::syscall("socketpair", "AF_UNIX", error))?;
    let peer = Helper::start(command.stdin(Stdio::from(OwnedFd::from(theirs))))?;
    // The command keeps its own copy of the descriptor until it is reused.
    command.stdin(Stdio::null());
    Ok(Opened::new(Socket(ours), peer, route))
}

pub(super) fn serve(route: &Route) -> Result<()> {
    let socket = duplicate_stdin()?;
    serve_stream(route, &socket, &socket)
}

/// Stdin without std's buffer.
pub(super) fn duplicate_stdin() -> Result<File> {
    io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(File::from)
        .map_err(|error| Error::syscall("dup", "stdin", error))
}
