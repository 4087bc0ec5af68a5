//! What a peer is to do, and how it is started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::service::Service;
use super::way::Transport;

/// How to start the peer of a transport.
#[derive(Debug, Clone)]
pub struct PeerCommand {
    /// The program: usually this one (`/proc/self/exe`).
    pub program: PathBuf,
    /// Its arguments before those of the peer: a [`Role`] as JSON, and the
    /// process number of the one that starts it.
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

/// What another process is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Serve calls.
    Serve(Route),
    /// Be the context manager of the transport's binder device.
    KeepRegistry(Transport),
}

/// Over what a peer is called, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The way to it.
    pub transport: Transport,
    /// What it does with a request.
    pub service: Service,
    /// Bytes of a request, and of its reply.
    pub payload: usize,
    /// Where it runs; where the scheduler puts it if `None`.
    pub peer_cpu: Option<usize>,
    /// Whether it asks for its client's real-time priority, where that must be
    /// asked for.
    pub inherit_rt: bool,
}

impl Route {
    /// To a peer that echoes `payload` bytes, wherever it runs.
    pub fn echo(transport: Transport, payload: usize) -> Self {
        Self { transport, service: Service::Echo, payload, peer_cpu: None, inherit_rt: true }
    }
}
