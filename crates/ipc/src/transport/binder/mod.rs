//! Android's binder driver, and hwbinder: the same driver behind another device,
//! with payloads that the driver gathers from their places (scatter-gather)
//! instead of payloads copied into one piece.
//!
//! As on a phone, each server registers an object with the device's context
//! manager, and clients ask it for the object. Here the context manager is a
//! process of unjank. On a phone it is `servicemanager`, which is pinged instead:
//! a round trip without a payload.

mod client;
mod manager;
mod server;

use std::io;

use unjank_binder::{Availability, Error as BinderError, availability};
use unjank_host::{Error, Result, Support};

use super::kind::Transport;

pub(super) use client::connect;
pub(crate) use manager::Manager;
pub(super) use manager::keep_registry;
pub(super) use server::serve;

/// The code of a call to the service.
const SERVE: u32 = 1;

/// The device of a transport.
fn device(transport: Transport) -> &'static str {
    match transport {
        Transport::Hwbinder => "/dev/hwbinder",
        _ => "/dev/binder",
    }
}

/// Whether the device answers.
pub(super) fn support(transport: Transport) -> Result<Support<()>> {
    Ok(match availability(device(transport)).map_err(|error| failed(transport, error))? {
        Availability::Answers { .. } => Support::Yes(()),
        Availability::Absent(reason) => Support::No(reason),
        Availability::Denied(reason) => {
            Support::no(format!("{reason}: needs access to the device"))
        }
    })
}

fn failed(transport: Transport, error: BinderError) -> Error {
    Error::syscall("ioctl", device(transport), io::Error::other(error))
}
