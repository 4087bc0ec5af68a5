//! `unjank checkup`: measures and judges all five delays on this machine.

mod adjust;
mod budget;
mod delay;
mod launch;
mod probe;
mod surroundings;

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Timestamp;
use unjank_host::memory::MemoryLock;
use unjank_launch::bench::Ready;
use unjank_measure::{Answer, Findings, Monitor, Verdict};

use super::measured::{self, OutputArgs, Settings};
use super::repeated::{self, Part};
use crate::exit;
use budget::Budget;
use delay::Delay;
use launch::{CommandLine, Shown};
use probe::Probe;
use surroundings::Watch;

/// Arguments of `unjank checkup`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank checkup
  sudo unjank checkup --html checkup.html
  unjank checkup --quick --only jitter,ipc
  sudo unjank checkup --launch 'git status'
  unjank checkup --json | jq '.verdicts[] | {subject, answer}'

Nothing on the machine is changed. Without root, measurements that need a
privilege are left out and listed. Ctrl-C prints what is known so far.

With --launch, a command is launched and recorded first, as `unjank why` does. Each
row then says how many milliseconds of its launch the delay cost, beside what the
machine can do. That needs root.")]
pub(crate) struct Args {
    /// At most 15 seconds, with wider intervals
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// About five minutes, with narrower intervals [default: at most one minute]
    #[arg(long)]
    full: bool,
    /// Print all series, facts and curves, not the answers alone
    #[arg(long)]
    all: bool,
    /// Only these delays
    #[arg(long, value_enum, value_delimiter = ',', value_name = "DELAY,…")]
    only: Vec<Delay>,
    /// Also launch this command, and say what each delay cost it
    #[arg(long, value_name = "COMMAND")]
    launch: Option<CommandLine>,
    /// When its launch is over: exit, stdout:REGEX, notify, port:N or window
    #[arg(long, value_name = "WAY", default_value = "exit", requires = "launch")]
    ready: Ready,
    #[command(flatten)]
    output: OutputArgs,
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let budget = match (args.quick, args.full) {
        (true, _) => Budget::quick(),
        (_, true) => Budget::full(),
        _ => Budget::usual(),
    };
    let budget = if measured::is_emulated() { budget.emulated() } else { budget };
    let budget = if args.launch.is_some() { budget.with_program() } else { budget };
    let delays: Vec<Delay> = if args.only.is_empty() {
        Delay::ALL.into()
    } else {
        Delay::ALL.into_iter().filter(|delay| args.only.contains(delay)).collect()
    };
    let settings = Settings::default()
        .with("budget", budget.name())
        .with("only", delays.iter().map(|delay| delay.name()).collect::<Vec<_>>())
        .with("all", args.all);
    let settings = match &args.launch {
        Some(CommandLine(words)) => {
            let words: Vec<String> = words.iter().map(|word| word.display().to_string()).collect();
            settings.with("launch", words).with("ready", args.ready.to_string())
        }
        None => settings,
    };
    let command = measured::Command { name: "checkup", output: &args.output, settings };
    command.run(|root, seed, monitor| {
        let deadline = Timestamp::now() + budget.limit();
        // First of all, so that the probes are not yet in its way.
        let stored = !args.output.no_store;
        let shown = args
            .launch
            .as_ref()
            .map(|command| Shown::of(command, &args.ready, &budget, stored, root, monitor));
        let shown = shown.transpose()?;
        let mut watch = Watch::start(root);
        // Keeps the deadline when memory is short: the pages of this process stay.
        let _locked = MemoryLock::everything();
        let mut probes = delays
            .iter()
            .map(|&delay| Ok((delay, Probe::new(delay, &budget, root, seed)?)))
            .collect::<Result<Vec<_>>>()?;
        let counts: Vec<(Delay, u32)> =
            probes.iter().map(|(delay, probe)| (*delay, probe.starts())).collect();
        let order = budget::order(&counts, seed);
        let mut late = 0;
        for (place, &delay) in order.iter().enumerate() {
            if monitor.stop_requested() {
                break;
            }
            let Some((_, probe)) = probes.iter_mut().find(|(other, _)| *other == delay) else {
                continue;
            };
            let all = order.len() as f64;
            let part = Part::new(monitor, delay.name(), place as f64 / all, 1.0 / all);
            repeated::pause(seed, place as u32, monitor);
            if Timestamp::now() + probe.length() > deadline {
                late += 1;
                continue;
            }
            probe.start(deadline, &part);
            watch.part_ended(delay);
        }
        again(&mut probes, deadline, monitor);
        let mut findings = Findings::default();
        if late > 0 {
            findings.warn(format!(
                "the machine was too slow: {late} of {} starts were left out to keep the time \
                 limit",
                order.len()
            ));
        }
        for (delay, probe) in probes {
            match probe.findings(root) {
                Ok(mut found) => {
                    found.verdicts.push(verdict(delay, &found));
                    findings.merge(found);
                }
                Err(error) => findings.verdicts.push(not_available(delay, exit::sentence(&error))),
            }
        }
        watch.adjust(&mut findings);
        if let Some(shown) = shown {
            shown.add_to(&mut findings);
        }
        Ok(findings)
    })
}

/// Repeats starts that were disturbed from outside, while there is time.
fn again(probes: &mut [(Delay, Probe<'_>)], deadline: Timestamp, monitor: &dyn Monitor) {
    for (delay, probe) in probes {
        for _ in 0..probe.disturbed() {
            if monitor.stop_requested() || Timestamp::now() + probe.length() > deadline {
                return;
            }
            let part = Part::new(monitor, delay.name(), 1.0, 0.0);
            probe.start(deadline, &part);
        }
    }
}

/// The answer of one delay.
fn verdict(delay: Delay, findings: &Findings) -> Verdict {
    match delay {
        Delay::Launch => unjank_launch::explain::verdict(findings),
        Delay::Swap => unjank_swap::explain::verdict(findings),
        Delay::Jitter => unjank_jitter::explain::verdict(findings),
        Delay::Lock => unjank_lock::explain::verdict(findings),
        Delay::Ipc => unjank_ipc::explain::verdict(findings, unjank_ipc::explain::NEXT_COMMAND),
    }
}

/// The row of a delay that could not be measured.
fn not_available(delay: Delay, reason: String) -> Verdict {
    Verdict {
        question: format!("Is {} healthy?", delay.name()),
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
