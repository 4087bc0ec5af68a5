//! `unjank launch bench`: the launch time of any program under two or more
//! conditions.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::energy::Meter;
use unjank_host::{Machine, Nanos, Root};
use unjank_launch::bench::{self, Condition, Options, Program, Ready, ReadyMeans, Workload};
use unjank_measure::{Findings, Monitor};

use super::load_app::{self, LoadAppArgs};
use super::meter::MeterArgs;
use crate::commands::measured::{self, Outcome, OutputArgs, Settings};
use crate::commands::session;
use crate::{paths, values};

pub(crate) use unjank_launch::bench::conditions;

/// Pairs of a comparison with `--quick`: fewer have no interval.
const FEWEST_PAIRS: usize = 6;

/// Arguments of `unjank launch bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank launch bench -- ./app                               (launch time and noise floor)
  sudo unjank launch bench --b governor=performance --ready window -- xterm
  sudo unjank launch bench --a sampling_rate=100ms --b sampling_rate=50ms --load 0,200ms,400ms,800ms
  unjank launch bench --b 'with:nice -n 19 make -j8' --ready stdout:listening -- ./server
  sudo unjank launch bench --b min_freq=max --b boost --pairs 30 --ready port:8080 -- ./server
  sudo unjank launch bench --a 'with:make -j8' --b 'rt=fifo:10+with:make -j8' -- ./app

A condition (--a, --b) is one of
  as-is                       the machine as it is
  cold                        before each launch, write all files to storage and drop them from
                              memory
  nice=N                      the program starts with this nice value; a negative one counts on
                              the whole machine (autogroups are off meanwhile)
  rt=POLICY                   the program and its children have this real-time policy: fifo:N or
                              rr:N, with N from 1 to 90
  memory.low=SIZE             so much of the program's memory (max: all) is evicted only if no other
                              can be; needs control groups of version 2. What it leaves running is
                              ended with the condition
  env:NAME=VALUE              a variable of the program's environment, without commas
  KNOB=VALUE[,KNOB=VALUE]     knobs as for `unjank with`, or short names for all clocks: governor,
                              min_freq and max_freq (min, max or 800MHz), epp, and any tunable of
                              the current governor, such as sampling_rate=50ms
  with:COMMAND                a command that runs meanwhile; its words may be quoted
  notify:COMMAND              the same, from the moment it reports that it is ready (sd_notify)
  boost[:OPTIONS]             unjank launch boost with these options
  KNOB=VALUE[,…]+SERVICE      knobs and one of the three above, which cannot change a knob that
                              the condition holds; cold, nice=N, rt=POLICY, memory.low=SIZE and
                              env:NAME=VALUE may be among the knobs

Without --b, launches are only measured. With a --b equal to --a, the condition is
compared with itself, which shows the noise of the machine.

A condition is in force from the pause before a launch to its end. Launches
alternate (A B B A); a launch that is never ready counts as --timeout long. With
--load, the program is `unjank launch load`, and its basic launch time is the
total less the time of the generated load.")]
pub(crate) struct Args {
    /// Condition that the others are compared with
    #[arg(long, value_name = "CONDITION", default_value = "as-is")]
    a: String,
    /// Condition to compare with it; repeatable [default: none, launches are only measured]
    #[arg(long, value_name = "CONDITION")]
    b: Vec<String>,
    /// When a launch is over: exit, stdout:REGEX, notify, port:N, window or activity
    #[arg(long, value_name = "WAY", default_value = "exit", conflicts_with = "load")]
    ready: Ready,
    /// Pairs of launches, for each load and each --b; without --b, two launches each
    #[arg(long, value_name = "N", default_value_t = 10)]
    pairs: usize,
    /// Six pairs, the fewest that can decide: wider intervals
    #[arg(long, conflicts_with = "pairs")]
    quick: bool,
    /// Warm-up pairs, which do not count
    #[arg(long, value_name = "N", default_value_t = 1)]
    warm_up: usize,
    /// Idle time before each launch; up to 100 ms more are added at random
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::duration_or_zero)]
    gap: Nanos,
    /// Period of wake-ups of each CPU during the gap, like an idle device's timers; 0 for none
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = values::duration_or_zero)]
    wake_every: Nanos,
    /// Longest time a launch may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = values::duration)]
    timeout: Nanos,
    /// Before each launch, write everything to storage and drop it from memory
    #[arg(long)]
    drop_caches: bool,
    /// With a meter: time from its start over which a launch's energy is measured
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = values::duration)]
    energy_window: Nanos,
    /// Where the journal of changed knobs is kept [default: as for unjank restore]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// The command to launch, and its arguments
    #[arg(
        last = true,
        value_name = "COMMAND",
        required_unless_present = "load",
        conflicts_with = "load"
    )]
    command: Vec<OsString>,
    #[command(flatten)]
    load_app: LoadAppArgs,
    #[command(flatten)]
    meter: MeterArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    fn pairs(&self) -> usize {
        if self.quick { FEWEST_PAIRS } else { self.pairs }
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let command =
        measured::Command { name: "launch bench", output: &args.output, settings: settings(args) };
    command.run(|root, seed, monitor| {
        let findings = measure(args, root, seed, monitor)?;
        let failed = bench::any_condition_failed(&findings);
        Ok(Outcome::from(findings).partly_failed(failed))
    })
}

