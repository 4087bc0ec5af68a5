//! The server's side: one object, registered under the process number.

use std::sync::Arc;

use unjank_binder::{
    Answer, Client, Item, KernelDriver, NodeFlags, Object, Payload, Request, Server, registry,
};
use unjank_host::Result;

use super::{SERVE, device, failed};
use crate::transport::{Route, Service, Transport};

/// The name of the object that serves calls.
const OBJECT: u64 = 1;

/// `EBADMSG`, which binder objects answer to a code they do not know.
const BAD_MESSAGE: i32 = 74;

/// Serves until the client ends: the kernel then kills this process.
pub(in crate::transport) fn serve(route: &Route) -> Result<()> {
    let failed = |error| failed(route.transport, error);
    let driver = Arc::new(KernelDriver::open(device(route.transport)).map_err(failed)?);
    let mut server = Server::new(Arc::clone(&driver) as _);
    let flags = if route.inherit_rt { NodeFlags::INHERIT_RT } else { NodeFlags::NONE };
    let number = u64::from(std::process::id());
    let object = Object { name: OBJECT, flags };
    registry::register(&mut Client::new(driver), number, object).map_err(failed)?;
    let service = route.service;
    let outcome = match route.transport {
        Transport::Hwbinder => {
            let mut message = Vec::with_capacity(route.payload);
            server.serve(|request, reply| gathered(service, request, &mut message, reply))
        }
        _ => server.serve(|request, reply| in_one_piece(service, request, reply)),
    };
    outcome.map(|_served| ()).map_err(failed)
}

fn in_one_piece(service: Service, request: &Request<'_>, reply: &mut Payload) -> Answer {
    if request.code != SERVE {
        return Answer::Refuse(-BAD_MESSAGE);
    }
    service.answer(reply.append(request.payload));
    Answer::Reply
}

fn gathered(
    service: Service,
    request: &Request<'_>,
    message: &mut Vec<u8>,
    reply: &mut Payload,
) -> Answer {
    match request.items().next() {
        Some(Ok(Item::Buffer(bytes))) if request.code == SERVE => {
            if service == Service::Echo {
                reply.put_buffer(bytes);
                return Answer::Reply;
            }
            message.clear();
            message.extend_from_slice(bytes);
            service.answer(message);
            reply.put_buffer(message);
            Answer::Reply
        }
        _ => Answer::Refuse(-BAD_MESSAGE),
    }
}
