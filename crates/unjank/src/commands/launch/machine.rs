//! Builds the simulated machine from a device's profile.

use anyhow::Result;
use unjank_host::Nanos;
use unjank_lab::{Clock, Profile};
use unjank_launch::model::{Machine, Ties};

use super::device;
use crate::interrupt;

/// The device called `name`, or in the file `name`, with `cpus` CPUs and `hz`
/// kernel ticks a second.
pub(crate) fn find(name: &str, cpus: usize, hz: u32) -> Result<Machine> {
    let profile = Profile::find(name, &interrupt::stop())?;
    let table = device::table(&profile)?;
    Ok(Machine {
        table,
        cpus,
        shared: profile.clock == Clock::Shared,
        tick: Nanos(1_000_000_000 / u64::from(hz)),
        // Profiles list the fastest state first, and so do the tables made of them.
        ties: Ties::Faster,
    })
}
