//! RAPL through powercap: `Documentation/power/powercap/powercap.rst` and
//! `drivers/powercap/intel_rapl_common.c`. AMD's counters have the same names.

use std::path::{Path, PathBuf};

use super::counted::{Counted, Counters, Counts, Wrapping};
use super::{About, Meter, Origin};
use crate::error::{Error, Result};
use crate::root::Root;
use crate::support::Support;
use unjank_units::Joules;

const POWERCAP: &str = "/sys/class/powercap";

/// All packages, or the one named zone.
struct Zones {
    root: Root,
    all: Vec<Zone>,
    cores: Vec<Zone>,
}

/// A power zone, with its counter.
struct Zone {
    path: PathBuf,
    name: String,
    counter: Option<Wrapping>,
}

/// The energy of all packages, or of the zone `wanted`: `intel-rapl:0:2`.
///
/// # Errors
/// `Permission` if only root may read counters; `File`, `Parse`.
pub(super) fn open(root: &Root, wanted: Option<&str>) -> Result<Support<Box<dyn Meter>>> {
    let zones = zones(root)?;
    let packages: Vec<&Zone> = match wanted {
        Some(wanted) => zones.iter().filter(|zone| zone.path.ends_with(wanted)).collect(),
        None => zones.iter().filter(|zone| zone.name.starts_with("package")).collect(),
    };
    if packages.is_empty() {
        return Ok(Support::No(match wanted {
            Some(wanted) => format!("{POWERCAP} has no zone {wanted:?}"),
            None if zones.is_empty() => format!("{POWERCAP} has no counters"),
            None => format!("no zone in {POWERCAP} is a package"),
        }));
    }
    let about = About {
        name: "rapl".to_owned(),
        source: listed(packages.iter().map(|zone| zone.path.display().to_string())),
        origin: Origin::Measured,
        covers: listed(packages.iter().map(|zone| zone.name.clone())),
    };
    let all: Vec<Zone> = packages.iter().map(|zone| zone.fresh()).collect();
    let below = |zone: &&Zone| zone.name == "core" && all.iter().any(|all| zone.is_below(all));
    let cores: Vec<Zone> = zones.iter().filter(below).map(Zone::fresh).collect();
    let cores = if cores.len() == all.len() { cores } else { Vec::new() };
    let zones = Zones { root: root.clone(), all, cores };
    Ok(Support::Yes(Box::new(Counted::open(about, zones)?)))
}

fn listed(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn zones(root: &Root) -> Result<Vec<Zone>> {
    let names = root.list(POWERCAP)?;
    let zones = names.iter().filter(|name| name.contains("rapl:"));
    zones
        .map(|name| {
            let path = Path::new(POWERCAP).join(name);
            Ok(Zone { name: root.read(path.join("name"))?, path, counter: None })
        })
        .collect()
}

impl Counters for Zones {
    fn counts(&mut self) -> Result<Counts> {
        let all = sum(&self.root, &mut self.all)?;
        let cores =
            if self.cores.is_empty() { None } else { Some(sum(&self.root, &mut self.cores)?) };
        Ok((all, cores))
    }
}

fn sum(root: &Root, zones: &mut [Zone]) -> Result<Joules> {
    zones.iter_mut().try_fold(Joules(0.0), |sum, zone| Ok(sum + zone.count(root)?))
}

impl Zone {
    /// The same zone, with a new counter.
    fn fresh(&self) -> Self {
        Self { path: self.path.clone(), name: self.name.clone(), counter: None }
    }

    /// Whether it is part of `package`: `intel-rapl:0:1` of `intel-rapl:0`.
    fn is_below(&self, package: &Self) -> bool {
        let name =
            |zone: &Self| zone.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let (own, package) = (name(self).unwrap_or_default(), name(package).unwrap_or_default());
        own.strip_prefix(&package).is_some_and(|rest| rest.starts_with(':'))
    }

    fn count(&mut self, root: &Root) -> Result<Joules> {
        let now = root.read_number(self.path.join("energy_uj")).map_err(forbidden)?;
        let counter = match &mut self.counter {
            Some(counter) => counter,
            unknown => {
                let range = root.read_number(self.path.join("max_energy_range_uj"))?;
                unknown.insert(Wrapping::new(now, range))
            }
        };
        Ok(Joules(counter.step(now) as f64 / 1e6))
    }
}

/// Since Linux 5.10 ordinary users cannot read the counters: CVE-2020-8694.
fn forbidden(error: Error) -> Error {
    match error.class() {
        crate::error::ErrorClass::Permission => Error::Permission {
            what: "reading the energy counters of the processor".to_owned(),
            needs: "root".to_owned(),
        },
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::tests::Machine;

    fn machine() -> Machine {
        Machine::with(&[
            ("sys/class/powercap/intel-rapl/enabled", "1"),
            ("sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("sys/class/powercap/intel-rapl:0/energy_uj", "999000000"),
            ("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000000000"),
            ("sys/class/powercap/intel-rapl:0:0/name", "core"),
            ("sys/class/powercap/intel-rapl:0:0/energy_uj", "5000000"),
            ("sys/class/powercap/intel-rapl:0:0/max_energy_range_uj", "1000000000"),
            ("sys/class/powercap/intel-rapl:1/name", "psys"),
            ("sys/class/powercap/intel-rapl:1/energy_uj", "0"),
            ("sys/class/powercap/intel-rapl:1/max_energy_range_uj", "1000000000"),
        ])
    }

    #[test]
    fn a_package_counts_across_a_wrap() {
        let machine = machine();
        let mut meter = open(&machine.root(), None).unwrap().yes().unwrap();
        assert_eq!(meter.about().covers, "package-0");
        assert_eq!(meter.about().source, "/sys/class/powercap/intel-rapl:0");
        machine.write("sys/class/powercap/intel-rapl:0/energy_uj", "2500000");
        machine.write("sys/class/powercap/intel-rapl:0:0/energy_uj", "6000000");
        let reading = meter.read().unwrap();
        assert_eq!((reading.energy, reading.cpu), (Joules(3.5), Some(Joules(1.0))));
    }

    #[test]
    fn a_zone_can_be_named() {
        let machine = machine();
        let meter = open(&machine.root(), Some("intel-rapl:1")).unwrap().yes().unwrap();
        assert_eq!(meter.about().covers, "psys");
        let none = open(&machine.root(), Some("intel-rapl:7")).unwrap();
        assert_eq!(none.reason(), Some("/sys/class/powercap has no zone \"intel-rapl:7\""));
        let nothing = open(&Machine::with(&[]).root(), None).unwrap();
        assert_eq!(nothing.reason(), Some("/sys/class/powercap has no counters"));
    }
}
