//! Backings that fail, and two tiers at a time. A process has its pages as they were, or is killed.

use std::time::Duration;

use serde_json::Value;

use crate::beside::{beside, beside_lost_pages};
use crate::memory_device::MemoryDevice;
use crate::tier::{Tier, until_nothing_is_left};
use crate::{Result, kernel, user};

/// The size of a fast backing, and of the smaller one of two tiers.
const SMALL: u64 = 1 << 20;
/// The room of a device that fills up.
const ROOM: u64 = 2 << 20;
/// The backings when memory is exhausted. The slow one is the phone's disk: a device that another
/// process serves from memory would itself have to be swapped.
pub(crate) const DISK: &str = "/data";
const LARGE_FAST: [&str; 4] = ["--fast-memory", "16MiB", "--policy", "paper"];
/// The time for which a backing does not answer.
const STALL: Duration = Duration::from_secs(5);

pub(crate) fn run() -> Result<()> {
    slow_fills_up()?;
    slow_stalls()?;
    for fast_vanishes in [true, false] {
        backing_vanishes(fast_vanishes)?;
    }
    two_tiers()
}

/// Pages that cannot be written stay in memory.
fn slow_fills_up() -> Result<()> {
    let slow = MemoryDevice::with_room(user::SIZE, ROOM)?;
    let path = slow.path();
    let options = ["--slow", &path, "--fast-memory", "1MiB", "--policy", "always/lru", "--format"];
    let mut failed = 0;
    beside(&["swap-freely"], || {
        let tier = Tier::up(&options)?;
        user::until_swapped()?;
        kernel::reclaim(user::ALL)?;
        failed = failures(&tier.down()?, "slow_failed")?;
        until_nothing_is_left()
    })?;
    println!("faults: full, {failed} transfers failed");
    Ok(())
}

/// Requests wait, and nothing is lost.
fn slow_stalls() -> Result<()> {
    let slow = MemoryDevice::start(user::SIZE)?;
    let path = slow.path();
    let options = ["--slow", &path, "--fast-memory", "1MiB", "--policy", "always/lru", "--format"];
    let mut failed = 0;
    beside(&["swap-freely"], || {
        let tier = Tier::up(&options)?;
        user::until_swapped()?;
        slow.stall(STALL)?;
        user::until_swapped()?;
        failed = failures(&tier.down()?, "slow_failed")?;
        Ok(())
    })?;
    println!("faults: stalled, {failed} transfers failed");
    Ok(())
}

/// A page on the backing is lost, and its process is killed when it needs the page.
fn backing_vanishes(is_fast: bool) -> Result<()> {
    let (name, bytes) = if is_fast { ("fast", SMALL) } else { ("slow", user::SIZE) };
    let mut vanishing = MemoryDevice::start(bytes)?;
    let other = MemoryDevice::start(if is_fast { user::SIZE } else { SMALL })?;
    let (path, other) = (vanishing.path(), other.path());
    let (fast, slow) = if is_fast { (&path, &other) } else { (&other, &path) };
    let options = ["--slow", slow, "--fast", fast, "--policy", "always/lru", "--format"];
    let mut failed = 0;
    beside_lost_pages(&["swap-freely"], || {
        let tier = Tier::up(&options)?;
        user::until_swapped()?;
        kernel::reclaim(user::ALL)?;
        vanishing.vanish()?;
        kernel::reclaim(user::ALL)?;
        failed = failures(&tier.down()?, if is_fast { "fast_failed" } else { "slow_failed" })?;
        Ok(())
    })?;
    println!("faults: {name} is gone, {failed} transfers failed");
    drop(vanishing);
    until_nothing_is_left()
}

/// Two tiers serve one process, and the servers of both are killed.
fn two_tiers() -> Result<()> {
    let slow = [MemoryDevice::start(SMALL)?, MemoryDevice::start(user::SIZE)?];
    let slow = slow.each_ref().map(MemoryDevice::path);
    let options = |slow, priority| {
        let fast = ["--fast-memory", "512KiB", "--format", "--area-priority", priority];
        [["--slow", slow].as_slice(), &fast].concat()
    };
    beside(&["swap-freely"], || {
        let tiers = [Tier::up(&options(&slow[0], "10"))?, Tier::up(&options(&slow[1], "5"))?];
        user::until_swapped()?;
        for tier in &tiers {
            kernel::reclaim(user::ALL)?;
            tier.kill_server()?;
            user::until_swapped()?;
        }
        kernel::reclaim(user::ALL)?;
        for tier in tiers {
            let written = tier.down()?["pages"]["slow_writes"].as_u64();
            if written.is_none_or(|pages| pages == 0) {
                return Err("one of the tiers was not used".into());
            }
        }
        until_nothing_is_left()
    })?;
    println!("faults: two tiers");
    Ok(())
}

/// Pages go to the tier and come back while there is no memory at all. `slow` is a file on the disk,
/// or `disk`.
pub(crate) fn memory_is_exhausted(slow: &str) -> Result<()> {
    let tier = match slow {
        "disk" => {
            let disk = kernel::unmount(DISK)?;
            Tier::up(&[["--slow", disk.as_str(), "--format"].as_slice(), &LARGE_FAST].concat())?
        }
        file => Tier::up(&[["--slow", file, "--size", "160MiB"].as_slice(), &LARGE_FAST].concat())?,
    };
    beside(&["exhaust"], || Ok(()))?;
    let counted = tier.down()?;
    let failed = failures(&counted, "slow_failed")? + failures(&counted, "fast_failed")?;
    println!("exhausted: {failed} transfers failed");
    until_nothing_is_left()
}

fn failures(counted: &Value, name: &str) -> Result<u64> {
    if counted["pages"]["wrong"] != 0 {
        return Err(format!("wrong pages: {counted}").into());
    }
    counted["pages"][name].as_u64().ok_or_else(|| format!("no {name}: {counted}").into())
}
