//! The peer's side of any transport.

use unjank_host::process::die_with_parent;
use unjank_host::sched::AffinityGuard;
use unjank_host::{Error, Result};

use super::peer::{Role, Route};
use super::way::Transport;
use super::{binder, futex, pi, pipe, unix};

/// The peer's side: does its part for the process `parent` until that is gone.
/// Called by the program that a [`PeerCommand`](super::PeerCommand) starts.
///
/// # Errors
/// Stdin is not this transport's, or the CPU is not there.
pub fn play(role: &Role, parent: u32) -> Result<()> {
    if !die_with_parent(parent)? {
        return Ok(());
    }
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
