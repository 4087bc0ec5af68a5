//! Swap areas and settings of an arm.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use unjank_cachesim::tier::TierPolicy;
use unjank_host::journal::{Knob, Session, SwapArea, Zram};
use unjank_host::loop_device::LoopDevice;
use unjank_host::machine::{VmStat, swap};
use unjank_host::process::{Helper, send_signal};
use unjank_host::storage::ScratchFile;
use unjank_host::{Bytes, Error, Result, Root, Support, temporary_swap, zram_device};

use super::arm::Arm;
use super::options::{Options, Programs};
use crate::remedy::tier::directory;
use crate::remedy::tier::status;
use crate::remedy::writeback;
use crate::trace::PAGE;

/// Pages in zram for each page of memory that it takes: those of the apps compress better.
const RATIO: u64 = 2;
/// How long a service may take to begin, and to end: it brings all pages back first.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long pages stay in zram at most: longer than a run, so that they are written back for want of
/// room alone. The memory of zram is taken from the apps in any case.
const AFTER: &str = "60min";
const ZSWAP: &str = "/sys/module/zswap/parameters/enabled";
const LOOK: Duration = Duration::from_millis(20);

/// What an arm needs, until it is dropped. The parts are dropped in this order.
pub(super) struct Surroundings {
    _service: Option<Service>,
    kind: Kind,
    /// The device below, for pages that the fast part does not hold.
    _storage: Option<SwapArea>,
    _knobs: Vec<Knob>,
    root: Root,
}

/// What is special about an arm.
enum Kind {
    /// Storage alone, or nothing.
    Plain,
    Zram(Zram),
    /// The slow backing of the tier.
    Tier(PathBuf),
    /// The device that is written back, and its name.
    Tierd(Zram, String),
}

/// The special part of an arm, with its service.
type Part = (Option<Service>, Kind);

/// A service of this binary.
struct Service {
    helper: Helper,
    /// What it prints.
    said: File,
    /// A directory of its own, removed after it.
    _directory: Option<tempfile::TempDir>,
}

/// Pages that went to and from swap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    /// All page-ins and page-outs.
    pub(super) page_ins: u64,
    pub(super) page_outs: u64,
    /// Those of the fast part.
    pub(super) fast_reads: u64,
    pub(super) fast_writes: u64,
    /// Those of storage.
    pub(super) reads: u64,
    pub(super) writes: u64,
}

impl Surroundings {
    /// Sets up what `arm` needs to swap `size`; `No` if this machine cannot.
    pub(super) fn new(
        arm: Arm,
        size: Bytes,
        options: &Options,
        programs: &Programs,
        session: &Session,
        root: &Root,
    ) -> Result<Support<Self>> {
        if arm == Arm::NoSwap {
            if swap::devices(root)?.is_empty() {
                return Ok(Support::Yes(Self {
                    _service: None,
                    kind: Kind::Plain,
                    _storage: None,
                    _knobs: Vec::new(),
                    root: root.clone(),
                }));
            }
            return Ok(Support::no("this machine swaps: turn its swap areas off (swapoff -a)"));
        }
        let mut wanted = vec![
            ("/proc/sys/vm/page-cluster", options.readahead.to_string()),
            ("/proc/sys/vm/swappiness", options.swappiness.to_string()),
        ];
        // zswap would be in front of every arm.
        if root.read_if_there(ZSWAP)?.is_some_and(|on| on.trim() == "Y") {
            wanted.push((ZSWAP, "N".to_owned()));
        }
        let knobs = session.change_all(&wanted)?;
        let storage = if matches!(arm, Arm::Tier(..)) {
            None
        } else {
            match temporary_swap::make(session, &options.directory, size)? {
                Support::Yes(area) => Some(area),
                Support::No(reason) => return Ok(Support::No(reason)),
            }
        };
        let kind = match arm {
            Arm::Swap | Arm::NoSwap => Support::Yes((None, Kind::Plain)),
            Arm::Zram(memory) => zram(memory, session, root)?,
            Arm::Tier(memory, policy) => tier(memory, policy, size, options, programs, root)?,
            Arm::Tierd(memory, policy) => {
                tierd(memory, policy, size, options, programs, session, root)?
            }
        };
        Ok(kind.map(|(service, kind)| Self {
            _service: service,
            kind,
            _storage: storage,
            _knobs: knobs,
            root: root.clone(),
        }))
    }

