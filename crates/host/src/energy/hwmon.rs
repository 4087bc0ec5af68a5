//! Sensors of `Documentation/hwmon/sysfs-interface.rst`: energy in µJ, power
//! in µW, or current in mA times voltage in mV (`INA2xx` and the like).

use std::path::{Path, PathBuf};

use super::counted::{Counted, Counters, Counts};
use super::sampled::{Sampled, Source};
use super::{About, Meter, Origin};
use crate::error::{Error, Result};
use crate::root::Root;
use crate::support::Support;
use unjank_units::{Joules, Nanos, Watts};

const HWMON: &str = "/sys/class/hwmon";

/// The sampling period of powers. Sensors update them every 1 to 140 ms
/// (`update_interval`), and each read is a message on a slow bus.
const PERIOD: Nanos = Nanos::from_millis(100);

/// A channel of a chip that measures energy or power.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Channel {
    /// Its name on the command line: `hwmon2/power1`.
    id: String,
    /// The chip, and the channel's label.
    covers: String,
    kind: ChannelKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ChannelKind {
    /// A file with microjoules.
    Energy(PathBuf),
    /// A file with microwatts.
    Power(PathBuf),
    /// Files with milliamperes and with millivolts.
    Product(PathBuf, PathBuf),
}

/// The only channel, or the one named `wanted`.
///
/// # Errors
/// `Invalid` if there are several and none is named; `File`, `Parse`.
pub(super) fn open(root: &Root, wanted: Option<&str>) -> Result<Support<Box<dyn Meter>>> {
    let channels = channels(root)?;
    let mut fitting = channels.iter().filter(|channel| wanted.is_none_or(|id| id == channel.id));
    let Some(channel) = fitting.next() else {
        return Ok(Support::No(match wanted {
            Some(wanted) => format!("{HWMON} has no energy or power channel {wanted:?}"),
            None => format!("no sensor in {HWMON} measures energy or power"),
        }));
    };
    if fitting.next().is_some() {
        return Err(Error::Invalid(format!(
            "name one of the sensors: {}",
            channels.iter().map(Channel::to_string).collect::<Vec<_>>().join(", ")
        )));
    }
    let about = About {
        name: "hwmon".to_owned(),
        source: format!("{HWMON}/{}", channel.id),
        origin: Origin::Measured,
        covers: channel.covers.clone(),
    };
    let sensor = Sensor { root: root.clone(), kind: channel.kind.clone(), first: None };
    Ok(Support::Yes(match channel.kind {
        ChannelKind::Energy(_) => Box::new(Counted::open(about, sensor)?),
        ChannelKind::Power(_) | ChannelKind::Product(..) => {
            Box::new(Sampled::open(about, sensor, PERIOD)?)
        }
    }))
}

impl std::fmt::Display for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "hwmon:{} ({})", self.id, self.covers)
    }
}

fn channels(root: &Root) -> Result<Vec<Channel>> {
    let mut channels = Vec::new();
    for name in root.list(HWMON)? {
        let dir = Path::new(HWMON).join(&name);
        let chip = root.read_if_there(dir.join("name"))?.unwrap_or_else(|| name.clone());
        let files = root.list(&dir)?;
        for (channel, kind) in kinds(&files, &dir) {
            let label = root.read_if_there(dir.join(format!("{channel}_label")))?;
            let label = label.unwrap_or_else(|| channel.clone());
            let (id, covers) = (format!("{name}/{channel}"), format!("{chip} {label}"));
            channels.push(Channel { id, covers, kind });
        }
    }
    Ok(channels)
}

/// The channels among a chip's files: energies and powers; currents with
/// voltages only if there are no powers, which would be the same.
fn kinds(files: &[String], dir: &Path) -> Vec<(String, ChannelKind)> {
    let numbered = |kind: &str, tail: &str| -> Vec<(String, PathBuf)> {
        let channel = |file: &String| {
            let channel = file.strip_suffix(tail)?;
            channel.strip_prefix(kind)?.parse::<u32>().ok()?;
            Some((channel.to_owned(), dir.join(file)))
        };
        files.iter().filter_map(channel).collect()
    };
    let energies = numbered("energy", "_input");
    let mut powers = numbered("power", "_input");
    for (channel, path) in numbered("power", "_average") {
        if !powers.iter().any(|(known, _)| *known == channel) {
            powers.push((channel, path));
        }
    }
    let mut kinds: Vec<(String, ChannelKind)> =
        energies.into_iter().map(|(channel, path)| (channel, ChannelKind::Energy(path))).collect();
    let has_powers = !powers.is_empty();
    kinds.extend(powers.into_iter().map(|(channel, path)| (channel, ChannelKind::Power(path))));
    if !has_powers {
        let volts = numbered("in", "_input");
        for (channel, amperes) in numbered("curr", "_input") {
            let number = channel.trim_start_matches("curr");
            let volts = volts.iter().find(|(name, _)| name.trim_start_matches("in") == number);
            if let Some((_, volts)) = volts {
                kinds.push((channel, ChannelKind::Product(amperes, volts.clone())));
            }
        }
    }
    kinds
}

