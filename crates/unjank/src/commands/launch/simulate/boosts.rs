//! `--boost` and the times of boosts.

use anyhow::{Result, bail};
use unjank_host::{Error, Nanos};
use unjank_launch::simulate::{BoostKind, BoostTimes, NamedBoost, Scenario};

use crate::values;

/// Boosts to compare, and their times.
#[derive(Debug, clap::Args)]
pub(super) struct BoostArgs {
    /// Boosts to compare [default: all that the governor supports]
    #[arg(long, value_name = "BOOST,…", value_delimiter = ',')]
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

impl BoostArgs {
    fn times(&self) -> BoostTimes {
        BoostTimes { during: self.during, reaction: self.reaction, tap: self.tap }
    }

    /// The boosts to compare.
    pub(super) fn all(&self, scenario: &Scenario) -> Result<Vec<NamedBoost>> {
        Ok(scenario.boosts(&self.boost, &self.times())?)
    }

    /// The single boost of a sweep; `none` without the option.
    pub(super) fn one(&self, scenario: &Scenario) -> Result<NamedBoost> {
        let kind = match self.boost[..] {
            [] => BoostKind::None,
            [kind] => kind,
            _ => bail!(Error::Invalid("--sweep allows only one --boost".to_owned())),
        };
        Ok(scenario.boost(kind, &self.times())?)
    }
}
