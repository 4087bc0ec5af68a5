//! The peer's side of all transports.

use unjank_host::sched::AffinityGuard;
use unjank_host::{Error, Result};

use super::kind::Transport;
use super::role::{Role, Route};
use super::{binder, futex, pi, pipe, unix};

/// Plays a role until its client or its parent ends. Called by the program
/// that a [`HelperCommand`](unjank_host::process::HelperCommand) starts.
///
/// # Errors
/// Stdin does not belong to this transport, or the CPU does not exist.
pub fn run_peer(role: &Role) -> Result<()> {
    match role {
        Role::Serve(route) => serve(route),
        Role::KeepRegistry(transport) => binder::keep_registry(*transport),
    }
}

fn serve(route: &Route) -> Result<()> {
    let _pinned = route.peer_cpu.map(AffinityGuard::pin_to).transpose()?;
    match route.transport {
        Transport::Passthrough => {
            Err(Error::Invalid("a plain call has no other process".to_owned()))
        }
        Transport::Unix => unix::serve(route),
        Transport::Pipe => pipe::serve(route),
        Transport::Futex => futex::serve(route),
        Transport::Pi => pi::serve(route),
        Transport::Binder | Transport::Hwbinder => binder::serve(route),
    }
}
