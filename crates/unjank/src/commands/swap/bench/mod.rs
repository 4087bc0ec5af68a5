//! `unjank swap bench`: the experiment of Bahn & Kim with real memory.

pub(crate) mod app;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use unjank_cachesim::tier::TierPolicy;
use unjank_host::process::HelperCommand;
use unjank_host::{Bytes, Error, Nanos};
use unjank_measure::{Findings, Monitor};
use unjank_swap::bench::{self, Arm, Options, Programs};
use unjank_swap::simulate::load::{Load, Meaning, load};
use unjank_swap::simulate::{Launching, pages};
use unjank_swap::synth::{Preset, Synth};
use unjank_swap::trace::PAGE;

use super::input::SEED;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::session;
use crate::{paths, values};

/// Arguments of `unjank swap bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank swap bench                                    # nine games, five rounds
  sudo unjank swap bench --scale 0.25 --runs 6 --html bench.html
  sudo unjank swap bench --arm swap,tier:64MiB,tier:64MiB:refault,tier:256MiB
  sudo unjank swap bench --preset many-games --memory 1600MiB --arm no-swap,swap

Each app of a synthetic phone is a process that touches its pages, as often and in
the order that the phone's trace says, with all of them in one control group with
limited memory. The same trace goes through the model of unjank swap simulate.
Every page of an app has a mark, which is compared when the page is read.

An arm is one of
  swap        swap on the storage of --directory
  no-swap     the app that was launched longest ago is killed
  zram:SIZE   zram, in SIZE of the memory, over swap
  tier:SIZE   unjank swap tier, with SIZE as its fast memory (needs ublk)
  tierd:SIZE  zram, in SIZE of the memory, with unjank swap tierd
The last two can have a policy of unjank swap simulate (default: paper):
tier:64MiB:refault; tierd:64MiB:none writes the oldest pages back.

Exit codes: 3 not possible on this machine, 4 not permitted (this needs root).
docs/reference/swap/bench.md has the details.")]
pub(crate) struct Args {
    /// A synthetic phone: see unjank swap synth
    #[arg(long, value_name = "NAME", default_value = "games", value_parser = Preset::named)]
    preset: &'static Preset,
    /// The share of all its pages, in memory and of apps
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = values::share_of_whole)]
    scale: f64,
    /// What is compared [default: no-swap,swap,zram:SIZE,tier:SIZE with sizes for the memory]
    #[arg(long, value_name = "ARM,…", value_delimiter = ',')]
    arm: Vec<Arm>,
    /// How often each arm is run, in turns
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Memory of all apps together [default: the preset's]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    memory: Option<Bytes>,
    /// What each living app pins, so that it cannot be evicted (graphics) [default: the preset's]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    pinned: Option<Bytes>,
    /// Without swap: apps are killed if less than this is left for files [default: the preset's]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    minfree: Option<Bytes>,
    /// Take the fast memory of a tier from that of the apps; otherwise it is added, as the paper's is
    #[arg(long)]
    tier_from_memory: bool,
    /// Pages read together: 2 to the power of N, as vm.page-cluster, which is set so
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=5))]
    readahead: u32,
    /// vm.swappiness, which is set so; 100 weighs pages of apps and of files alike, as the model does
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=200))]
    swappiness: u32,
    /// A directory on the storage for swap and files [default: the user's cache, else /var/tmp]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let preset = args.preset.scaled(args.scale);
    let of_preset = |pages: u32| Bytes(u64::from(pages) * PAGE);
    let memory = args.memory.unwrap_or_else(|| preset.phone.memory());
    let arms = if args.arm.is_empty() { usual(memory) } else { args.arm.clone() };
    if let Some(twice) = arms.iter().enumerate().find(|(at, arm)| arms[..*at].contains(arm)) {
        bail!(Error::Invalid(format!("{} is there twice", twice.1)));
    }
    let options = Options {
        arms,
        runs: args.runs,
        memory,
        pinned: args.pinned.unwrap_or_else(|| of_preset(preset.phone.pinned)),
        minfree: args.minfree.unwrap_or_else(|| of_preset(preset.phone.minfree)),
        tier_from_memory: args.tier_from_memory,
        readahead: args.readahead,
        swappiness: args.swappiness,
        directory: args.directory.clone().unwrap_or_else(paths::scratch),
    };
    let seed = args.output.seed.unwrap_or(SEED);
    let arms: Vec<String> = options.arms.iter().map(ToString::to_string).collect();
    let settings = Settings::default()
        .with("preset", preset.name)
        .with("scale", args.scale)
        .with("arm", arms)
        .with("runs", options.runs)
        .with("memory", options.memory.get())
        .with("pinned", options.pinned.get())
        .with("minfree", options.minfree.get())
        .with("tier_from_memory", options.tier_from_memory)
        .with("readahead", options.readahead)
        .with("swappiness", options.swappiness)
        .with("directory", options.directory.display().to_string())
        .with("phone_seed", seed);
    let command = measured::Command { name: "swap bench", output: &args.output, settings };
    command.run(|root, _, monitor| {
        let Some(workload) = workload(preset, seed, monitor)? else {
            return Ok(Findings::default());
        };
        if pages(options.memory) == 0 {
            bail!(Error::Invalid("there is no memory for a page".to_owned()));
        }
        let session = session::open(root, None)?;
        let measured = bench::run(&workload, &options, &programs(), &session, root, monitor);
        let (experiment, changes) = session::end(Some(session), measured)?;
        let mut findings = experiment.findings();
        session::note(changes, &mut findings);
        Ok(findings)
    })
}

/// The accesses of a phone; `None` if the user interrupted their making.
pub(crate) fn workload(
    preset: Preset,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Option<unjank_cachesim::workload::Workload>> {
    // Longer than any launch of a synthetic phone.
    let launching = Launching { lasts: Nanos::from_millis(10_000), all: false };
    let mut synth = Synth::new(preset, seed);
    Ok(match load(&mut synth, Meaning::Programs, launching, monitor)? {
        Some(Load::Programs(workload)) => Some(workload),
        Some(Load::Paging(_)) | None => None,
    })
}

/// Arms for so much memory: the paper's tier has 256 MiB on a phone that leaves 619 MiB to apps.
fn usual(memory: Bytes) -> Vec<Arm> {
    let part = |of: u64, whole: u64| {
        let mib = (memory.get() * of / whole) >> 20;
        Bytes(mib.max(1) << 20)
    };
    vec![
        Arm::NoSwap,
        Arm::Swap,
        Arm::Zram(part(1, 8)),
        Arm::Tier(part(256, 619), TierPolicy::PAPER),
    ]
}

/// The programs of this binary that the bench starts.
pub(crate) fn programs() -> Programs {
    Programs {
        app: HelperCommand::this_program(["swap", "bench-app"]),
        tier: HelperCommand::this_program(["swap", "tier"]),
        tierd: HelperCommand::this_program(["swap", "tierd"]),
    }
}
