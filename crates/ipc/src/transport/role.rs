//! The task of a peer process.

use serde::{Deserialize, Serialize};

use super::kind::Transport;
use super::service::Service;

/// The task of a peer process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Serve calls.
    Serve(Route),
    /// Be the context manager of the transport's binder device.
    KeepRegistry(Transport),
}

/// The way to call a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The transport that carries the calls.
    pub transport: Transport,
    /// The peer's answer to a request.
    pub service: Service,
    /// Bytes of a request, and of its reply.
    pub payload: usize,
    /// The peer's CPU; `None` leaves it to the scheduler.
    pub peer_cpu: Option<usize>,
    /// Whether the peer asks for its client's real-time priority, where a
    /// transport needs that.
    pub inherit_rt: bool,
}

impl Route {
    /// The route to an unpinned peer that echoes `payload` bytes.
    pub fn echo(transport: Transport, payload: usize) -> Self {
        Self { transport, service: Service::Echo, payload, peer_cpu: None, inherit_rt: true }
    }
}