fn measure(args: &Args, root: &Root, seed: u64, monitor: &dyn Monitor) -> Result<Findings> {
    let policies = Machine::read(root).frequency;
    let condition = |text: &String| {
        conditions::parse(text, &policies, root)
            .with_context(|| format!("while reading the condition {text}"))
    };
    let baseline = condition(&args.a)?;
    let mut others: Vec<Condition> = args.b.iter().map(condition).collect::<Result<_>>()?;
    let is_alone = others.is_empty();
    if is_alone {
        others.push(baseline.again());
    }
    // The baseline may be among the others once; twice is a mistake.
    if let Some(same) = others.iter_mut().find(|other| other.name == baseline.name) {
        *same = baseline.again();
    }
    let mut findings = Findings::default();
    let workloads = match &args.load_app.load {
        Some(lengths) => load_app::workloads(lengths, &args.load_app, root, &mut findings)?,
        None => vec![Workload {
            name: String::new(),
            program: Program::new(args.command.clone(), args.ready.clone()),
            times_itself: false,
        }],
    };
    let needs_session = others.iter().chain([&baseline]).any(Condition::needs_session);
    let options = Options {
        workloads,
        baseline,
        others,
        is_alone,
        pairs: args.pairs(),
        warm_up: args.warm_up,
        pause: args.gap,
        wake_every: args.wake_every,
        timeout: args.timeout,
        energy_window: args.energy_window,
        drop_caches: args.drop_caches,
        means: ready_means(),
    };
    let mut meter = if args.meter.is_given() {
        findings.require("launch/bench/energy", args.meter.parse()?.open(root)?)
    } else {
        None
    };
    let state_dir = args.state_dir.as_deref();
    let session = if needs_session { Some(session::open(root, state_dir)?) } else { None };
    let measured = bench::run(
        &options,
        session.as_ref(),
        root,
        meter.as_mut().map(|meter| &mut **meter as &mut dyn Meter),
        seed,
        monitor,
    );
    let (measured, changes) = session::end(session, measured)?;
    findings.merge(measured);
    session::note(changes, &mut findings);
    Ok(findings)
}

/// The temporary directory and the displays of this user.
pub(crate) fn ready_means() -> ReadyMeans {
    let display = env::var("DISPLAY").ok().filter(|display| !display.is_empty());
    let wayland = compositor(display.is_some());
    ReadyMeans { sockets: paths::temporary(), display, wayland }
}

/// The socket of the Wayland compositor, where libwayland looks for it
/// (`wl_display_connect`). Where there is an X display, only if a variable names it:
/// programs that go by that would use Wayland instead of X.
fn compositor(has_display: bool) -> Option<PathBuf> {
    let path = |variable| env::var_os(variable).filter(|it| !it.is_empty()).map(PathBuf::from);
    let directory = path("XDG_RUNTIME_DIR");
    match path("WAYLAND_DISPLAY") {
        Some(name) if name.is_absolute() => Some(name),
        Some(name) => Some(directory?.join(name)),
        None if has_display => None,
        None => Some(directory?.join("wayland-0")).filter(|socket| socket.exists()),
    }
}

fn settings(args: &Args) -> Settings {
    let nanos = |times: &Option<Vec<Nanos>>| -> Option<Vec<u64>> {
        Some(times.as_ref()?.iter().map(|time| time.get()).collect())
    };
    let command: Vec<String> = args.command.iter().map(|word| word.display().to_string()).collect();
    let settings = args
        .meter
        .settings()
        .with("energy_window", args.energy_window.get())
        .with("a", args.a.as_str())
        .with("b", args.b.clone())
        .with("pairs", args.pairs())
        .with("warm_up", args.warm_up)
        .with("gap", args.gap.get())
        .with("wake_every", args.wake_every.get())
        .with("timeout", args.timeout.get())
        .with("drop_caches", args.drop_caches);
    match nanos(&args.load_app.load) {
        Some(lengths) => settings
            .with("load", lengths)
            .with("threads", args.load_app.threads.0)
            .with("basic", args.load_app.basic.get())
            .with("emulated_clock", args.load_app.emulated_clock),
        None => settings.with("command", command).with("ready", args.ready.to_string()),
    }
}
