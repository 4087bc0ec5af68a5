//! Parses `--boost`.

use anyhow::{Result, bail};
use unjank_host::{Error, Nanos};
use unjank_launch::model::{Boost, Governor, Khz, Launch, Profile, Tunable};
use unjank_launch::simulate::{NamedBoost, Scenario};

use crate::values;

/// What a service does at a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum BoostKind {
    None,
    Plain,
    DoubleTap,
    MinFreq,
    Uclamp,
    Performance,
}

/// Boosts to compare, and their times.
#[derive(Debug, clap::Args)]
pub(super) struct BoostArgs {
    /// Boosts to compare [default: all that the governor supports]
    #[arg(
        long,
        value_name = "BOOST,…",
        value_delimiter = ',',
        value_enum,
        hide_possible_values = true
    )]
    pub(super) boost: Vec<BoostKind>,
    /// Sampling period during a launch, for boosts that shorten it
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = values::duration)]
    pub(super) during: Nanos,
    /// Time from the launch to the boost's first write
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = values::duration)]
    pub(super) reaction: Nanos,
    /// Time between the two writes of a double tap
    #[arg(long, value_name = "TIME", default_value = "8ms", value_parser = values::duration)]
    pub(super) tap: Nanos,
}

const ALL: [BoostKind; 6] = [
    BoostKind::None,
    BoostKind::Plain,
    BoostKind::DoubleTap,
    BoostKind::MinFreq,
    BoostKind::Uclamp,
    BoostKind::Performance,
];

impl BoostKind {
    /// The name that is typed.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Plain => "plain",
            Self::DoubleTap => "double-tap",
            Self::MinFreq => "min-freq",
            Self::Uclamp => "uclamp",
            Self::Performance => "performance",
        }
    }
}

/// The boosts of `--boost`, after `none`, which they are compared with; or all
/// that the governor supports.
pub(super) fn all(args: &BoostArgs, scenario: &Scenario) -> Result<Vec<NamedBoost>> {
    let governor = scenario.governor()?;
    if args.boost.is_empty() {
        let named = ALL.into_iter().filter_map(|kind| boost(kind, args, scenario, &governor).ok());
        return Ok(named.filter(|named| is_taken(named, scenario, &governor)).collect());
    }
    let others = args.boost.iter().filter(|kind| **kind != BoostKind::None);
    [BoostKind::None]
        .iter()
        .chain(others)
        .map(|kind| boost(*kind, args, scenario, &governor))
        .collect()
}

/// The single boost of `--boost`; `none` without the option.
pub(super) fn one(args: &BoostArgs, scenario: &Scenario) -> Result<NamedBoost> {
    let governor = scenario.governor()?;
    match args.boost[..] {
        [] => boost(BoostKind::None, args, scenario, &governor),
        [kind] => boost(kind, args, scenario, &governor),
        _ => bail!(Error::Invalid("--sweep allows only one --boost".to_owned())),
    }
}

fn boost(
    kind: BoostKind,
    args: &BoostArgs,
    scenario: &Scenario,
    governor: &Governor,
) -> Result<NamedBoost> {
    let during = u32::try_from(args.during.get() / 1_000).unwrap_or(u32::MAX);
    let period = [Tunable::SamplingRate, Tunable::TimerRate]
        .into_iter()
        .find_map(|tunable| Some((tunable, governor.value(tunable)?)));
    let khz = |frequency| Khz::from(frequency).0;
    let table = &scenario.machine.table;
    let none = || {
        let reason = "this governor has no period that could be shortened";
        Error::Invalid(format!("--boost {}: {reason}", kind.name()))
    };
    let boost = match kind {
        BoostKind::None | BoostKind::Performance => Boost::none(),
        BoostKind::Plain => {
            let (tunable, usual) = period.ok_or_else(none)?;
            Boost::plain(args.reaction, tunable, during, usual)
        }
        BoostKind::DoubleTap => {
            let usual = governor.value(Tunable::SamplingRate).ok_or_else(none)?;
            Boost::double_tap(args.reaction, args.tap, during, usual)
        }
        BoostKind::MinFreq => {
            Boost::min_freq(args.reaction, khz(table.highest()), khz(table.lowest()))
        }
        BoostKind::Uclamp => Boost::plain(args.reaction, Tunable::UclampMin, 1024, 0),
    };
    Ok(NamedBoost {
        name: kind.name().to_owned(),
        boost,
        performance: kind == BoostKind::Performance,
    })
}

/// Whether the governor accepts all its writes.
fn is_taken(named: &NamedBoost, scenario: &Scenario, governor: &Governor) -> bool {
    let profile = Profile::launch(Nanos(1), Nanos::ZERO, 1);
    let launch = Launch {
        machine: &scenario.machine,
        governor,
        profile: &profile,
        boost: &named.boost,
        phase: Nanos::ZERO,
        record: false,
    };
    launch.check().is_ok()
}
