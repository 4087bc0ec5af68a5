//! What a service does at a launch, by the names that can be typed.

use anyhow::{Result, bail};
use unjank_host::{Error, Nanos};
use unjank_launch::model::{Boost, Governor, Khz, Launch, Profile, Tunable};
use unjank_launch::simulate::{Named, Setting};

use crate::values;

/// What a service does at a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    None,
    Plain,
    DoubleTap,
    MinFreq,
    Uclamp,
    Performance,
}

/// Boosts to compare, and their lengths of time.
#[derive(Debug, clap::Args)]
pub(super) struct BoostArgs {
    /// Boosts to compare [default: all that the governor takes]
    #[arg(
        long,
        value_name = "BOOST,…",
        value_delimiter = ',',
        value_enum,
        hide_possible_values = true
    )]
    pub(super) boost: Vec<Kind>,
    /// The period during a launch, of boosts that shorten it
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = values::duration)]
    pub(super) during: Nanos,
    /// How soon after the launch began a boost writes
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = values::duration)]
    pub(super) reaction: Nanos,
    /// Time between the two writes of a double tap
    #[arg(long, value_name = "TIME", default_value = "8ms", value_parser = values::duration)]
    pub(super) tap: Nanos,
}

const ALL: [Kind; 6] =
    [Kind::None, Kind::Plain, Kind::DoubleTap, Kind::MinFreq, Kind::Uclamp, Kind::Performance];

impl Kind {
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

/// Those that were asked for, after doing nothing, which they are compared
/// with; or all that the governor takes.
pub(super) fn all(args: &BoostArgs, setting: &Setting) -> Result<Vec<Named>> {
    let governor = setting.governor()?;
    if args.boost.is_empty() {
        let named = ALL.into_iter().filter_map(|kind| boost(kind, args, setting, &governor).ok());
        return Ok(named.filter(|named| is_taken(named, setting, &governor)).collect());
    }
    let others = args.boost.iter().filter(|kind| **kind != Kind::None);
    [Kind::None].iter().chain(others).map(|kind| boost(*kind, args, setting, &governor)).collect()
}

/// The only one that was asked for; none if none was.
pub(super) fn one(args: &BoostArgs, setting: &Setting) -> Result<Named> {
    let governor = setting.governor()?;
    match args.boost[..] {
        [] => boost(Kind::None, args, setting, &governor),
        [kind] => boost(kind, args, setting, &governor),
        _ => bail!(Error::Invalid("--sweep goes with one --boost".to_owned())),
    }
}

fn boost(kind: Kind, args: &BoostArgs, setting: &Setting, governor: &Governor) -> Result<Named> {
    let during = u32::try_from(args.during.get() / 1_000).unwrap_or(u32::MAX);
    let period = [Tunable::SamplingRate, Tunable::TimerRate]
        .into_iter()
        .find_map(|tunable| Some((tunable, governor.value(tunable)?)));
    let khz = |frequency| Khz::from(frequency).0;
    let table = &setting.machine.table;
    let none = || {
        let reason = "this governor has no period that could be shortened";
        Error::Invalid(format!("--boost {}: {reason}", kind.name()))
    };
    let boost = match kind {
        Kind::None | Kind::Performance => Boost::none(),
        Kind::Plain => {
            let (tunable, usual) = period.ok_or_else(none)?;
            Boost::plain(args.reaction, tunable, during, usual)
        }
        Kind::DoubleTap => {
            let usual = governor.value(Tunable::SamplingRate).ok_or_else(none)?;
            Boost::double_tap(args.reaction, args.tap, during, usual)
        }
        Kind::MinFreq => Boost::min_freq(args.reaction, khz(table.highest()), khz(table.lowest())),
        Kind::Uclamp => Boost::plain(args.reaction, Tunable::UclampMin, 1024, 0),
    };
    Ok(Named { name: kind.name().to_owned(), boost, performance: kind == Kind::Performance })
}

/// Whether the governor takes every write of it.
fn is_taken(named: &Named, setting: &Setting, governor: &Governor) -> bool {
    let profile = Profile::launch(Nanos(1), Nanos::ZERO, 1);
    let launch = Launch {
        machine: &setting.machine,
        governor,
        profile: &profile,
        boost: &named.boost,
        phase: Nanos::ZERO,
        record: false,
    };
    launch.check().is_ok()
}
