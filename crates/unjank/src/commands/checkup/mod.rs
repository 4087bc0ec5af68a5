//! `unjank checkup`: the main job. All five delays, measured on this machine.

mod budget;
mod part;
mod surroundings;
mod weigh;

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::sched::CpuSet;
use unjank_host::{Machine, Root};
use unjank_measure::{Answer, Findings, Monitor, Verdict};
use unjank_report::Detail;

use super::ipc::peer;
use super::measured::{self, OutputArgs, Settings};
use crate::{exit, paths};
use budget::Budget;
use part::Part;
use surroundings::Watch;

/// Arguments of `unjank checkup`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank checkup
  sudo unjank checkup --html checkup.html
  unjank checkup --quick --only jitter,ipc
  unjank checkup --json | jq '.verdicts[] | {subject, answer}'

Nothing on the machine is changed. Without root, what needs a privilege is left
out and said to be. Ctrl-C prints what is known so far.")]
pub(crate) struct Args {
    /// At most 15 seconds, with wider intervals
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// About five minutes, with narrower intervals [default: at most one minute]
    #[arg(long)]
    full: bool,
    /// Print all tables, not the answers alone
    #[arg(long)]
    tables: bool,
    /// Only these delays
    #[arg(long, value_enum, value_delimiter = ',', value_name = "DELAY,…")]
    only: Vec<Delay>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The five delays, in the order in which a touch meets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Delay {
    /// The CPU is still slow when an app starts
    Launch,
    /// What the app needs was swapped out
    Swap,
    /// The thread is woken late
    Jitter,
    /// The thread waits for a lock
    Lock,
    /// The answer comes from another process
    Ipc,
}

impl Delay {
    const ALL: [Self; 5] = [Self::Launch, Self::Swap, Self::Jitter, Self::Lock, Self::Ipc];

    fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Swap => "swap",
            Self::Jitter => "jitter",
            Self::Lock => "lock",
            Self::Ipc => "ipc",
        }
    }
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let budget = match (args.quick, args.full) {
        (true, _) => Budget::quick(),
        (_, true) => Budget::full(),
        _ => Budget::usual(),
    };
    let delays: Vec<Delay> = if args.only.is_empty() {
        Delay::ALL.into()
    } else {
        Delay::ALL.into_iter().filter(|delay| args.only.contains(delay)).collect()
    };
    let settings = Settings::default()
        .with("budget", budget.name())
        .with("only", delays.iter().map(|delay| delay.name()).collect::<Vec<_>>());
    let command = measured::Command {
        name: "checkup",
        output: &args.output,
        settings,
        detail: if args.tables { Detail::Everything } else { Detail::Answers },
    };
    command.run(|root, seed, monitor| {
        let mut findings = Findings::default();
        let mut watch = Watch::start(root);
        let mut before = 0.0;
        let all: f64 = delays.iter().map(|&delay| budget.of(delay).as_secs_f64()).sum();
        for &delay in &delays {
            if monitor.stop_requested() {
                findings.verdicts.push(not_available(delay, "interrupted".to_owned()));
                continue;
            }
            let share = budget.of(delay).as_secs_f64() / all;
            let part = Part::new(monitor, delay.name(), before, share);
            before += share;
            match probe(delay, &budget, root, seed, &part) {
                Ok(found) => findings.merge(found),
                Err(error) => findings.verdicts.push(not_available(delay, exit::sentence(&error))),
            }
            watch.part_ended(delay);
        }
        watch.weigh(&mut findings);
        Ok(findings)
    })
}

/// Runs one probe for its share of the time.
fn probe(
    delay: Delay,
    budget: &Budget,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    let time = budget.of(delay);
    let allowed = CpuSet::allowed()?;
    let mut findings;
    let verdict = match delay {
        Delay::Launch => {
            let cpus = budget::representatives(&Machine::read(root), &allowed);
            let options = unjank_launch::Options::usual(cpus.clone(), 1);
            let launches = budget.launches(options.gap + options.run, cpus.len());
            let options = unjank_launch::Options { launches, ..options };
            findings = unjank_launch::run(&options, root, monitor)?;
            unjank_launch::explain::verdict(&findings)
        }
        Delay::Swap => {
            let options = unjank_swap::Options::usual(time, paths::scratch());
            findings = unjank_swap::run(&options, root, seed, monitor)?;
            unjank_swap::explain::verdict(&findings)
        }
        Delay::Jitter => {
            let usual = unjank_jitter::Options::usual(allowed, budget.per_scheduling());
            let options = unjank_jitter::Options { cause: true, ..usual };
            findings = unjank_jitter::run(&options, root, monitor)?;
            unjank_jitter::explain::verdict(&findings)
        }
        Delay::Lock => {
            let options = unjank_lock::Options { cpus: None, duration: time };
            findings = unjank_lock::run(&options, monitor)?;
            unjank_lock::explain::verdict(&findings)
        }
        Delay::Ipc => {
            let options = unjank_ipc::Options::usual(time);
            findings = unjank_ipc::run(&options, &peer::command(), monitor)?;
            unjank_ipc::explain::verdict(&findings, unjank_ipc::explain::CLOSER)
        }
    };
    findings.verdicts.push(verdict);
    Ok(findings)
}

/// The row of a delay that could not be measured.
fn not_available(delay: Delay, reason: String) -> Verdict {
    Verdict {
        question: format!("Does {} hurt?", delay.name()),
        subject: delay.name().to_owned(),
        answer: Answer::NotAvailable,
        measured: None,
        healthy: None,
        effect: None,
        minimum_effect: None,
        reason,
        next: None,
    }
}
