//! Batteries: `Documentation/ABI/testing/sysfs-class-power`. Power in µW, or
//! current in µA times voltage in µV, while the battery feeds the machine.

use std::path::{Path, PathBuf};

use super::sampled::{Sampled, Source};
use super::{About, Meter, Origin};
use crate::error::{Error, Result};
use crate::root::Root;
use crate::support::Support;
use unjank_units::{Nanos, Watts};

const SUPPLIES: &str = "/sys/class/power_supply";

/// The sampling period. Fuel gauges update their values every quarter of a
/// second to several seconds.
const PERIOD: Nanos = Nanos::from_millis(250);

struct Battery {
    root: Root,
    path: PathBuf,
    /// Whether `power_now` exists.
    has_power: bool,
}

/// The machine's battery, or the one named `wanted`.
///
/// # Errors
/// `Unsupported` unless it discharges; `File`, `Parse`.
pub(super) fn open(root: &Root, wanted: Option<&str>) -> Result<Support<Box<dyn Meter>>> {
    let mut dirs = Vec::new();
    for name in root.list(SUPPLIES)? {
        let dir = Path::new(SUPPLIES).join(&name);
        let is = |file: &str, what: &str| {
            Ok(root.read_if_there(dir.join(file))?.is_some_and(|is| is == what))
        };
        // Batteries of mice and keyboards have the scope `Device`.
        let fits = wanted.is_none_or(|wanted| wanted == name);
        if fits && is("type", "Battery")? && !is("scope", "Device")? {
            dirs.push((name, dir));
        }
    }
    let Some((name, path)) = dirs.into_iter().next() else {
        return Ok(Support::No(match wanted {
            Some(wanted) => format!("{SUPPLIES} has no battery {wanted:?}"),
            None => format!("{SUPPLIES} has no battery of this machine"),
        }));
    };
    let has_power = root.exists(path.join("power_now"));
    if !has_power && !root.exists(path.join("current_now")) {
        return Ok(Support::No(format!("{name} has neither power_now nor current_now")));
    }
    let battery = Battery { root: root.clone(), path, has_power };
    if let Some(reason) = battery.not_feeding()? {
        return Ok(Support::No(reason));
    }
    let about = About {
        name: "battery".to_owned(),
        source: battery.path.display().to_string(),
        origin: Origin::Measured,
        covers: format!("the whole device, from {name}"),
    };
    Ok(Support::Yes(Box::new(Sampled::open(about, battery, PERIOD)?)))
}

impl Battery {
    /// Why its power is not that of the machine; `None` if it discharges.
    fn not_feeding(&self) -> Result<Option<String>> {
        let status = self.root.read(self.path.join("status"))?;
        Ok((status != "Discharging").then(|| {
            let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            format!("{name} is {status:?}: only a discharging battery shows the machine's power")
        }))
    }
}

impl Source for Battery {
    fn power(&mut self) -> Result<Watts> {
        if let Some(reason) = self.not_feeding()? {
            return Err(Error::Unsupported(reason));
        }
        let micro = |file: &str| -> Result<f64> {
            Ok(self.root.read_number::<i64>(self.path.join(file))? as f64 / 1e6)
        };
        // Drivers disagree on the sign of a discharge; the status is reliable.
        Ok(Watts(if self.has_power {
            micro("power_now")?.abs()
        } else {
            (micro("current_now")? * micro("voltage_now")?).abs()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::tests::Machine;

    const DIR: &str = "sys/class/power_supply";

    fn machine() -> Machine {
        let machine = Machine::with(&[]);
        for (file, text) in [
            ("AC/type", "Mains"),
            ("mouse/type", "Battery"),
            ("mouse/scope", "Device"),
            ("BAT0/type", "Battery"),
            ("BAT0/status", "Discharging"),
            ("BAT0/current_now", "-500000"),
            ("BAT0/voltage_now", "3800000"),
        ] {
            machine.write(&format!("{DIR}/{file}"), text);
        }
        machine
    }

    fn power(meter: &mut dyn Meter) -> f64 {
        let before = meter.read().unwrap();
        meter.pass(Nanos::from_millis(3), &|| false);
        meter.read().unwrap().since(&before).power().unwrap().0
    }

    #[test]
    fn a_discharge_has_no_sign() {
        let machine = machine();
        let mut meter = open(&machine.root(), None).unwrap().yes().unwrap();
        assert_eq!(meter.about().covers, "the whole device, from BAT0");
        assert!((power(meter.as_mut()) - 1.9).abs() < 1e-9);
        machine.write(&format!("{DIR}/BAT0/power_now"), "2000000");
        let mut meter = open(&machine.root(), Some("BAT0")).unwrap().yes().unwrap();
        assert!((power(meter.as_mut()) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_charger_ends_the_measurement() {
        let machine = machine();
        let mut meter = open(&machine.root(), None).unwrap().yes().unwrap();
        machine.write(&format!("{DIR}/BAT0/status"), "Charging");
        let ended = meter.read().unwrap().ended.unwrap();
        assert!(ended.reason.starts_with("BAT0 is \"Charging\""), "{}", ended.reason);
        let refused = open(&machine.root(), None).unwrap();
        assert_eq!(refused.reason(), Some(ended.reason.as_str()));
    }

    #[test]
    fn other_supplies_are_ignored() {
        let machine = machine();
        machine.remove(&format!("{DIR}/BAT0"));
        let none = open(&machine.root(), None).unwrap();
        assert!(none.reason().unwrap().starts_with("/sys/class/power_supply has no battery"));
    }
}
