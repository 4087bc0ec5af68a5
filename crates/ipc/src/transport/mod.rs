//! The transports of calls.
//!
//! Each transport has a client, which sends a request and waits for the reply,
//! and a peer: another process that serves it. The peer is the same program,
//! started with the arguments of a [`HelperCommand`](unjank_host::process::HelperCommand). It finds its end of the
//! transport on stdin (and stdout), so it listens on nothing and has no name.
//!
//! | file | subject |
//! |---|---|
//! | `kind` | the transports and their names |
//! | `role` | the task of a peer process |
//! | `service` | services of a peer: echo, or a report about its thread |
//! | `connection`, `client` | the client's side |
//! | `serve` | the peer's side |
//! | `stream` | the peer's side of transports that are streams of bytes |
//! | `passthrough`, `unix`, `pipe`, `futex`, `pi`, `binder` | each transport, both sides |

mod binder;
mod client;
mod connection;
mod futex;
mod kind;
mod passthrough;
mod pi;
mod pipe;
mod role;
mod serve;
mod service;
mod stream;
mod unix;

pub(crate) use binder::Manager;
pub(crate) use connection::Connection;
pub use kind::Transport;
pub use role::{Role, Route};
pub use serve::run_peer;
pub use service::Service;
pub(crate) use service::{
    ExaminedThread, REPORT_BYTES, ReportedPolicy, SelfReport, cpu_request, thread_request,
};
