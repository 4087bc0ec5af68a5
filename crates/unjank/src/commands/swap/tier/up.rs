//! `unjank swap tier up`: swaps to a tier.

use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use sd_notify::NotifyState;
use unjank_cachesim::tier::TierPolicy;
use unjank_host::swap_switch::HIGHEST;
use unjank_host::{Bytes, Support};
use unjank_swap::remedy::policy::Identity;
use unjank_swap::remedy::tier::directory::of_all;
use unjank_swap::remedy::tier::event::Event;
use unjank_swap::remedy::tier::leftovers::{self, Leftover};
use unjank_swap::remedy::tier::plan::{Fast, Plan};
use unjank_swap::remedy::tier::reserve;
use unjank_swap::remedy::tier::supervisor::Supervisor;

use super::helper::{helpers, tell};
use crate::{exit, interrupt, output, values};

/// Arguments of `unjank swap tier up`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank swap tier up --fast-memory 256MiB --slow /var/swap/slow --size 4GiB
  sudo unjank swap tier up --fast /dev/pmem0 --slow /dev/nvme0n1p3
  sudo unjank swap tier up --fast-memory 64MiB --slow /dev/sdb2 --policy always/lru --verify

The kernel swaps to a ublk device (Linux 6.4 and newer). Pages that the policy
keeps lie on the fast backing, all others on the slow one. Ctrl-C, SIGTERM and
`unjank swap tier down` bring all pages back into memory first, and wait until
there is room for them. If the server is killed, another one takes over; if all
of unjank is killed, `unjank restore` takes the tier down.

An existing file or a device must be blank, or its last tier taken down, unless
--format overwrites it. Exit codes: 3 the kernel has no ublk, 4 not permitted.
docs/reference/swap/tier.md has the details.")]
pub(crate) struct Args {
    /// Memory of this machine as the fast backing
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    fast_memory: Option<Bytes>,
    /// A file or block device as the fast backing: persistent memory, fast flash
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with = "fast_memory",
        required_unless_present = "fast_memory"
    )]
    fast: Option<PathBuf>,
    /// A file or block device for all other pages
    #[arg(long, value_name = "PATH")]
    slow: PathBuf,
    /// Make the slow backing, a file of this size, and remove it at the end
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    size: Option<Bytes>,
    /// Overwrite the backings, whatever they hold
    #[arg(long)]
    format: bool,
    /// Which pages the tier keeps, by a name of `swap simulate --policy`
    #[arg(long, value_name = "POLICY", default_value = "paper")]
    policy: TierPolicy,
    /// How the policy identifies a page
    #[arg(long, value_enum, value_name = "IDENTITY", default_value_t = Is::Slot)]
    identity: Is,
    /// Give each page a checksum, and compare it when the page comes back
    #[arg(long)]
    verify: bool,
    /// Queues of the device, each served by a thread
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=64)
    )]
    queues: u16,
    /// Priority of the swap area; the kernel fills higher ones first
    #[arg(
        long,
        value_name = "N",
        default_value_t = HIGHEST,
        value_parser = clap::value_parser!(u16).range(0..=i64::from(HIGHEST))
    )]
    area_priority: u16,
}

/// How the policy identifies a page.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Is {
    /// By the slot that holds it
    Slot,
    /// By its process and address (Linux 6.7 and newer)
    Page,
}

impl From<Is> for Identity {
    fn from(is: Is) -> Self {
        match is {
            Is::Slot => Self::Slot,
            Is::Page => Self::Page,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let fast = match (&args.fast, args.fast_memory) {
        (Some(path), _) => Fast::Path(path.clone()),
        (None, size) => Fast::Memory(size.unwrap_or_default()),
    };
    let plan = Plan {
        fast,
        slow: args.slow.clone(),
        size: args.size,
        formats: args.format,
        policy: args.policy,
        identity: args.identity.into(),
        verify: args.verify,
        queues: args.queues,
        priority: args.area_priority,
    };
    let (all, helpers) = (of_all(), helpers());
    for Leftover { name, outcome } in leftovers::take_down(&all, &helpers)? {
        output::remark(&format!("the swap tier {name} of a killed unjank {outcome}"));
    }
    let settings = plan.settings()?;
    if let Support::No(reason) = reserve::is_possible()? {
        output::remark(&format!(
            "the machine may hang when all memory is in use, as the tier's threads cannot be \
             real-time: {reason}"
        ));
    }
    let signals = interrupt::stream().context("while listening for signals")?;
    Supervisor::run(&all, &settings, (&helpers, &say), signals.as_fd())?;
    Ok(ExitCode::from(exit::FINE))
}

fn say(event: &Event) {
    tell(event);
    if let Event::Up(_) = event {
        let _not_a_service_of_systemd = sd_notify::notify(&[NotifyState::Ready]);
    }
}
