//! The ways a call can take.
//!
//! Each transport has a client, which sends a request and waits for the reply,
//! and a peer: another process that serves it. The peer is the same program,
//! started with the arguments of a [`PeerCommand`]; it finds its end of the
//! transport on stdin (and stdout), so nothing is listened on and nothing has
//! a name.
//!
//! | file | subject |
//! |---|---|
//! | `way` | the ways by their names |
//! | `peer`, `service` | what a peer is to do, and how it is started |
//! | `connection`, `client` | the caller's side |
//! | `serve` | the peer's side |
//! | `stream` | the peer's side of what is a stream of bytes |
//! | `passthrough`, `unix`, `pipe`, `futex`, `pi`, `binder` | each way, from both ends |

mod binder;
mod client;
mod connection;
mod futex;
mod passthrough;
mod peer;
mod pi;
mod pipe;
mod serve;
mod service;
mod stream;
mod unix;
mod way;

pub(crate) use binder::Manager;
pub(crate) use connection::Connection;
pub use peer::{PeerCommand, Role, Route};
pub use serve::play;
pub use service::Service;
pub(crate) use service::{Examined, SIGHT, SeenPolicy, Sight, examine, look_around};
pub use way::Transport;
