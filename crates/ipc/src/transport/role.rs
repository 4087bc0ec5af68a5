//! The task of a peer process, and how the process is started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::kind::Transport;
use super::service::Service;

/// How to start the peer of a transport.
#[derive(Debug, Clone)]
pub struct PeerCommand {
    /// The program: usually this one (`/proc/self/exe`).
    pub program: PathBuf,
    /// Its first arguments. A [`Role`] as JSON and the parent's process number
    /// follow.
    pub arguments: Vec<OsString>,
}

impl PeerCommand {
    pub(super) fn to_start(&self, role: &Role) -> Command {
        let mut command = Command::new(&self.program);
        let role = serde_json::to_string(role).expect("names, numbers and flags have a JSON form");
        command.args(&self.arguments).args([role, std::process::id().to_string()]);
        command
    }
}

/// The task of a peer process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Serve calls.
    Serve(Route),
    /// Be the context manager of the transport's binder device.
    KeepRegistry(Transport),
}

/// How a peer is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The transport.
    pub transport: Transport,
    /// What it does with a request.
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
    /// To an unpinned peer that echoes `payload` bytes.
    pub fn echo(transport: Transport, payload: usize) -> Self {
        Self { transport, service: Service::Echo, payload, peer_cpu: None, inherit_rt: true }
    }
}
