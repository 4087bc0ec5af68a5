//! `unjank launch paper`: Jo & Suh's experiments on this machine, in one run.

mod setup;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::energy::Meter;
use unjank_host::journal::Session;
use unjank_host::{Machine, Nanos, Root, Support};
use unjank_launch::paper::{self, Outcome};
use unjank_launch::power::{Window, paper as table3};
use unjank_measure::{Findings, Monitor};

use super::bench::note_changes;
use super::power::meter::MeterArgs;
use crate::commands::keeper;
use crate::commands::measured::{self, OutputArgs, Settings, is_emulated};
use crate::{paths, values};

/// The one command that needs nothing of the machine it is typed at.
const ANYWHERE: &str = "unjank lab run --accel icount --pstates exynos4210 -- unjank launch paper";

/// Arguments of `unjank launch paper`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank launch paper --html paper.html            # about 1 h 30 min, most of it Table 3
  sudo unjank launch paper --quick                      # three minutes
  sudo unjank launch paper --skip energy -n 50          # Fig. 2 and 3
  sudo unjank launch paper --skip launches --meter smartpower3:/dev/ttyUSB0
  unjank lab run --accel icount --pstates exynos4210 -- unjank launch paper   # on any machine

Fig. 2 and 3: the built-in load app is launched under ondemand with a sampling
period of 100 ms, and with unjank launch boost as the paper's service, which
makes it 50 ms for the time of a launch; in alternating pairs for each load.
Table 3: the energy of the idle machine at 10, 50, 100 and 200 ms. The paper's
values stand beside ours; it gives averages of ten runs, and no spread. What is
predicted comes from the model of unjank launch simulate.

It needs root, and the governor ondemand; exit code 3 without one. In the
virtual phone the load app's clock is emulated, and energy is modelled; both is
said in the labels.")]
pub(crate) struct Args {
    /// Pairs of launches of each load [default: 20]
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "quick")]
    pairs: Option<usize>,
    /// Loads, at the highest frequency, on all CPUs
    #[arg(long, value_name = "TIMES", value_delimiter = ',', default_value = "0,200ms,400ms,800ms", value_parser = values::duration_or_zero)]
    loads: Vec<Nanos>,
    /// Basic work of a launch, on one thread. The paper does not say how long theirs took; this is
    /// what unjank launch simulate --paper assumes, too
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration)]
    basic: Nanos,
    /// Visits of each sampling period [default: 10]
    #[arg(long, value_name = "N", conflicts_with = "quick")]
    rounds: Option<usize>,
    /// Length of each visit; its first half does not count [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = values::duration, allow_hyphen_values = true, conflicts_with = "quick")]
    visit: Option<Nanos>,
    /// Six pairs of each load, and six visits of 2 s of each period
    #[arg(long)]
    quick: bool,
    /// Leave a part out: launches (Fig. 2 and 3) or energy (Table 3)
    #[arg(long, value_enum, value_name = "PART", hide_possible_values = true)]
    skip: Option<Skip>,
    /// Count the load app's cycles by the frequency that the governor set; always so in a virtual
    /// machine, where the speed does not follow it
    #[arg(long)]
    emulated_clock: bool,
    /// Where the journal of changed knobs is kept [default: as for unjank restore]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    #[command(flatten)]
    meter: MeterArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Skip {
    Launches,
    Energy,
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    args.window().check()?;
    let command =
        measured::Command { name: "launch paper", output: &args.output, settings: args.settings() };
    command.run(|root, seed, monitor| Ok(measure(args, root, seed, monitor)?.findings))
}

fn measure(args: &Args, root: &Root, seed: u64, monitor: &dyn Monitor) -> Result<Outcome> {
    let prediction = setup::prediction(args, root)?;
    if let Support::No(reason) = paper::supported(root)? {
        let mut outcome = Outcome::predicted(&prediction);
        outcome
            .findings
            .not_supported("launch/paper", format!("{reason}; on any machine: {ANYWHERE}"));
        return Ok(outcome);
    }
    let state_dir = args.state_dir.clone().map_or_else(paths::journal, Ok)?;
    // Where the service listens, so that it leaves one that runs already alone.
    let sockets = tempfile::tempdir().context("while making a directory for the service")?;
    let mut findings = Findings::default();
    let launches = match args.skip {
        Some(Skip::Launches) => None,
        _ => Some(setup::launches(args, root, sockets.path(), &mut findings)?),
    };
    let mut meter = if args.skip == Some(Skip::Energy) {
        None
    } else {
        let wanted = args.meter.parse()?.or_model(setup::DEVICE);
        findings.require("launch/power/energy", wanted.open(root)?)
    };
    let energy = meter.is_some().then(|| setup::energy(args));
    let options = paper::Options { launches, energy, prediction };
    let session = Session::open(root, &state_dir, keeper::command(&state_dir))
        .context("while making sure that everything can be put back")?;
    let measured = paper::run(
        &options,
        &session,
        root,
        meter.as_mut().map(|meter| &mut **meter as &mut dyn Meter),
        seed,
        monitor,
    );
    // Put back before anything else is said, whatever came of it.
    let reports = session.finish();
    let mut outcome = measured?;
    findings.merge(std::mem::take(&mut outcome.findings));
    note_changes(reports, &mut findings);
    outcome.findings = findings;
    Ok(outcome)
}

impl Args {
    fn pairs(&self) -> usize {
        self.pairs.unwrap_or(if self.quick { 6 } else { 20 })
    }

    fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 6 } else { 10 })
    }

    fn window(&self) -> Window {
        let usual = Nanos(table3::TIME.get() * 2);
        let whole =
            self.visit.unwrap_or(if self.quick { Nanos::from_millis(2_000) } else { usual });
        Window { whole, discard: Nanos(whole.get() / 2) }
    }

    /// Whether the load app's clock is the governor's frequency.
    fn emulates_clock(&self, root: &Root) -> bool {
        let virtual_machine = || Machine::read(root).virtualisation.hypervisor.is_some();
        self.emulated_clock || is_emulated() || virtual_machine()
    }

    fn settings(&self) -> Settings {
        let loads: Vec<u64> = self.loads.iter().map(|load| load.get()).collect();
        self.meter
            .settings()
            .with("pairs", self.pairs())
            .with("load", loads)
            .with("basic", self.basic.get())
            .with("rounds", self.rounds())
            .with("for", self.window().whole.get())
            .with("discard", self.window().discard.get())
            .with("launches", self.skip != Some(Skip::Launches))
            .with("energy", self.skip != Some(Skip::Energy))
            .with("emulated_clock", self.emulates_clock(&Root::system()))
    }
}
