//! `unjank reproduce binder`: AOSP's binder performance tests.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::sched::{CpuSet, HIGHEST_UNFORCED, Priority};
use unjank_host::{Bytes, Nanos, Root, Support};
use unjank_ipc::latency::{self, Caller};
use unjank_ipc::throughput;
use unjank_ipc::{Placement, Transport, paper};
use unjank_measure::monitor::Part;
use unjank_measure::{Findings, Monitor};

use super::paper::{Paper, means};
use super::phone::{Parts, Phone, PhoneArgs};
use crate::commands::ipc::{caller, peer};
use crate::commands::measured::{self, OutputArgs, Settings};

pub(super) const PAPER: Paper = Paper { name: "binder", authors: "AOSP's binder tests" };

/// The pairs of the page's example.
const PAIRS: usize = 3;
/// The page's deadline.
const DEADLINE: Nanos = Nanos::from_micros(2_500);

/// Arguments of `unjank reproduce binder`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank reproduce binder                # here, or in the virtual phone
  sudo unjank reproduce binder --quick
  sudo unjank reproduce binder --count 20000 --html binder.html

Calls over hwbinder, or else over binder: back to back with payloads from 4 B to 64 KiB, and
at real-time and ordinary priority with a deadline of 2.5 ms. The page's times are those of
another device, so they are shown and not judged. unjank schd-dbg and unjank ipc throughput
print the formats of AOSP's tools.")]
pub(crate) struct Args {
    /// Calls at each policy [default: 5000]
    #[arg(long = "count", short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    calls: Option<u64>,
    /// 500 calls at each policy, and 3 s of throughput
    #[arg(long, conflicts_with = "calls")]
    quick: bool,
    #[command(flatten)]
    phone: PhoneArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    fn calls(&self) -> u64 {
        self.calls.unwrap_or(if self.quick { 500 } else { 5_000 })
    }

    /// The same run in the virtual phone.
    fn words(&self, seed: u64) -> Vec<String> {
        let mut words = vec![PAPER.name.to_owned(), format!("--seed={seed}")];
        words.extend(self.quick.then(|| "--quick".to_owned()));
        words.extend(self.calls.map(|calls| format!("--count={calls}")));
        words
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let settings = Settings::default().with("count", args.calls()).with("deadline", DEADLINE.get());
    let command = measured::Command { name: "reproduce binder", output: &args.output, settings };
    command.run(|root, seed, monitor| measure(args, root, seed, monitor))
}

/// The claims beside calls over this machine's binder, or the virtual phone's.
pub(super) fn measure(
    args: &Args,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    let reason = match transport()? {
        Support::Yes(transport) => return here(args, transport, root, monitor),
        Support::No(reason) => reason,
    };
    let phone = Phone { words: args.words(seed), parts: Parts::default(), reason: &reason };
    let reason = match phone.instead(args.phone, &args.output, monitor) {
        Ok(findings) => return Ok(findings),
        Err(reason) => reason,
    };
    let mut findings = Findings::default();
    let nothing = paper::Measured {
        transport: Transport::Hwbinder,
        throughput: &[],
        latency: None,
        findings: &Findings::default(),
        means: means(),
    };
    PAPER.conclude(&paper::claims(&nothing, &reason), &mut findings);
    findings.not_supported("ipc/binder", reason);
    Ok(findings)
}

/// The binder of this machine that the page's outputs come from, or else the other.
fn transport() -> Result<Support<Transport>> {
    match Transport::Hwbinder.support()? {
        Support::Yes(()) => Ok(Support::Yes(Transport::Hwbinder)),
        Support::No(_) => Ok(Transport::Binder.support()?.map(|()| Transport::Binder)),
    }
}

fn here(args: &Args, transport: Transport, root: &Root, monitor: &dyn Monitor) -> Result<Findings> {
    let (milliseconds, rounds) = if args.quick { (3_000, 6) } else { (20_000, 12) };
    let options = throughput::Options {
        transports: vec![transport],
        smallest: Bytes(4),
        largest: Bytes(64 << 10),
        placement: Placement::Free,
        duration: Nanos::from_millis(milliseconds),
        rounds,
    };
    let part = Part::of_equal(monitor, "throughput", 0, 2);
    let measured = throughput::run(&options, &peer::command(), &part)?;
    let options = latency::Options {
        transports: vec![transport],
        // The page's advice: as many as CPUs, less one.
        pairs: (CpuSet::allowed()?.len().saturating_sub(1)).clamp(1, PAIRS),
        iterations: args.calls(),
        starts: latency::Options::usual_starts(args.calls()),
        deadline: DEADLINE,
        callers: vec![Caller::Warm],
        priority: Priority::new(HIGHEST_UNFORCED)?,
        force: false,
        inherit_rt: true,
        trace: None,
        raw: false,
    };
    let part = Part::of_equal(monitor, "latency", 1, 2);
    let latencies = latency::run(&options, &caller::command(), &peer::command(), root, &part)?;
    let found = latencies.findings()?;
    let calls = paper::Measured {
        transport,
        throughput: &measured.cells,
        latency: latencies.by_transport.first(),
        findings: &found,
        means: means(),
    };
    let missing = measured.notes.unsupported.iter().chain(&found.unsupported).next();
    let ended = "the run was ended before it was measured";
    let claims = paper::claims(&calls, missing.map_or(ended, |missing| &*missing.reason));
    let mut findings = measured.findings();
    findings.merge(found);
    PAPER.conclude(&claims, &mut findings);
    Ok(findings)
}
