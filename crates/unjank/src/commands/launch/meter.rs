//! Parses `--meter`, and picks the best meter of this machine.

use std::net::IpAddr;

use anyhow::Result;
use unjank_host::energy::{Meter, MeterName, find, first};
use unjank_host::{Error, Root, Support};
use unjank_launch::power::ModelledMeter;

use super::device::device;
use crate::commands::measured::Settings;
use crate::interrupt::stop;

/// The name of the power model.
pub(crate) const MODEL: &str = "model";

/// Options that choose a meter.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Meter")]
pub(crate) struct MeterArgs {
    /// Meter [default: the first of rapl, perf, hwmon and battery that is available; without
    /// one the model, if --device is given]
    #[arg(long, value_name = "NAME[:PATH]")]
    meter: Option<String>,
    /// Device for the model: exynos4210, or a profile in a file
    #[arg(long, value_name = "NAME|FILE")]
    device: Option<String>,
    /// Address to listen at for a meter's datagrams
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    listen: IpAddr,
}

/// The meter to open.
#[derive(Debug)]
pub(crate) enum MeterChoice<'a> {
    /// The first that is available.
    Any { device: Option<&'a str> },
    /// A real meter.
    Measured { name: MeterName, listen: IpAddr },
    /// The model of this device.
    Model { device: &'a str },
}

impl MeterArgs {
    /// Whether `--meter` or `--device` is given.
    pub(crate) fn is_given(&self) -> bool {
        self.meter.is_some() || self.device.is_some()
    }

    /// Parses the options.
    pub(crate) fn parse(&self) -> Result<MeterChoice<'_>> {
        let device = self.device.as_deref();
        Ok(match (self.meter.as_deref(), device) {
            (None, device) => MeterChoice::Any { device },
            (Some(MODEL), Some(device)) => MeterChoice::Model { device },
            (Some(MODEL), None) => {
                return Err(Error::Invalid(
                    "--meter model needs a device: --device exynos4210".to_owned(),
                )
                .into());
            }
            (Some(typed), _) => {
                MeterChoice::Measured { name: MeterName::of(typed)?, listen: self.listen }
            }
        })
    }

    /// The model's device, if given.
    pub(crate) fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// For the record.
    pub(crate) fn settings(&self) -> Settings {
        Settings::default()
            .with("meter", self.meter.as_deref())
            .with("device", self.device.as_deref())
    }
}

impl MeterChoice<'_> {
    /// Falls back to the model of `device` if no meter is available and no other
    /// device is given.
    pub(crate) fn or_model(self, device: &'static str) -> Self {
        match self {
            Self::Any { device: None } => Self::Any { device: Some(device) },
            other => other,
        }
    }

    /// Opens it.
    pub(crate) fn open(&self, root: &Root) -> Result<Support<Box<dyn Meter>>> {
        match self {
            Self::Any { device } => any(root, *device),
            Self::Measured { name, listen } => Ok(find(root, name, Some(*listen), &stop())?),
            Self::Model { device } => model(root, device),
        }
    }
}

fn model(root: &Root, name: &str) -> Result<Support<Box<dyn Meter>>> {
    let modelled = ModelledMeter::open(root, device(name)?, name)?;
    Ok(modelled.map(|modelled| Box::new(modelled) as Box<dyn Meter>))
}

/// The first meter that works, or else the model of `device`.
fn any(root: &Root, device: Option<&str>) -> Result<Support<Box<dyn Meter>>> {
    match (first(root, &stop()), device) {
        (Support::Yes(meter), _) => Ok(Support::Yes(meter)),
        (Support::No(_), Some(device)) => model(root, device),
        (Support::No(reasons), None) => Ok(Support::No(format!(
            "there is no meter here ({reasons}); --meter model --device exynos4210 models one"
        ))),
    }
}