    /// The traffic since the boot, or since the arm's own parts were set up.
    pub(super) fn traffic(&self) -> Result<Traffic> {
        let vmstat = VmStat::read(&self.root)?;
        let page_ins = vmstat.pswpin().unwrap_or_default();
        let page_outs = vmstat.pswpout().unwrap_or_default();
        let [fast_reads, fast_writes, reads, writes] = match &self.kind {
            Kind::Plain => [0, 0, page_ins, page_outs],
            Kind::Zram(device) => {
                let [reads, writes] = requests(&self.root, device.number())?;
                [reads, writes, page_ins.saturating_sub(reads), page_outs.saturating_sub(writes)]
            }
            Kind::Tier(slow) => {
                let all = status::of_all(&directory::of_all())?;
                let ours = all.into_iter().find(|tier| tier.slow == *slow);
                let counts = ours.map(|tier| tier.progress.pages).unwrap_or_default();
                [counts.fast_reads, counts.fast_writes, counts.slow_reads, counts.slow_writes]
            }
            Kind::Tierd(device, name) => {
                let [reads, writes] = requests(&self.root, device.number())?;
                let stats = writeback::zram::Zram::find(&self.root, Some(name))?.stats()?;
                let below_reads = page_ins.saturating_sub(reads) + stats.reads;
                let below_writes = page_outs.saturating_sub(writes) + stats.writes;
                [reads.saturating_sub(stats.reads), writes, below_reads, below_writes]
            }
        };
        Ok(Traffic { page_ins, page_outs, fast_reads, fast_writes, reads, writes })
    }

    /// The memory that zram takes now, if there is any.
    pub(super) fn memory_of_zram(&self) -> Result<Option<Bytes>> {
        let (Kind::Zram(device) | Kind::Tierd(device, _)) = &self.kind else { return Ok(None) };
        let name = format!("zram{}", device.number());
        let devices = unjank_host::machine::zram::devices(&self.root)?;
        Ok(devices.into_iter().find(|it| it.name == name).map(|it| it.memory))
    }
}

impl Traffic {
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            page_ins: self.page_ins.saturating_sub(earlier.page_ins),
            page_outs: self.page_outs.saturating_sub(earlier.page_outs),
            fast_reads: self.fast_reads.saturating_sub(earlier.fast_reads),
            fast_writes: self.fast_writes.saturating_sub(earlier.fast_writes),
            reads: self.reads.saturating_sub(earlier.reads),
            writes: self.writes.saturating_sub(earlier.writes),
        }
    }
}

/// Pages read from and written to a zram device: `Documentation/block/stat.rst`.
fn requests(root: &Root, number: u32) -> Result<[u64; 2]> {
    let path = format!("/sys/block/zram{number}/stat");
    let text = root.read(&path)?;
    let sectors = |at: usize| text.split_whitespace().nth(at)?.parse::<u64>().ok();
    let [read, written] = [sectors(2), sectors(6)].map(|sectors| sectors.map(|it| it * 512 / PAGE));
    match (read, written) {
        (Some(read), Some(written)) => Ok([read, written]),
        _ => Err(Error::parse(path, 1, "expected numbers of requests and sectors")),
    }
}

/// The first of these algorithms that the kernel has.
fn algorithm(root: &Root) -> Result<Support<String>> {
    Ok(zram_device::available_algorithms(root)?.map(|all| {
        let preferred =
            ["lz4", "lzo-rle", "lzo"].iter().find(|name| all.iter().any(|it| it == *name));
        preferred
            .map(|name| (*name).to_owned())
            .or_else(|| all.first().cloned())
            .unwrap_or_default()
    }))
}

fn zram(memory: Bytes, session: &Session, root: &Root) -> Result<Support<Part>> {
    Ok(match new_zram(Bytes(memory.get() * RATIO), None, session, root)? {
        Support::Yes(device) => {
            device.swap_on()?;
            Support::Yes((None, Kind::Zram(device)))
        }
        Support::No(reason) => Support::No(reason),
    })
}

fn new_zram(
    size: Bytes,
    backing: Option<&Path>,
    session: &Session,
    root: &Root,
) -> Result<Support<Zram>> {
    match algorithm(root)? {
        Support::Yes(name) => session.add_zram(&name, size, backing),
        Support::No(reason) => Ok(Support::No(reason)),
    }
}

