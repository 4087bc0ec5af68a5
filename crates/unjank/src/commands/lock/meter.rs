//! `--meter` of commands that measure ways to wait.

use anyhow::Result;
use unjank_host::Root;
use unjank_host::energy::MeterName;
use unjank_lock::TrialMeter;
use unjank_measure::Findings;

use crate::interrupt::stop;

/// The option that chooses a meter.
#[derive(Debug, clap::Args)]
pub(crate) struct MeterArgs {
    /// Energy meter, one of unjank launch power --list [default: the processor's counter, if
    /// there is one]
    #[arg(long, value_name = "NAME[:PATH]")]
    meter: Option<String>,
}

impl MeterArgs {
    /// The typed name.
    pub(crate) fn typed(&self) -> Option<&str> {
        self.meter.as_deref()
    }

    /// Checks the name.
    pub(crate) fn check(&self) -> Result<()> {
        self.name().map(drop)
    }

    /// Opens the meter.
    pub(crate) fn open(&self, root: &Root) -> Result<TrialMeter> {
        Ok(TrialMeter::open(root, self.name()?.as_ref(), &stop())?)
    }

    fn name(&self) -> Result<Option<MeterName>> {
        Ok(self.typed().map(MeterName::of).transpose()?)
    }

    /// Notes that the named meter cannot be used. Without a name, none is expected.
    pub(crate) fn note(&self, meter: &TrialMeter, fact: &str, findings: &mut Findings) {
        if let (Some(_), Some(reason)) = (self.typed(), meter.missing()) {
            findings.not_supported(fact, reason.to_owned());
        }
    }
}