/// An open channel.
struct Sensor {
    root: Root,
    kind: ChannelKind,
    first: Option<u64>,
}

impl Counters for Sensor {
    fn counts(&mut self) -> Result<Counts> {
        let (ChannelKind::Energy(path) | ChannelKind::Power(path) | ChannelKind::Product(path, _)) =
            &self.kind;
        // Drivers extend their counters to 64 bits of microjoules, so they do
        // not wrap.
        let now: u64 = self.root.read_number(path)?;
        let first = *self.first.get_or_insert(now);
        Ok((Joules(now.saturating_sub(first) as f64 / 1e6), None))
    }
}

impl Source for Sensor {
    fn power(&mut self) -> Result<Watts> {
        let read = |path: &Path| self.root.read_number::<i64>(path).map(|number| number as f64);
        Ok(match &self.kind {
            ChannelKind::Energy(path) | ChannelKind::Power(path) => Watts(read(path)? / 1e6),
            ChannelKind::Product(amperes, volts) => Watts(read(amperes)? * read(volts)? / 1e6),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::tests::Machine;

    #[test]
    fn a_chip_of_currents_and_voltages_is_multiplied() {
        let machine = Machine::with(&[
            ("sys/class/hwmon/hwmon0/name", "coretemp"),
            ("sys/class/hwmon/hwmon0/temp1_input", "40000"),
            ("sys/class/hwmon/hwmon1/name", "ina3221"),
            ("sys/class/hwmon/hwmon1/in1_input", "5000"),
            ("sys/class/hwmon/hwmon1/curr1_input", "400"),
            ("sys/class/hwmon/hwmon1/curr1_label", "VDD_CPU"),
        ]);
        let mut meter = open(&machine.root(), None).unwrap().yes().unwrap();
        assert_eq!(meter.about().source, "/sys/class/hwmon/hwmon1/curr1");
        assert_eq!(meter.about().covers, "ina3221 VDD_CPU");
        let before = meter.read().unwrap();
        meter.pass(Nanos::from_millis(5), &|| false);
        let spent = meter.read().unwrap().since(&before);
        assert!((spent.power().unwrap().0 - 2.0).abs() < 1e-9, "{spent:?}");
    }

    #[test]
    fn a_power_is_preferred_and_a_counter_counts() {
        let machine = Machine::with(&[
            ("sys/class/hwmon/hwmon3/name", "ina226"),
            ("sys/class/hwmon/hwmon3/in1_input", "5000"),
            ("sys/class/hwmon/hwmon3/curr1_input", "400"),
            ("sys/class/hwmon/hwmon3/power1_input", "3000000"),
            ("sys/class/hwmon/hwmon4/name", "amd_energy"),
            ("sys/class/hwmon/hwmon4/energy1_input", "7000000"),
        ]);
        let root = machine.root();
        let which = open(&root, None).err().unwrap().to_string();
        assert_eq!(
            which,
            "name one of the sensors: hwmon:hwmon3/power1 (ina226 power1), \
             hwmon:hwmon4/energy1 (amd_energy energy1)"
        );
        let mut counter = open(&root, Some("hwmon4/energy1")).unwrap().yes().unwrap();
        machine.write("sys/class/hwmon/hwmon4/energy1_input", "9500000");
        assert_eq!(counter.read().unwrap().energy, Joules(2.5));

        let mut power = open(&root, Some("hwmon3/power1")).unwrap().yes().unwrap();
        let before = power.read().unwrap();
        power.pass(Nanos::from_millis(5), &|| false);
        let good = power.read().unwrap();
        assert!((good.since(&before).power().unwrap().0 - 3.0).abs() < 1e-9);
        machine.remove("sys/class/hwmon/hwmon3");
        let gone = power.read().unwrap();
        assert!(gone.ended.clone().unwrap().reason.contains("power1_input"), "{gone:?}");
        assert_eq!(gone.energy, good.energy);
    }

    #[test]
    fn a_machine_without_sensors_has_a_reason() {
        let none = open(&Machine::with(&[]).root(), None).unwrap();
        assert_eq!(none.reason(), Some("no sensor in /sys/class/hwmon measures energy or power"));
        let wrong = open(&Machine::with(&[]).root(), Some("hwmon0/power1")).unwrap();
        assert!(wrong.reason().unwrap().contains("no energy or power channel \"hwmon0/power1\""));
    }
}
