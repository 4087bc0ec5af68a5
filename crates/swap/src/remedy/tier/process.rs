//! The process that serves the device. It is in the way of page reclaim: it must never wait for
//! memory that is to be reclaimed, and the kernel must not kill it for want of memory.

use std::sync::{Arc, Mutex};

use unjank_cachesim::tier::TierPolicy;
use unjank_host::memory::MemoryLock;
use unjank_host::process::{never_dump_core, outlive_owner, spare_from_oom_killer};
use unjank_host::ublk::{Control, become_io_flusher};
use unjank_host::{Error, Result, Support};

use super::super::policy::{self, Identity};
use super::backing::open_marked;
use super::directory::TierDirectory;
use super::engine::Engine;
use super::lock::Part;
use super::map::Map;
use super::naming;
use super::published::Published;
use super::service::{Acquired, Backings, FastBacking, serve as serve_device};

/// Serves the device of a tier until it is stopped: makes it, or takes it over from a server that
/// has died. Calls `started` when it is there.
///
/// # Errors
/// Another server runs; a backing cannot be opened; a privilege is missing; the kernel's error.
pub(super) fn serve(
    directory: &TierDirectory,
    started: impl FnOnce(),
    fatal: fn(&Error) -> !,
) -> Result<()> {
    never_dump_core();
    outlive_owner(c"unjank-tier");
    let busy = || Error::Busy("the tier has a server, or is gone".to_owned());
    let _part = directory.take_part(Part::Server)?.ok_or_else(busy)?;
    let settings = directory.settings()?.ok_or_else(busy)?;
    // First: what is allocated from now on is there when it is used.
    let _locked = never_wait_for_reclaim()?;
    let fast = match &settings.fast {
        None => FastBacking::Memory(directory.memory()?),
        Some(backing) => FastBacking::File(open_marked(backing, settings.mark)?),
    };
    let backings = Backings { slow: open_marked(&settings.slow, settings.mark)?, fast };
    let unknown = |error: String| Error::Invalid(format!("the tier's policy: {error}"));
    let policy: TierPolicy = settings.policy.parse().map_err(|e| unknown(format!("{e}")))?;
    let policy = policy::make(policy, settings.identity, (settings.kept(), settings.slots))
        .map_err(|error| unknown(error.to_string()))?;
    let map = Map::new(Arc::new(directory.map()?));
    let engine = Engine::resume(policy, map, settings.frames)
        .map_err(|slot| Error::Invalid(format!("the tier's map is damaged: slot {slot}")))?;
    let engine = Arc::new(Mutex::new(engine));
    let published = Arc::new(Published::begin(directory.counts()?));
    if settings.identity == Identity::Page {
        naming::begin(settings.kept(), &engine, &published);
    }
    let acquire = |control: &mut Control| {
        let (device, is_recovered) = match control.find(settings.mark)? {
            Some(found) => (control.recover(found.id, settings.shape())?, true),
            None => (control.add(settings.shape(), settings.mark)?, false),
        };
        Ok(Acquired { device, is_recovered })
    };
    let device = (settings.shape(), acquire);
    let counts = (settings.verify, &*published);
    let mut control = open_control()?;
    serve_device(&mut control, device, &engine, &backings, counts, (started, fatal))
}

/// Keeps this process out of the tier and of all waiting for it: its memory is locked, reclaim does
/// not wait for I/O on its behalf (nor for the processes that it starts), and it is killed last.
///
/// # Errors
/// A privilege is missing.
pub(super) fn never_wait_for_reclaim() -> Result<MemoryLock> {
    spare_from_oom_killer();
    become_io_flusher()?;
    match MemoryLock::everything_now() {
        Support::Yes(locked) => Ok(locked),
        Support::No(reason) => Err(Error::Unsupported(reason)),
    }
}

/// Opens the driver.
///
/// # Errors
/// `Unsupported` if the kernel has none; the kernel's error.
pub(super) fn open_control() -> Result<Control> {
    match Control::open()? {
        Support::Yes(control) => Ok(control),
        Support::No(reason) => Err(Error::Unsupported(reason)),
    }
}
