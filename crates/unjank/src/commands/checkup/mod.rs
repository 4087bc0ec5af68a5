//! `unjank checkup`: measures and judges all five delays on this machine.

mod budget;
mod deadline;
mod delay;
mod launch;
mod probe;
mod surroundings;

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::memory::MemoryLock;
use unjank_host::sched::NiceGuard;
use unjank_host::{Root, Timestamp};
use unjank_launch::bench::Ready;
use unjank_measure::monitor::Part;
use unjank_measure::{Answer, Findings, Load, Monitor, Verdict, pool};

use super::measured::{self, Outcome, OutputArgs, Settings};
use super::repeated;
use crate::{began, exit};
use budget::Budget;
use deadline::Deadline;
use delay::Delay;
use launch::{CommandLine, LaunchResults};
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
row then shows how many milliseconds of the launch the delay cost, beside what the
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
    /// Also launch this command, and show what each delay cost it
    #[arg(long, value_name = "COMMAND")]
    launch: Option<CommandLine>,
    /// When its launch is over: exit, stdout:REGEX, notify, port:N or window
    #[arg(long, value_name = "WAY", default_value = "exit", value_parser = Ready::of_process, requires = "launch")]
    ready: Ready,
    #[command(flatten)]
    output: OutputArgs,
}

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
    let may_be_first = NiceGuard::new(HIGHEST_NICE).is_ok();
    let deadline = Deadline::new(began::at(), budget.limit(), may_be_first);
    command.run_by(deadline.end(), |root, machine, seed, monitor| {
        // First of all, so that the probes are not yet in its way.
        let launch = |command| {
            let time = (&budget, &deadline);
            LaunchResults::of(command, &args.ready, time, &args.output, root, monitor)
        };
        let shown = args.launch.as_ref().map(launch).transpose()?;
        let watch = Watch::start(root);
        // Keeps the deadline when memory is short: the pages of this process stay.
        let locked = MemoryLock::everything();
        let probes = delays
            .iter()
            .map(|&delay| Ok((delay, Probe::new(delay, &budget, machine, root, seed)?)))
            .collect::<Result<Vec<_>>>()?;
        let mut run = Run { root, seed, monitor, deadline, probes, watch, late: 0 };
        let starts = run.measure();
        // The steps below are short, and must not wait for programs that compute.
        let first = NiceGuard::new(HIGHEST_NICE).ok();
        let mut findings = run.findings(starts);
        if let Some(shown) = shown {
            shown.add_to(&mut findings);
        }
        Ok(Outcome::from(findings).holding((locked, first)))
    })
}

/// The nice value with which a run is evaluated and printed, if that is allowed.
const HIGHEST_NICE: i32 = -20;

/// Why a delay has no number if its starts were left out or killed.
const TOO_SLOW: &str = "the machine was too slow to measure it within the time limit; `unjank checkup --full` has more";

/// A run of the probes.
struct Run<'a> {
    root: &'a Root,
    seed: u64,
    monitor: &'a dyn Monitor,
    deadline: Deadline,
    probes: Vec<(Delay, Probe<'a>)>,
    watch: Watch<'a>,
    /// Starts that were left out to keep the deadline.
    late: usize,
}

