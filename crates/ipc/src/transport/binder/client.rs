//! The client's side.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use unjank_binder::{Client as BinderClient, Item, KernelDriver, Reference, registry};
use unjank_host::process::Helper;
use unjank_host::{Error, Result};

use super::{Manager, SERVE, device, failed};
use crate::transport::{Client, Opened, PeerCommand, Role, Route, Service, Transport};

/// Time for the server to register its object.
const PATIENCE: Duration = Duration::from_secs(2);

/// Calls to an object whose payload travels in one piece.
struct Binder {
    // Given back in this order.
    object: Reference,
    client: BinderClient,
    _manager: Manager,
}

/// Calls to an object whose payload travels as a buffer.
struct Hwbinder(Binder);

/// Pings somebody else's context manager.
struct Ping(BinderClient);

impl Client for Binder {
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()> {
        let answer =
            self.client.call_in_place(&self.object, SERVE, request).map_err(io::Error::other)?;
        fill(reply, &answer)
    }
}

impl Client for Hwbinder {
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()> {
        let Binder { object, client, .. } = &mut self.0;
        let answer = client.call_sg(&*object, SERVE, &[request]).map_err(io::Error::other)?;
        match answer.items().next() {
            Some(Ok(Item::Buffer(bytes))) => fill(reply, bytes),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "a reply without a buffer")),
        }
    }
}

impl Client for Ping {
    fn call(&mut self, _request: &[u8], _reply: &mut [u8]) -> io::Result<()> {
        self.0.ping().map_err(io::Error::other)
    }
}

fn fill(reply: &mut [u8], answer: &[u8]) -> io::Result<()> {
    if answer.len() != reply.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a reply of another length"));
    }
    reply.copy_from_slice(answer);
    Ok(())
}

/// The peer opens the device itself: binder ties it to the process that does.
pub(in crate::transport) fn connect(route: &Route, peer: &PeerCommand) -> Result<Opened> {
    let transport = route.transport;
    let failed = |error| failed(transport, error);
    let manager = Manager::find_or_start(transport, peer)?;
    let driver = Arc::new(KernelDriver::open(device(transport)).map_err(failed)?);
    let mut client = BinderClient::new(driver);
    if manager.is_foreign() {
        if route.service != Service::Echo {
            return Err(Error::Unsupported(format!(
                "{} has a context manager of somebody else's: no server can be registered there",
                device(transport)
            )));
        }
        return Ok(Opened { client: Box::new(Ping(client)), peer: None, call: "ping" });
    }
    let process = Helper::start(&mut peer.to_start(&Role::Serve(*route)))?;
    let number = u64::from(process.id());
    let object = registry::wait_for(&mut client, number, PATIENCE).map_err(failed)?;
    let binder = Binder { object, client, _manager: manager };
    Ok(match transport {
        Transport::Hwbinder => Opened::new(Hwbinder(binder), process, route),
        _ => Opened::new(binder, process, route),
    })
}
