//! Calls over the Linux binder driver, without Android's libraries.
//!
//! A [`Client`] calls an object of another process and waits for the reply; a
//! [`Server`] is the device's context manager, the object behind
//! [`Handle::CONTEXT_MANAGER`], and answers calls. Both speak to the kernel
//! through a [`Driver`], which is a [`KernelDriver`] outside of tests.
//!
//! | module | subject |
//! |---|---|
//! | [`protocol`] | numbers and structures of the driver's interface |
//! | [`command`] | what is written to the driver |
//! | [`reply`] | what is read from it, checked byte by byte |
//! | [`driver`] | the driver as a trait, and one transfer with it |
//!
//! Once a client or a server is set up, a round trip allocates nothing, and
//! costs the client one system call.
//!
//! ```no_run
//! use std::sync::Arc;
//! use unjank_binder::{Client, Handle, KernelDriver};
//!
//! # fn main() -> unjank_binder::Result<()> {
//! let mut client = Client::new(Arc::new(KernelDriver::open("/dev/binder")?));
//! client.ping()?;
//! let reply = client.call_in_place(Handle::CONTEXT_MANAGER, 1, b"are you there?")?;
//! assert!(reply.starts_with(b"yes"));
//! # Ok(())
//! # }
//! ```
//!
//! Binder ties a device to the process that opened it: open it after `fork`,
//! in the process that uses it. A copy of the file descriptor in another
//! process keeps a dead server alive, and its callers waiting.
#![allow(unsafe_code)]

#[cfg(test)]
mod allocations;
mod availability;
pub mod binderfs;
mod client;
pub mod command;
pub mod driver;
mod error;
mod exchange;
mod kernel;
mod looper;
mod mapping;
mod notice;
pub mod object;
mod payload;
mod pool;
pub mod protocol;
mod received;
mod reference;
pub mod registry;
pub mod reply;
mod request;
#[cfg(test)]
mod scripted;
mod server;
mod stop;
mod threads;

pub use availability::{Availability, availability};
pub use binderfs::Binderfs;
pub use client::{Client, Reply, Sent};
pub use driver::Driver;
pub use error::{Error, Malformed, Result};
pub use kernel::{DEFAULT_MAPPING, KernelDriver};
pub use mapping::Mapping;
pub use notice::Notice;
pub use payload::{Body, Object, Payload};
pub use protocol::{Handle, NodeFlags, Policy};
pub use received::{Item, Received};
pub use reference::Reference;
pub use registry::Registry;
pub use request::{Answer, Request, Served};
pub use server::Server;
pub use stop::Stopper;