impl Run<'_> {
    /// Starts all probes in shuffled order, and again those that were disturbed
    /// from outside. Returns the number of starts that were planned.
    fn measure(&mut self) -> usize {
        let counts: Vec<(Delay, u32)> =
            self.probes.iter().map(|(delay, probe)| (*delay, probe.starts())).collect();
        let order = pool::order(&counts, Delay::name, self.seed);
        let all = order.len() as f64;
        for (place, &delay) in order.iter().enumerate() {
            if self.monitor.stop_requested() {
                return order.len();
            }
            let planned = place as f64 / all;
            if self.has_more_than_others(delay) && self.deadline.is_behind(planned, self.root) {
                self.late += 1;
                continue;
            }
            let part = Part::new(self.monitor, delay.name(), planned, 1.0 / all);
            repeated::pause(self.seed, place as u32, self.monitor);
            self.late += usize::from(!self.start(delay, None, &part));
        }
        for delay in counts.into_iter().map(|(delay, _)| delay) {
            let probe = self.probes.iter().find(|(other, _)| *other == delay);
            for number in probe.map_or_else(Vec::new, |(_, probe)| probe.disturbed()) {
                let part = Part::new(self.monitor, delay.name(), 1.0, 0.0);
                if self.monitor.stop_requested() || !self.start(delay, Some(number), &part) {
                    break;
                }
            }
        }
        order.len()
    }

    /// Whether this probe was started more often than another one. On a slow machine
    /// its starts are the first that are left out, so that each probe keeps some.
    fn has_more_than_others(&self, delay: Delay) -> bool {
        let begun = |(_, probe): &(Delay, Probe<'_>)| probe.begun();
        let own = self.probes.iter().find(|(other, _)| *other == delay).map_or(0, begun);
        self.probes.iter().any(|other| begun(other) < own)
    }

    /// Starts one probe, or repeats its start of this number, unless it would not end
    /// in time.
    fn start(&mut self, delay: Delay, again: Option<u32>, part: &dyn Monitor) -> bool {
        let end = self.deadline.of_measuring(self.root);
        let probe = self.probes.iter_mut().find(|(other, _)| *other == delay);
        let Some((_, probe)) = probe else { return true };
        if Timestamp::now() + probe.length() > end {
            return false;
        }
        match again {
            None => probe.start(end, part),
            Some(number) => probe.start_again(number, end, part),
        }
        self.watch.part_ended(delay);
        true
    }

    /// The findings of all probes, of which `starts` were planned.
    fn findings(self, starts: usize) -> Findings {
        let mut findings = Findings::default();
        if self.late > 0 {
            findings.warn(format!(
                "the machine was too slow: {} of {starts} starts were left out to keep the time \
                 limit",
                self.late
            ));
        }
        // Without it, the row leads to more details.
        let remedy = unjank_swap::explain::fitting(self.root).ok();
        for (delay, probe) in self.probes {
            let was_cut_short = self.late > 0 || probe.timed_out() > 0;
            match probe.findings() {
                Ok(mut found) => {
                    let mut verdict = verdict(delay, &found, remedy);
                    if verdict.measured.is_none() && found.unsupported.is_empty() && was_cut_short {
                        TOO_SLOW.clone_into(&mut verdict.reason);
                    }
                    found.verdicts.push(verdict);
                    findings.merge(found);
                }
                Err(error) => findings.verdicts.push(not_available(delay, exit::sentence(&error))),
            }
        }
        let load = self.watch.load(&mut findings);
        let rows = std::mem::take(&mut findings.verdicts).into_iter();
        findings.verdicts = rows.map(|row| beside_load(row, &load, remedy)).collect();
        findings.facts.extend(load.facts());
        findings
    }
}

/// The answer of one delay; `remedy` is that of swap on this machine.
fn verdict(delay: Delay, findings: &Findings, remedy: Option<&str>) -> Verdict {
    match delay {
        Delay::Launch => unjank_launch::explain::verdict(findings),
        Delay::Swap => unjank_swap::explain::verdict(findings, remedy),
        Delay::Jitter => unjank_jitter::explain::verdict(findings),
        Delay::Lock => unjank_lock::explain::verdict(findings),
        Delay::Ipc => unjank_ipc::explain::verdict(findings, unjank_ipc::explain::NEXT_COMMAND),
    }
}

/// The answer of one delay beside the load on the machine.
fn beside_load(verdict: Verdict, load: &Load, remedy: Option<&str>) -> Verdict {
    match Delay::named(&verdict.subject) {
        Some(Delay::Launch) => unjank_launch::explain::beside_load(verdict, load),
        Some(Delay::Swap) => unjank_swap::explain::beside_load(verdict, load, remedy),
        Some(Delay::Jitter) => unjank_jitter::explain::beside_load(verdict, load),
        Some(Delay::Lock) => unjank_lock::explain::beside_load(verdict, load),
        Some(Delay::Ipc) => unjank_ipc::explain::beside_load(verdict, load),
        None => verdict,
    }
}

/// The row of a delay that could not be measured.
fn not_available(delay: Delay, reason: String) -> Verdict {
    let question = format!("Is {} healthy?", delay.name());
    Verdict::new(delay.name(), question, Answer::NotAvailable, reason)
}
