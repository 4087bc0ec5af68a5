//! Arguments of `unjank reproduce launch`.

use std::path::PathBuf;

use unjank_host::{Machine, Nanos, Root};
use unjank_launch::power::{Window, paper as table3};

use crate::commands::launch::meter::MeterArgs;
use crate::commands::measured::{OutputArgs, Settings, is_emulated};
use crate::commands::reproduce::phone::PhoneArgs;
use crate::values;

/// Arguments of `unjank reproduce launch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank reproduce launch --html paper.html          # 1 h 30 min, most of it Table 3
  sudo unjank reproduce launch --quick                    # three minutes
  sudo unjank reproduce launch --skip energy --pairs 50   # Fig. 2 and 3
  sudo unjank reproduce launch --skip launches --meter smartpower3:/dev/ttyUSB0

Fig. 2 and 3: the built-in load app is launched under ondemand with a sampling
period of 100 ms, and with unjank launch boost as the paper's service, which
sets 50 ms during a launch; in alternating pairs for each load. Table 3: the
energy of the idle machine at 10, 50, 100 and 200 ms. The paper's values are
printed beside ours; it gives averages of ten runs and no spread. Predictions
come from the model of unjank launch simulate.

Needs root and the governor ondemand. A machine without this governor runs the
experiments in the virtual phone, where the load app's clock is emulated and
energy is modelled; with --no-phone the exit code is 3.")]
pub(crate) struct Args {
    /// Pairs of launches of each load [default: 20]
    #[arg(long, value_name = "N", conflicts_with = "quick")]
    pub(super) pairs: Option<usize>,
    /// Loads, at the highest frequency, on all CPUs
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "0,200ms,400ms,800ms", value_parser = values::duration_or_zero)]
    pub(super) load: Vec<Nanos>,
    /// Basic work of a launch, on one thread. The paper does not state it; unjank launch simulate
    /// --paper assumes the same
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration)]
    pub(super) basic: Nanos,
    /// Trials of each sampling period [default: 10]
    #[arg(long, value_name = "N", conflicts_with = "quick")]
    pub(super) rounds: Option<usize>,
    /// Length of each trial; its first half does not count [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = values::duration, conflicts_with = "quick")]
    pub(super) trial: Option<Nanos>,
    /// Six pairs of each load, and six trials of 2 s of each period
    #[arg(long)]
    pub(super) quick: bool,
    /// Skip a part: launches (Fig. 2 and 3) or energy (Table 3)
    #[arg(long, value_enum, value_name = "PART", hide_possible_values = true)]
    pub(super) skip: Option<Skip>,
    /// Count the load app's cycles by the frequency that the governor set; always on in a virtual
    /// machine, where the speed does not follow it
    #[arg(long)]
    pub(super) emulated_clock: bool,
    /// Where the journal of changed knobs is kept [default: as for unjank restore]
    #[arg(long, value_name = "DIR")]
    pub(super) state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) phone: PhoneArgs,
    #[command(flatten)]
    pub(super) meter: MeterArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// A part that can be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Skip {
    Launches,
    Energy,
}

impl Args {
    pub(super) fn pairs(&self) -> usize {
        self.pairs.unwrap_or(if self.quick { 6 } else { 20 })
    }

    pub(super) fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 6 } else { 10 })
    }

    pub(super) fn window(&self) -> Window {
        let usual = Nanos(table3::TIME.get() * 2);
        let whole =
            self.trial.unwrap_or(if self.quick { Nanos::from_millis(2_000) } else { usual });
        Window { whole, discard: Nanos(whole.get() / 2) }
    }

    /// Whether the load app's clock is the governor's frequency.
    pub(super) fn emulates_clock(&self, root: &Root) -> bool {
        let virtual_machine = || Machine::read(root).virtualisation.hypervisor.is_some();
        self.emulated_clock || is_emulated() || virtual_machine()
    }

    /// The same run in the virtual phone.
    pub(super) fn words(&self, seed: u64) -> Vec<String> {
        let typed = |time: Nanos| match time.get() {
            0 => "0".to_owned(),
            nanos => format!("{nanos}ns"),
        };
        let loads: Vec<String> = self.load.iter().map(|load| typed(*load)).collect();
        let mut words = vec![
            "launch".to_owned(),
            format!("--seed={seed}"),
            format!("--load={}", loads.join(",")),
            format!("--basic={}", typed(self.basic)),
        ];
        words.extend(self.quick.then(|| "--quick".to_owned()));
        words.extend(self.pairs.map(|pairs| format!("--pairs={pairs}")));
        words.extend(self.rounds.map(|rounds| format!("--rounds={rounds}")));
        words.extend(self.trial.map(|trial| format!("--trial={}", typed(trial))));
        words.extend(self.skip.map(|skip| {
            let part = match skip {
                Skip::Launches => "launches",
                Skip::Energy => "energy",
            };
            format!("--skip={part}")
        }));
        words
    }

    pub(super) fn settings(&self) -> Settings {
        let loads: Vec<u64> = self.load.iter().map(|load| load.get()).collect();
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
