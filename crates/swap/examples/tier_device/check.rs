//! What is done.

use std::path::Path;
use std::thread;
use std::time::Duration;

use unjank_host::{Bytes, swap_switch};
use unjank_swap::remedy::policy::Identity;
use unjank_swap::remedy::tier::plan::{Fast, Plan};

use crate::beside::beside;
use crate::killed_server::KilledServer;
use crate::memory_device::MemoryDevice;
use crate::tier::{Tier, kill_keeper, run as unjank, until_nothing_is_left};
use crate::{Result, kernel, user};

/// Kills of the server during requests, and while a process is swapped.
const KILLS: u32 = 10;
const SWAP_KILLS: u32 = 25;
/// How often pages have come back when a measurement ends.
const MEASURED: u32 = 20;
/// Requests at a time, more than a queue has.
const AT_ONCE: usize = 80;
/// The directory of the tier whose server is alone.
const ALONE: &str = "/run/alone";
/// Time for requests between two kills.
const PAUSE: Duration = Duration::from_millis(200);

pub(crate) fn run(fast: &str, policy: &str, identity: &str) -> Result<()> {
    let slow = MemoryDevice::start(user::SIZE)?;
    let fast = match fast {
        "memory" => None,
        _ => Some(MemoryDevice::start(user::SIZE / 8)?),
    };
    let (slow, fast) = (slow.path(), fast.as_ref().map(MemoryDevice::path));
    requests(fast.as_deref(), &slow, policy)?;
    // The kernel's number of the tier's area is not the first one.
    let other = kernel::other_swap()?;
    swap(fast.as_deref(), &slow, policy, identity)?;
    Ok(swap_switch::turn_off(Path::new(&other))?)
}

/// A process whose pages are swapped, and nothing is killed. Returns what was counted.
pub(crate) fn measure(policy: &str, identity: &str) -> Result<()> {
    let slow = MemoryDevice::start(user::SIZE)?;
    let slow = slow.path();
    let fast = ["--fast-memory", "2MiB", "--policy", policy, "--identity", identity];
    beside(&["swap"], || {
        let tier = Tier::up(&[["--slow", &slow].as_slice(), &fast].concat())?;
        for _ in 0..MEASURED {
            user::until_swapped()?;
        }
        print!("{}", unjank(&["swap", "tier", "status"])?);
        println!("{}", tier.down()?);
        Ok(())
    })
}

/// Requests for single pages while the server is killed.
fn requests(fast: Option<&str>, slow: &str, policy: &str) -> Result<()> {
    let plan = Plan {
        fast: fast.map_or(Fast::Memory(Bytes(user::SIZE / 8)), |path| Fast::Path(path.into())),
        slow: slow.into(),
        size: None,
        formats: true,
        policy: policy.parse()?,
        identity: Identity::Slot,
        verify: true,
        queues: 2,
        priority: 0,
    };
    let mut server = KilledServer::start(Path::new(ALONE), plan.settings()?)?;
    let device = server.device()?;
    beside(&["requests", &device], || {
        for _ in 0..KILLS {
            thread::sleep(PAUSE);
            server.replace()?;
        }
        Ok(())
    })?;
    println!("requests: {KILLS} kills");
    // All requests of the queues are in the hands of the server.
    beside(&["many-requests", &device, &AT_ONCE.to_string()], || {
        thread::sleep(PAUSE);
        server.replace()
    })?;
    println!("requests: {AT_ONCE} at a time");
    println!("requests: {} allocations", server.end()?);
    Ok(())
}

/// A process whose pages are swapped while everything is killed.
fn swap(fast: Option<&str>, slow: &str, policy: &str, identity: &str) -> Result<()> {
    let mut options = vec!["--slow", slow, "--policy", policy, "--identity", identity];
    match fast {
        Some(path) => options.extend(["--fast", path]),
        None => options.extend(["--fast-memory", "2MiB"]),
    }
    beside(&["swap"], || {
        let tier = Tier::up(&options)?;
        for _ in 0..SWAP_KILLS {
            user::until_swapped()?;
            tier.kill_server()?;
        }
        user::until_swapped()?;
        println!("swap: {SWAP_KILLS} servers killed");
        kill_keeper()?;
        print!("{}", unjank(&["swap", "tier", "status"])?);
        println!("{}", tier.down()?);
        until_nothing_is_left()?;

        let tier = Tier::up(&options)?;
        user::until_swapped()?;
        tier.kill_supervisor()?;
        until_nothing_is_left()?;
        println!("swap: taken down by the keeper");

        let tier = Tier::up(&options)?;
        user::until_swapped()?;
        tier.kill_all()?;
        print!("{}", unjank(&["restore"])?);
        until_nothing_is_left()
    })
}
