//! Two pipes, one in each direction: `pipe(7)`.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::Command;

use unjank_host::process::Helper;
use unjank_host::{Error, Result};

use super::client::{Client, Opened};
use super::role::Route;
use super::stream::serve_stream;
use super::unix::duplicate_stdin;

struct Pipes {
    requests: PipeWriter,
    replies: PipeReader,
}

impl Client for Pipes {
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()> {
        self.requests.write_all(request)?;
        self.replies.read_exact(reply)
    }
}

/// The peer reads requests from stdin and writes replies to stdout.
pub(super) fn connect(command: &mut Command, route: &Route) -> Result<Opened> {
    let pipe = || io::pipe().map_err(|error| Error::syscall("pipe2", "requests", error));
    let (requests_end, requests) = pipe()?;
    let (replies, replies_end) = pipe()?;
    let peer = Helper::start(command.stdin(requests_end).stdout(replies_end))?;
    // The command keeps copies of the peer's ends until they are replaced. A reader
    // would never see the end of such a pipe.
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    Ok(Opened::new(Pipes { requests, replies }, peer, route))
}

pub(super) fn serve(route: &Route) -> Result<()> {
    let requests = duplicate_stdin()?;
    let replies = io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .map(File::from)
        .map_err(|error| Error::syscall("dup", "stdout", error))?;
    serve_stream(route, &requests, &replies)
}
