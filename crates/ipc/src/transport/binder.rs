//! The binder driver, Android's way between processes.
//!
//! On a device without a context manager, the peer becomes it and echoes. On
//! a phone that place is taken, by `servicemanager`: it is pinged instead,
//! which is a round trip too, without a payload.

use std::io;
use std::process::Command;
use std::sync::Arc;

use unjank_binder::{
    Answer, Availability, Client as BinderClient, Error as BinderError, Handle, KernelDriver,
    NodeFlags, Server, availability,
};
use unjank_host::process::Helper;
use unjank_host::{Error, Nanos, Result, Support, Timestamp};

use super::{Client, Opened, Route};

const DEVICE: &str = "/dev/binder";
/// The code of a call to the service: the first that is free for an object's own use.
const SERVE: u32 = 1;
/// Time for the peer to become the context manager.
const PATIENCE: Nanos = Nanos::from_millis(2_000);

struct Echo {
    client: BinderClient,
    /// Filled by the driver's client, then copied: it wants a vector.
    reply: Vec<u8>,
}

struct Ping(BinderClient);

impl Client for Echo {
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()> {
        self.client
            .call(Handle::CONTEXT_MANAGER, SERVE, request, &mut self.reply)
            .map_err(io::Error::other)?;
        if self.reply.len() != reply.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a reply of another length"));
        }
        reply.copy_from_slice(&self.reply);
        Ok(())
    }
}

impl Client for Ping {
    fn call(&mut self, _request: &[u8], _reply: &mut [u8]) -> io::Result<()> {
        self.0.ping().map_err(io::Error::other)
    }
}

/// Whether the device answers.
pub(super) fn support() -> Result<Support<()>> {
    Ok(match availability(DEVICE).map_err(failed)? {
        Availability::Answers { .. } => Support::Yes(()),
        Availability::Absent(reason) => Support::No(reason),
        Availability::Denied(reason) => {
            Support::no(format!("{reason}: needs access to the device"))
        }
    })
}

/// The peer opens the device itself: binder ties it to the process that does.
pub(super) fn connect(command: &mut Command, route: &Route) -> Result<Opened> {
    let mut client = BinderClient::new(Arc::new(KernelDriver::open(DEVICE).map_err(failed)?));
    match client.ping() {
        Ok(()) => {
            let client = Box::new(Ping(client));
            return Ok(Opened { client, peer: None, call: "ping" });
        }
        Err(BinderError::NoContextManager { .. }) => {}
        Err(error) => return Err(failed(error)),
    }
    let mut peer = Helper::start(command)?;
    let give_up = Timestamp::now() + PATIENCE;
    loop {
        match client.ping() {
            Ok(()) => break,
            Err(BinderError::NoContextManager { .. })
                if peer.is_alive() && Timestamp::now() < give_up =>
            {
                (Timestamp::now() + Nanos::from_millis(1)).sleep_until();
            }
            Err(error) => return Err(failed(error)),
        }
    }
    let client = Box::new(Echo { client, reply: Vec::with_capacity(route.payload) });
    Ok(Opened { client, peer: Some(peer), call: route.service.name() })
}

/// Ends when the client does: the kernel then kills this process.
pub(super) fn serve(route: &Route) -> Result<()> {
    let driver = Arc::new(KernelDriver::open(DEVICE).map_err(failed)?);
    let mut server = Server::become_context_manager(driver, NodeFlags::NONE).map_err(failed)?;
    server
        .serve(|request, reply| match request.code {
            SERVE => {
                reply.extend_from_slice(request.payload);
                route.service.answer(reply);
                Answer::Reply
            }
            _ => Answer::Refuse(-BAD_MESSAGE),
        })
        .map(|_served| ())
        .map_err(failed)
}

/// `EBADMSG`, which binder objects answer to a code they do not know.
const BAD_MESSAGE: i32 = 74;

fn failed(error: BinderError) -> Error {
    Error::syscall("ioctl", DEVICE, io::Error::other(error))
}
