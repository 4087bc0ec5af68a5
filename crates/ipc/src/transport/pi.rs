//! Shared memory whose handshake lends the server its client's priority: the
//! library `unjank-pi-channel`.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use unjank_host::process::Helper;
use unjank_host::{Error, Result};
use unjank_pi_channel::{Answer, Client as PiClient, Error as PiError, Server, Settings};

use super::client::{Client, Opened};
use super::role::Route;
use super::unix::duplicate_stdin;

struct Lane(PiClient);

impl Client for Lane {
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()> {
        match self.0.call(request, reply) {
            Ok(length) if length == reply.len() => Ok(()),
            Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "a reply of another length")),
            Err(PiError::PeerDied | PiError::Closed) => Err(io::ErrorKind::ConnectionReset.into()),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

/// The peer gets one end of a socket as stdin; the lane is set up over it.
pub(super) fn connect(command: &mut Command, route: &Route) -> Result<Opened> {
    let (ours, theirs) =
        UnixStream::pair().map_err(|error| Error::syscall("socketpair", "AF_UNIX", error))?;
    let peer = Helper::start(command.stdin(Stdio::from(OwnedFd::from(theirs))))?;
    // The command keeps its own copy of the descriptor until it is reused.
    command.stdin(Stdio::null());
    let client = PiClient::connect(ours).map_err(failed)?;
    Ok(Opened::new(Lane(client), peer, route))
}

/// Serves until the client ends: the kernel then kills this process.
pub(super) fn serve(route: &Route) -> Result<()> {
    let socket = UnixStream::from(OwnedFd::from(duplicate_stdin()?));
    let settings = Settings {
        lanes: 1,
        request_capacity: route.payload,
        reply_capacity: route.payload,
        ..Settings::default()
    };
    let mut server = Server::new(&settings).map_err(failed)?;
    server.acceptor().admit(socket).map_err(failed)?;
    let mut message = vec![0; route.payload];
    let service = route.service;
    server
        .serve(|request, reply| {
            let length = request.payload.read_at(0, &mut message);
            let message = &mut message[..length];
            service.answer(message);
            match reply.write(message) {
                Ok(()) => Answer::Reply,
                Err(_) => Answer::Refuse(TOO_LONG),
            }
        })
        .map(|_served| ())
        .map_err(failed)
}

/// `EMSGSIZE`.
const TOO_LONG: i32 = 90;

fn failed(error: PiError) -> Error {
    Error::syscall("pi-channel", "a lane", io::Error::other(error))
}
