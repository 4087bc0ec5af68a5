//! Calls between processes over shared memory, in which a server inherits the
//! priority of its most urgent client.
//!
//! ```no_run
//! use std::os::unix::net::UnixStream;
//! use unjank_pi_channel::{Answer, Client, Server, Settings};
//!
//! # fn main() -> unjank_pi_channel::Result<()> {
//! let (ours, theirs) = UnixStream::pair().expect("a socket pair");
//! // In one process, on the thread that is to serve:
//! let mut server = Server::new(&Settings::default())?;
//! server.acceptor().admit(theirs)?;
//! server.serve(|request, reply| {
//!     let mut bytes = [0; 64];
//!     let count = request.payload.read_at(0, &mut bytes);
//!     match reply.write(&bytes[..count]) {
//!         Ok(()) => Answer::Reply,
//!         Err(_) => Answer::Refuse(1),
//!     }
//! })?;
//! // In another:
//! let mut client = Client::connect(ours)?;
//! let mut reply = [0; 64];
//! let length = client.call(b"are you there?", &mut reply)?;
//! # Ok(())
//! # }
//! ```
#![allow(unsafe_code)]

mod bytes;
mod client;
mod clock;
mod doorbell;
mod error;
mod intake;
mod lane;
mod layout;
mod lock;
mod mapping;
mod message;
mod order;
mod owner;
mod peer;
mod priority;
mod server;
mod spin;

pub use bytes::{Outgoing, SharedBytes};
pub use client::Client;
pub use doorbell::Doorbells;
pub use error::{Error, Result};
pub use intake::{Acceptor, Stopper};
pub use layout::MAX_CAPACITY;
pub use peer::Credentials;
pub use server::{Answer, MAX_LANES, Request, Served, Server, Settings};
pub use spin::{DEFAULT_SPIN, MAX_SPIN};
