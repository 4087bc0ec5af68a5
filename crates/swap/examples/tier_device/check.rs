//! What is done.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use unjank_host::Bytes;
use unjank_swap::remedy::tier::plan::{Fast, Plan};
use unjank_swap::remedy::tier::policy::Identity;

use crate::killed_server::KilledServer;
use crate::tier::{Tier, kill_keeper, kill_server, run as unjank, until, until_nothing_is_left};
use crate::{Result, kernel, user};

/// Kills of the server during each use.
const KILLS: u32 = 10;
/// The directory of the tier whose server is alone.
const ALONE: &str = "/run/alone";
/// Time for requests between two kills.
const PAUSE: Duration = Duration::from_millis(200);
/// Page-ins between two kills, and their counter in `/proc/vmstat`.
const SWAPPED: u64 = 300;
const PAGE_INS: &str = "pswpin";

pub(crate) fn run(fast: &str, policy: &str, identity: &str) -> Result<()> {
    let slow = kernel::zram(user::SIZE)?;
    let fast = match fast {
        "memory" => None,
        _ => Some(kernel::zram(user::SIZE / 8)?),
    };
    requests(fast.as_deref(), &slow, policy)?;
    swap(fast.as_deref(), &slow, policy, identity)
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
    server.end()
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
        for _ in 0..KILLS {
            until_swapped()?;
            kill_server()?;
        }
        until_swapped()?;
        println!("swap: {KILLS} servers killed");
        kill_keeper()?;
        print!("{}", unjank(&["swap", "tier", "status"])?);
        println!("{}", tier.down()?);
        until_nothing_is_left()?;

        let tier = Tier::up(&options)?;
        until_swapped()?;
        tier.kill_supervisor()?;
        until_nothing_is_left()?;
        println!("swap: taken down by the keeper");

        let tier = Tier::up(&options)?;
        until_swapped()?;
        tier.kill_all()?;
        print!("{}", unjank(&["restore"])?);
        until_nothing_is_left()
    })
}

/// Waits until the process has got some more pages back.
fn until_swapped() -> Result<()> {
    kernel::reclaim(user::MEMORY / 2)?;
    let before = kernel::counter(PAGE_INS)?;
    until(|| Ok(kernel::counter(PAGE_INS)? >= before + SWAPPED))
}

/// Does something while another process uses the device: one of its own, because a page fault that
/// waits for the device holds locks of its process. The process goes on until its input ends.
fn beside(user: &[&str], act: impl FnOnce() -> Result<()>) -> Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut process = command.args(user).stdin(Stdio::piped()).spawn()?;
    act()?;
    drop(process.stdin.take());
    let status = process.wait()?;
    if status.success() { Ok(()) } else { Err(format!("{user:?}: {status}").into()) }
}
