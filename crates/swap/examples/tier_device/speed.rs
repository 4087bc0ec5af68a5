//! How fast a tier's device serves single pages, beside the example targets of the crate libublk:
//! `loop` over the same disk, and `null`, which moves no data.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use unjank_host::Bytes;
use unjank_swap::remedy::policy::Identity;
use unjank_swap::remedy::tier::plan::{Fast, Plan};

use crate::killed_server::KilledServer;
use crate::tier::until;
use crate::user::{Aligned, PAGE};
use crate::{Result, kernel};

/// Turns of all targets.
const ROUNDS: usize = 5;
/// The time of one cell.
const CELL: Duration = Duration::from_secs(2);
/// Requests at a time.
const DEPTHS: [usize; 2] = [1, 16];
/// Pages that are used, without the first one, which has the mark of the tier.
const PAGES: u32 = 2_048;
/// Memory for all of them, and for those that are staged.
const FAST: Bytes = Bytes(PAGES as u64 * PAGE as u64 * 2);
/// The numbers of libublk's devices.
const PEER: &str = "40";

#[derive(Clone, Copy, PartialEq)]
enum Target {
    /// The tier keeps nothing, and all pages go to the disk.
    TierOnDisk,
    LoopOnDisk,
    /// The tier keeps all in memory.
    TierInMemory,
    Null,
}

const TARGETS: [(Target, &str); 4] = [
    (Target::TierOnDisk, "tier on disk"),
    (Target::LoopOnDisk, "libublk loop"),
    (Target::TierInMemory, "tier in memory"),
    (Target::Null, "libublk null"),
];

#[derive(Clone, Copy, PartialEq)]
enum Request {
    Read,
    Write,
}

/// What a cell has measured: requests a second, and times in nanoseconds.
struct Measured {
    place: (&'static str, usize, Request),
    rate: f64,
    median: u64,
    p99: u64,
}

/// All targets in turns, and a table of the medians of all rounds.
pub(crate) fn run() -> Result<()> {
    let disk = kernel::unmount(crate::faults::DISK)?;
    let mut measured = Vec::new();
    for round in 0..ROUNDS {
        for turn in 0..TARGETS.len() {
            let (target, name) = TARGETS[(turn + round) % TARGETS.len()];
            serve(target, &disk, |device| {
                fill(device)?;
                for depth in DEPTHS {
                    for request in [Request::Read, Request::Write] {
                        let (rate, [median, p99]) = cell(device, request, depth)?;
                        measured.push(Measured {
                            place: (name, depth, request),
                            rate,
                            median,
                            p99,
                        });
                    }
                }
                Ok(())
            })?;
        }
        eprintln!("round {} of {ROUNDS}", round + 1);
    }
    print(&measured);
    Ok(())
}

/// Has a target serve a device meanwhile.
fn serve(target: Target, disk: &str, act: impl FnOnce(&str) -> Result<()>) -> Result<()> {
    let tier = |policy: &str| -> Result<KilledServer> {
        let plan = Plan {
            fast: Fast::Memory(FAST),
            slow: disk.into(),
            size: None,
            formats: true,
            policy: policy.parse()?,
            identity: Identity::Slot,
            verify: false,
            queues: 1,
            priority: 0,
        };
        KilledServer::start(Path::new("/run/speed"), plan.settings()?)
    };
    match target {
        Target::TierOnDisk | Target::TierInMemory => {
            let mut server = tier(if target == Target::TierOnDisk { "none" } else { "always" })?;
            act(&server.device()?)?;
            server.end().map(drop)
        }
        Target::LoopOnDisk => Peer::start("loop", &["-f", disk])?.serve(act),
        Target::Null => Peer::start("null", &[])?.serve(act),
    }
}

/// A target of libublk.
struct Peer {
    program: &'static str,
    process: Child,
}

impl Peer {
    fn start(program: &'static str, options: &[&str]) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["add", "--foreground", "-n", PEER, "-q", "1", "-d", "64"]).args(options);
        Ok(Self { program, process: command.stdout(Stdio::null()).spawn()? })
    }

    fn serve(mut self, act: impl FnOnce(&str) -> Result<()>) -> Result<()> {
        let device = PathBuf::from(format!("/dev/ublkb{PEER}"));
        until(|| match self.process.try_wait()? {
            None => Ok(device.exists()),
            Some(ended) => Err(format!("{} add: {ended}", self.program).into()),
        })?;
        act(&device.display().to_string())?;
        let removed = Command::new(self.program).args(["del", "-n", PEER]).status()?;
        if !removed.success() {
            return Err(format!("{} del: {removed}", self.program).into());
        }
        self.process.wait()?;
        Ok(())
    }
}

/// Writes every page once.
fn fill(device: &str) -> Result<()> {
    let flags = libc::O_DIRECT;
    let device = OpenOptions::new().write(true).custom_flags(flags).open(device)?;
    let page = Aligned([1; PAGE]);
    Ok((1..=PAGES)
        .try_for_each(|slot| device.write_all_at(&page.0, u64::from(slot) * PAGE as u64))?)
}

/// Requests for random pages, `depth` at a time.
fn cell(device: &str, request: Request, depth: usize) -> Result<(f64, [u64; 2])> {
    let began = Instant::now();
    let one = |seed: usize| -> std::io::Result<Vec<u64>> {
        let flags = libc::O_DIRECT;
        let device = OpenOptions::new().read(true).write(true).custom_flags(flags).open(device)?;
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed as u64);
        let (mut page, mut times) = (Aligned([1; PAGE]), Vec::new());
        while began.elapsed() < CELL {
            let at = u64::from(1 + chance.next_u32() % PAGES) * PAGE as u64;
            let asked = Instant::now();
            match request {
                Request::Read => device.read_exact_at(&mut page.0, at)?,
                Request::Write => device.write_all_at(&page.0, at)?,
            }
            times.push(asked.elapsed().as_nanos() as u64);
        }
        Ok(times)
    };
    let times = thread::scope(|scope| -> Result<Vec<u64>> {
        let threads: Vec<_> = (0..depth).map(|seed| scope.spawn(move || one(seed))).collect();
        let mut times = Vec::new();
        for thread in threads {
            times.extend(thread.join().map_err(|_| "a panic")??);
        }
        Ok(times)
    });
    let mut times = times?;
    let rate = times.len() as f64 / began.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| times.get(((times.len() - 1) as f64 * share) as usize).copied();
    let quantiles = [at(0.5), at(0.99)].map(Option::unwrap_or_default);
    Ok((rate, quantiles))
}

fn print(measured: &[Measured]) {
    println!("| device | at a time | request | requests/s | median | p99 |");
    println!("|---|---|---|---|---|---|");
    for depth in DEPTHS {
        for request in [Request::Read, Request::Write] {
            for (_, name) in TARGETS {
                let cells = || measured.iter().filter(|it| it.place == (name, depth, request));
                let [rate, low, high] = spread(cells().map(|it| it.rate).collect());
                let [median, ..] = spread(cells().map(|it| it.median as f64 / 1e3).collect());
                let [p99, ..] = spread(cells().map(|it| it.p99 as f64 / 1e3).collect());
                let what = if request == Request::Read { "read" } else { "write" };
                println!(
                    "| {name} | {depth} | {what} | {rate:.0} ({low:.0}–{high:.0}) | {median:.0} µs \
                     | {p99:.0} µs |"
                );
            }
        }
    }
}

/// The median, the smallest and the largest.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    [last / 2, 0, last].map(|at| values.get(at).copied().unwrap_or_default())
}
