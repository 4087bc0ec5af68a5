//! Meters as they are typed, and the best one of this machine.

use std::net::IpAddr;

use anyhow::Result;
use unjank_host::energy::{Meter, MeterKind, MeterName, find};
use unjank_host::{Error, Root, Support};
use unjank_launch::power::Modelled;

use super::device::device;
use crate::commands::measured::Settings;
use crate::interrupt::stop;

/// The name of the meter that is none.
pub(super) const MODEL: &str = "model";

/// Which meter.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Meter")]
pub(crate) struct MeterArgs {
    /// The meter [default: the first of rapl, perf, hwmon and battery that is here;
    /// the model where there is none and --device is given]
    #[arg(long, value_name = "NAME[:PATH]")]
    meter: Option<String>,
    /// For the model: a device of profiles/ (exynos4210), or a file of that form
    #[arg(long, value_name = "NAME|FILE")]
    device: Option<String>,
    /// The address at which datagrams of a meter are listened for
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    listen: IpAddr,
}

/// A meter that is to be opened.
#[derive(Debug)]
pub(super) enum Wanted<'a> {
    /// The best one.
    Any { device: Option<&'a str> },
    /// This one.
    Measured { name: MeterName, listen: IpAddr },
    /// The model of this device.
    Model { device: &'a str },
}

impl MeterArgs {
    /// Whether any was asked for.
    pub(super) fn is_given(&self) -> bool {
        self.meter.is_some() || self.device.is_some()
    }

    /// What was typed.
    pub(super) fn parse(&self) -> Result<Wanted<'_>> {
        let device = self.device.as_deref();
        Ok(match (self.meter.as_deref(), device) {
            (None, device) => Wanted::Any { device },
            (Some(MODEL), Some(device)) => Wanted::Model { device },
            (Some(MODEL), None) => {
                return Err(Error::Invalid(
                    "the model needs the device whose powers it takes: --device exynos4210"
                        .to_owned(),
                )
                .into());
            }
            (Some(typed), _) => {
                Wanted::Measured { name: MeterName::of(typed)?, listen: self.listen }
            }
        })
    }

    /// The device whose powers the model takes, if one is given.
    pub(super) fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// For the record.
    pub(super) fn settings(&self) -> Settings {
        Settings::default()
            .with("meter", self.meter.as_deref())
            .with("device", self.device.as_deref())
    }
}

impl Wanted<'_> {
    /// The same, but the model of `device` where there is no meter and no other
    /// device was named.
    pub(super) fn or_model(self, device: &'static str) -> Self {
        match self {
            Self::Any { device: None } => Self::Any { device: Some(device) },
            other => other,
        }
    }

    /// Opens it.
    pub(super) fn open(&self, root: &Root) -> Result<Support<Box<dyn Meter>>> {
        match self {
            Self::Any { device } => any(root, *device),
            Self::Measured { name, listen } => Ok(find(root, name, Some(*listen), &stop())?),
            Self::Model { device } => model(root, device),
        }
    }
}

fn model(root: &Root, name: &str) -> Result<Support<Box<dyn Meter>>> {
    let modelled = Modelled::open(root, device(name)?, name)?;
    Ok(modelled.map(|modelled| Box::new(modelled) as Box<dyn Meter>))
}

/// The first that works; all reasons where none does.
fn any(root: &Root, device: Option<&str>) -> Result<Support<Box<dyn Meter>>> {
    let mut reasons = Vec::new();
    for kind in [MeterKind::Rapl, MeterKind::Perf, MeterKind::Hwmon, MeterKind::Battery] {
        let reason = match find(root, &MeterName { kind, path: None }, None, &stop()) {
            Ok(Support::Yes(meter)) => return Ok(Support::Yes(meter)),
            Ok(Support::No(reason)) => reason,
            Err(error) => error.to_string(),
        };
        reasons.push(format!("{}: {reason}", kind.name()));
    }
    if let Some(device) = device {
        return model(root, device);
    }
    Ok(Support::No(format!(
        "there is no meter here ({}); --meter model --device exynos4210 models one",
        reasons.join("; ")
    )))
}
