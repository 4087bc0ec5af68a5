//! The machine that is simulated, from the profile of a device.

use anyhow::{Context as _, Result};
use unjank_host::{Hertz, Nanos, Watts};
use unjank_lab::{Clock, Profile};
use unjank_launch::model::{Machine, Opp, OppTable, Ties};

/// The device called `name`, or in the file `name`, with `cpus` CPUs and a
/// kernel of `hz` ticks a second.
pub(super) fn find(name: &str, cpus: usize, hz: u32) -> Result<Machine> {
    let profile = Profile::find(name)?;
    let points = profile.states.iter().map(|state| Opp {
        frequency: Hertz::from_khz(u64::from(state.mhz) * 1_000),
        busy: Watts::from_milliwatts(f64::from(state.milliwatts)),
    });
    let mut table =
        OppTable::new(points.collect()).with_context(|| format!("{name} has no states"))?;
    table.idle = Watts::from_milliwatts(f64::from(profile.idle_milliwatts));
    table.rest = Watts::from_milliwatts(f64::from(profile.device_milliwatts));
    Ok(Machine {
        table,
        cpus,
        shared: profile.clock == Clock::Shared,
        tick: Nanos(1_000_000_000 / u64::from(hz)),
        // Profiles have the fastest state first, and so have the tables that
        // are made of them.
        ties: Ties::Faster,
    })
}
