//! Calls over the Linux binder driver, without Android's libraries.
//!
//! A [`Client`] calls an object of another process and waits for the reply. A
//! [`Server`] serves the objects of its own process. Both use the kernel through a
//! [`Driver`], which is a [`KernelDriver`] outside of tests. One process is the
//! device's context manager, the object behind [`Handle::CONTEXT_MANAGER`]. From it
//! processes get each other's objects; a [`Registry`] is enough for that.
//!
//! | module | subject |
//! |---|---|
//! | [`protocol`] | numbers and structures of the driver's interface |
//! | [`command`] | commands to the driver |
//! | [`reply`] | returns from the driver, checked byte by byte |
//! | [`object`] | the objects in a payload, checked as well |
//! | [`driver`] | the driver as a trait, and one transfer with it |
//! | [`registry`] | objects found by number |
//! | [`binderfs`] | private devices |
//!
//! # Calls
//!
//! Once client and server are set up, a round trip allocates nothing and costs the
//! client one system call. The reply is read in the mapping, without a copy.
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
//!
//! // Buffers without a copy into one piece, as hwbinder sends them.
//! client.call_sg(Handle::CONTEXT_MANAGER, 2, &[b"a head", b"and a tail"])?;
//! // Without waiting for a reply.
//! client.send(Handle::CONTEXT_MANAGER, 3, b"by the way")?;
//! # Ok(())
//! # }
//! ```
//!
//! # Objects
//!
//! A server registers its object under a number, and serves calls on as many
//! threads as there are calls at the same time:
//!
//! ```no_run
//! use std::sync::Arc;
//! use unjank_binder::{Answer, Client, Driver, KernelDriver, NodeFlags, Object, Server, registry};
//!
//! # fn main() -> unjank_binder::Result<()> {
//! let driver: Arc<dyn Driver> = Arc::new(KernelDriver::open("/dev/binder")?);
//! let object = Object { name: 1, flags: NodeFlags::INHERIT_RT };
//! registry::register(&mut Client::new(Arc::clone(&driver)), 42, object)?;
//! Server::new(driver).serve_threads(4, |request, reply| match request.code {
//!     1 => {
//!         reply.extend_from_slice(request.payload);
//!         Answer::Reply
//!     }
//!     _ => Answer::Refuse(-74),
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! A client looks it up. A notice of its death comes to a server of the client's
//! process, which need not serve anything else:
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Duration;
//! use unjank_binder::{Client, Driver, KernelDriver, Notice, Server, registry};
//!
//! # fn main() -> unjank_binder::Result<()> {
//! let driver: Arc<dyn Driver> = Arc::new(KernelDriver::open("/dev/binder")?);
//! let mut client = Client::new(Arc::clone(&driver));
//! let echo = registry::wait_for(&mut client, 42, Duration::from_secs(2))?;
//! client.call_in_place(&echo, 1, b"hello")?;
//!
//! echo.watch(7)?;
//! let mut listener = Server::new(driver);
//! let stopper = listener.stopper();
//! listener.on_notice(move |notice| {
//!     if notice == Notice::Died(7) {
//!         let _stopped = stopper.stop();
//!     }
//! });
//! listener.serve(|_request, _reply| unjank_binder::Answer::Refuse(-74))?;
//! # Ok(())
//! # }
//! ```
//!
//! The process between them is the context manager:
//!
//! ```no_run
//! use std::sync::Arc;
//! use unjank_binder::{KernelDriver, NodeFlags, Registry, Server};
//!
//! # fn main() -> unjank_binder::Result<()> {
//! let driver = Arc::new(KernelDriver::open("/dev/binder")?);
//! let mut server = Server::become_context_manager(driver, NodeFlags::NONE)?;
//! Registry::new().serve(&mut server)?;
//! # Ok(())
//! # }
//! ```
//!
//! On a phone, whose devices have a context manager, and for isolated tests, create
//! a private device:
//!
//! ```no_run
//! use unjank_binder::{Binderfs, KernelDriver};
//!
//! # fn main() -> unjank_binder::Result<()> {
//! let mounted = Binderfs::mount()?;
//! mounted.add("mine")?;
//! let driver = KernelDriver::open(mounted.device("mine"))?;
//! # Ok(())
//! # }
//! ```
//!
//! # Processes and threads
//!
//! Binder ties a device to the process that opened it: open it after `fork`,
//! in the process that uses it. A copy of the file descriptor in another
//! process keeps a dead server alive, and its callers waiting.
//!
//! The driver keeps a record of every thread that uses a device. A client may move
//! from thread to thread between calls; the records are released when the threads
//! end.
#![allow(unsafe_code)]

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

/// Tests check that a call allocates nothing.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: unjank_needs::allocations::Counting = unjank_needs::allocations::Counting;