fn tier(
    memory: Bytes,
    policy: TierPolicy,
    size: Bytes,
    options: &Options,
    programs: &Programs,
    root: &Root,
) -> Result<Support<Part>> {
    let directory = tempfile::Builder::new().prefix(".unjank-bench").tempdir_in(&options.directory);
    let directory = directory
        .map_err(|source| Error::file("make a directory in", &options.directory, source))?;
    let slow = directory.path().join("slow");
    let mut command = programs.tier.with_arguments(["up", "--slow"]);
    command.arg(&slow).args(["--fast-memory", &memory.get().to_string()]);
    command.args(["--size", &size.get().to_string(), "--policy", &policy.to_string()]);
    let before = swap::paths(root)?;
    let service = Service::start(&mut command, Some(directory))?;
    let is_on = || Ok(swap::paths(root)?.iter().any(|path| !before.contains(path)));
    service.once(is_on).map(|service| service.map(|it| (Some(it), Kind::Tier(slow))))
}

fn tierd(
    memory: Bytes,
    policy: TierPolicy,
    size: Bytes,
    options: &Options,
    programs: &Programs,
    session: &Session,
    root: &Root,
) -> Result<Support<Part>> {
    let backing = match ScratchFile::create(&options.directory).map_err(Error::of_named_file)? {
        Support::Yes(file) => file,
        Support::No(reason) => return Ok(Support::No(reason)),
    };
    let grown = backing.file().set_len(size.get());
    grown.map_err(|source| Error::file("make a file in", &options.directory, source))?;
    let backing = match LoopDevice::over(backing.file(), PAGE as u32)? {
        Support::Yes(device) => device,
        Support::No(reason) => return Ok(Support::No(reason)),
    };
    // Slots for what is in memory, and for all that is written back: these keep their slots.
    let held = Bytes(memory.get() * RATIO);
    let slots = Bytes(held.get() + size.get());
    let device = match new_zram(slots, Some(backing.path()), session, root) {
        Ok(Support::Yes(device)) => device,
        Ok(Support::No(reason)) => return Ok(Support::No(reason)),
        Err(error) => {
            let why = format!("zram cannot write back (CONFIG_ZRAM_WRITEBACK): {error}");
            return Ok(Support::No(why));
        }
    };
    device.swap_on()?;
    let name = format!("zram{}", device.number());
    let directory =
        tempfile::tempdir().map_err(|e| Error::file("make", std::env::temp_dir(), e))?;
    let socket = directory.path().join("tierd.sock");
    let mut command = programs.tierd.with_arguments(["--no-store", "--zram", &name, "--socket"]);
    command.arg(&socket).args(["--policy", &policy.to_string()]);
    let held = held.get().to_string();
    command.args(["--after", AFTER, "--room", &held, "--per-day", "1TiB"]);
    let service = Service::start(&mut command, Some(directory))?;
    let listens = || Ok(socket.exists());
    service.once(listens).map(|service| service.map(|it| (Some(it), Kind::Tierd(device, name))))
}

impl Service {
    /// Starts it. The kernel asks it to end when this thread ends.
    fn start(
        command: &mut std::process::Command,
        directory: Option<tempfile::TempDir>,
    ) -> Result<Self> {
        let failed = |source| Error::file("make a file in", std::env::temp_dir(), source);
        let said = tempfile::tempfile().map_err(failed)?;
        let errors = said.try_clone().map_err(failed)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let helper = Helper::start_asked_to_end(command)?;
        Ok(Self { helper, said, _directory: directory })
    }

    /// Waits until `is_up`; `No` with its message if it ends before.
    fn once(mut self, is_up: impl Fn() -> Result<bool>) -> Result<Support<Self>> {
        let began = Instant::now();
        while !is_up()? {
            if self.helper.ended().is_some() || began.elapsed() > PATIENCE {
                let mut said = String::new();
                let _what_there_is =
                    self.said.rewind().and_then(|()| self.said.read_to_string(&mut said));
                let last = said.lines().last().unwrap_or("it did not begin");
                return Ok(Support::No(last.strip_prefix("error: ").unwrap_or(last).to_owned()));
            }
            thread::sleep(LOOK);
        }
        Ok(Support::Yes(self))
    }
}

impl Drop for Service {
    /// Asks it to end, and waits until it has brought all pages back.
    fn drop(&mut self) {
        let _ended_before = send_signal(self.helper.id(), Signal::TERM.as_raw());
        let began = Instant::now();
        while self.helper.ended().is_none() && began.elapsed() < PATIENCE {
            thread::sleep(LOOK);
        }
    }
}
