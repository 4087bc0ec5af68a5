//! The server: a process of its own, so that it can be killed.

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Arc, Mutex};

use unjank_host::Bytes;
use unjank_host::memory::{MemoryLock, SharedRegion};
use unjank_host::ublk::{Control, Shape, become_io_flusher, is_io_flusher};
use unjank_swap::remedy::tier::engine::Engine;
use unjank_swap::remedy::tier::map::Map;
use unjank_swap::remedy::tier::policy;
use unjank_swap::remedy::tier::service::{Backings, FastBacking, serve};

/// Pages of the device, frames of the fast backing, and those that the policy fills.
pub(crate) const SLOTS: u32 = 4096;
const FRAMES: u32 = 512;
const KEPT: u64 = 480;
const PAGE: u64 = 4096;

/// Files that outlive the server.
const MAP: &str = "/run/tier.map";
const MEMORY: &str = "/run/tier.memory";

pub(crate) fn run(
    slow: &str,
    fast: &str,
    policy: &str,
    device: &str,
) -> Result<(), Box<dyn Error>> {
    become_io_flusher()?;
    if !is_io_flusher()? {
        return Err("page reclaim may wait for this thread".into());
    }
    let mut control = Control::open()?.yes().ok_or("this kernel has no ublk")?;
    let is_recovered = device != "new";
    if !is_recovered {
        let _there_may_be_none = fs::remove_file(MAP);
    }
    let shape = Shape {
        size: Bytes(u64::from(SLOTS) * PAGE),
        block: Bytes(PAGE),
        queues: 2,
        depth: 32,
        largest: Bytes::from_kib(64),
    };
    let map = Map::new(Arc::new(shared(MAP, Map::bytes(SLOTS) as u64)?));
    let fast = match fast {
        "memory" => FastBacking::Memory(shared(MEMORY, u64::from(FRAMES) * PAGE)?),
        path => FastBacking::File(direct(path)?),
    };
    let backings = Backings { slow: direct(slow)?, fast };
    let policy = policy::make(policy.parse()?, KEPT, SLOTS.into())?;
    let engine = Mutex::new(
        Engine::resume(policy, map, FRAMES).map_err(|slot| format!("a wrong map: slot {slot}"))?,
    );
    let _locked = MemoryLock::everything_now().yes().ok_or("no locked memory")?;
    // Last: a server that ends after this and before its start leaves the device to nobody.
    let device = match device {
        "new" => control.add(shape)?,
        id => control.recover(id.parse()?, shape)?,
    };
    let (id, device) = (device.id(), (&device, is_recovered));
    let started = || println!("serving {id}");
    let counts = serve(&mut control, device, &engine, &backings, true, (started, end))?;
    println!("{counts:?}");
    Ok(())
}

fn end(error: &unjank_host::Error) -> ! {
    eprintln!("tier_device: {error}");
    std::process::abort()
}

/// A file in memory, zero at first.
fn shared(path: &str, bytes: u64) -> Result<SharedRegion, Box<dyn Error>> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    file.set_len(bytes)?;
    Ok(SharedRegion::open(&file)?)
}

fn direct(path: &str) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path)
}
