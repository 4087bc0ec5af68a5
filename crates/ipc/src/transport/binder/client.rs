//! The client's side of binder and hwbinder.

use std::io;
use std::sync::Arc;

use unjank_binder::{
    Client as BinderClient, Error as BinderError, Item, KernelDriver, Reference, registry,
};
use unjank_host::process::{Helper, HelperCommand};
use unjank_host::{Error, Nanos, Result, Timestamp};

use super::{Manager, SERVE, device, failed};
use crate::transport::client::{Client, Opened};
use crate::transport::{Role, Route, Service, Transport};

/// How often to look whether the server has registered its object.
const LOOK: Nanos = Nanos::from_millis(1);

/// Calls to an object whose payload travels in one piece.
struct Binder {
    // Given back in this order.
    object: Reference,
    client: BinderClient,
    _manager: Manager,
}

/// Calls to an object whose payload travels as a buffer.
struct Hwbinder(Binder);

/// Pings a context manager that is not unjank's.
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

/// The peer opens the device itself, because binder ties an open device to its
/// process.
pub(in crate::transport) fn connect(route: &Route, peer: &HelperCommand) -> Result<Opened> {
    let transport = route.transport;
    let failed = |error| failed(transport, error);
    let manager = Manager::find_or_start(transport, peer)?;
    let driver = Arc::new(KernelDriver::open(device(transport)).map_err(failed)?);
    let mut client = BinderClient::new(driver);
    if manager.is_foreign() {
        if route.service != Service::Echo {
            return Err(Error::Unsupported(format!(
                "{} already has a context manager, with which unjank cannot register a server",
                device(transport)
            )));
        }
        return Ok(Opened { client: Box::new(Ping(client)), peer: None, call: "ping" });
    }
    let mut process = Helper::start(&mut peer.with_task(&Role::Serve(*route))?)?;
    let number = u64::from(process.id());
    let registered = await_object(
        || registry::look_up(&mut client, number),
        || process.is_alive(),
        || (Timestamp::now() + LOOK).sleep_until(),
    );
    let object = registered.map_err(failed)?.ok_or_else(|| {
        let ended = io::Error::new(io::ErrorKind::ConnectionReset, "it ended before it served");
        Error::syscall("call", format!("the peer over {transport}"), ended)
    })?;
    let binder = Binder { object, client, _manager: manager };
    Ok(match transport {
        Transport::Hwbinder => Opened::new(Hwbinder(binder), process, route),
        _ => Opened::new(binder, process, route),
    })
}

/// Looks the object up until it is registered or its server has ended. On a busy
/// machine a server may take any time to start.
fn await_object<T>(
    mut look_up: impl FnMut() -> Result<Option<T>, BinderError>,
    mut lives: impl FnMut() -> bool,
    mut pause: impl FnMut(),
) -> Result<Option<T>, BinderError> {
    loop {
        // Checked first, so an object registered just before the end is found.
        let more_to_come = lives();
        let found = look_up()?;
        if found.is_some() || !more_to_come {
            return Ok(found);
        }
        pause();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_as_long_as_it_lives_to_register() {
        let (mut look_ups, mut pauses) = (0, 0);
        let late = || {
            look_ups += 1;
            Ok((look_ups == 1_000_000).then_some("object"))
        };
        assert_eq!(await_object(late, || true, || pauses += 1).unwrap(), Some("object"));
        assert_eq!(pauses, 999_999);
        let mut lives = [true, true, false].into_iter();
        let never = || Ok(None::<()>);
        assert_eq!(await_object(never, || lives.next().unwrap(), || ()).unwrap(), None);
        let ended = await_object(|| Ok(Some("object")), || false, || ());
        assert_eq!(ended.unwrap(), Some("object"), "a call finds that it has died");
        let device = std::path::PathBuf::from("/dev/binder");
        let nobody = || {
            let command = "BC_TRANSACTION";
            Err::<Option<()>, _>(BinderError::NoContextManager { device: device.clone(), command })
        };
        assert!(await_object(nobody, || true, || ()).is_err(), "the context manager is gone");
    }
}
