//! `unjank launch power`: the machine's power, now or at each sampling period of
//! its governor.

mod list;

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::energy::Meter;
use unjank_host::{Error, Nanos, Root, Support};
use unjank_launch::power::{Window, average, rates};
use unjank_measure::{Findings, Monitor};

use super::meter::MeterArgs;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::place::PlaceArgs;
use crate::commands::session;
use crate::values;

/// Arguments of `unjank launch power`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank launch power --list
  sudo unjank launch power --for 30s
  sudo unjank launch power --rates 10ms,50ms,100ms,200ms --for 2m --discard 1m --rounds 10
  sudo unjank launch power --meter smartpower3:/dev/ttyUSB0 --rates 50ms,100ms
  unjank launch power --meter smartpower3:udp --listen 192.168.1.5 --for 1m
  unjank launch power --meter csv:log.csv --for 2m --discard 1m
  unjank launch power --meter model --device exynos4210 --for 10s

With --rates, the sampling period of ondemand or conservative is changed, each
period is measured once a round, and each is compared with the reference: Table 3
of Jo & Suh. The former period is put back in every case.

Meters: rapl, perf, hwmon[:hwmonN/power1], battery[:NAME],
smartpower2:/dev/ttyUSB0 (or its console, ADDRESS:23), smartpower3:/dev/ttyUSB0
(append @SPEED for another than 921600) or smartpower3:udp[:PORT], csv:FILE, and
model, which is not a meter: powers of --device for times that the kernel counts.")]
pub(crate) struct Args {
    /// List the meters of this machine, and why others are unavailable
    #[arg(long, conflicts_with_all = ["meter", "rates", "whole", "discard", "quick"])]
    list: bool,
    /// Sampling periods of the governor to compare [default: none is changed]
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration)]
    rates: Vec<Nanos>,
    /// The period with which the others are compared
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = values::duration, requires = "rates")]
    reference: Nanos,
    /// Length of each trial, including the discarded part [default: 2m with --rates, else 10s]
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    whole: Option<Nanos>,
    /// Part at the beginning of each trial that does not count [default: half with --rates, else 0]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    discard: Option<Nanos>,
    /// Trials of each sampling period
    #[arg(long, value_name = "N", default_value_t = 10, requires = "rates")]
    rounds: usize,
    /// Ignore differences below this share
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = values::share, requires = "rates")]
    min_effect: f64,
    /// Six trials of 4 s each, or one of 3 s without --rates
    #[arg(long, conflicts_with_all = ["whole", "discard", "rounds"])]
    quick: bool,
    #[command(flatten)]
    meter: MeterArgs,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Lists, or measures and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.list {
        return list::run(&args.place.root(), args.output.json);
    }
    let window = args.window();
    window.check()?;
    let meter = args.meter.parse()?;
    let command = measured::Command {
        name: "launch power",
        output: &args.output,
        settings: args.settings(window),
    };
    command.run(|_, seed, monitor| {
        let root = args.place.root();
        let mut meter = match meter.open(&root)? {
            Support::Yes(meter) => meter,
            Support::No(reason) => return Ok(not_here(reason)),
        };
        if args.rates.is_empty() {
            return Ok(average(window, meter.as_mut(), &root, seed, monitor)?);
        }
        let options = args.options(window);
        args.compare(&options, meter.as_mut(), &root, seed, monitor)
    })
}

fn not_here(reason: String) -> Findings {
    let mut findings = Findings::default();
    findings.not_supported("launch/power/energy", reason);
    findings
}

impl Args {
    fn window(&self) -> Window {
        let compares = !self.rates.is_empty();
        let usual = match (self.quick, compares) {
            (true, true) => 4_000,
            (true, false) => 3_000,
            (false, true) => 120_000,
            (false, false) => 10_000,
        };
        let whole = self.whole.unwrap_or(Nanos::from_millis(usual));
        let usual = if compares { Nanos(whole.get() / 2) } else { Nanos::ZERO };
        Window { whole, discard: self.discard.unwrap_or(usual) }
    }

    fn options(&self, window: Window) -> rates::Options {
        rates::Options {
            rates: self.rates.clone(),
            reference: self.reference,
            window,
            rounds: if self.quick { 6 } else { self.rounds },
            min_effect: self.min_effect,
        }
    }

    fn settings(&self, window: Window) -> Settings {
        let options = self.options(window);
        let settings = self
            .meter
            .settings()
            .with("for", window.whole.get())
            .with("discard", window.discard.get());
        if options.rates.is_empty() {
            return settings;
        }
        let rates: Vec<u64> = options.rates.iter().map(|rate| rate.get()).collect();
        settings
            .with("rates", rates)
            .with("reference", options.reference.get())
            .with("rounds", options.rounds)
            .with("min_effect", options.min_effect)
    }

    /// Measures at all periods, and restores the former one.
    fn compare(
        &self,
        options: &rates::Options,
        meter: &mut dyn Meter,
        root: &Root,
        seed: u64,
        monitor: &dyn Monitor,
    ) -> Result<Findings> {
        if meter.about().name == "csv" {
            return Err(Error::Invalid(
                "--rates needs a live meter: csv is a recording".to_owned(),
            )
            .into());
        }
        let state_dir = self.place.state_dir()?;
        let session = session::open(root, Some(&state_dir))?;
        let measured = rates::run(options, meter, root, &session, seed, monitor);
        let (outcome, changes) = session::end(Some(session), measured)?;
        let mut findings = match outcome {
            Support::Yes(outcome) => outcome.findings(),
            Support::No(reason) => not_here(reason),
        };
        session::note(changes, &mut findings);
        Ok(findings)
    }
}
