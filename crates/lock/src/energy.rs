//! Reads the energy of trials.

use std::cell::RefCell;
use std::fmt;

use unjank_host::Root;
use unjank_host::energy::{Meter, MeterKind, MeterName, find};
use unjank_host::input::Stop;
use unjank_host::{Joules, Support};

use crate::error::Result;

/// A meter that is read at the ends of trials, or the reason why there is none.
pub struct TrialMeter(std::result::Result<RefCell<Box<dyn Meter>>, String>);

impl fmt::Debug for TrialMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(meter) => write!(f, "TrialMeter({:?})", meter.borrow().about()),
            Err(reason) => write!(f, "TrialMeter({reason})"),
        }
    }
}

impl TrialMeter {
    /// Opens the named meter; without a name, the processor's counter (`rapl` or `perf`), because
    /// other meters are too slow for trials of a tenth of a second. `stop` ends the wait for a
    /// recording that is a pipe.
    ///
    /// # Errors
    /// The reason why a named meter that exists cannot be used.
    pub fn open(root: &Root, name: Option<&MeterName>, stop: &Stop) -> Result<Self> {
        let Some(name) = name else { return Ok(Self::counter(root, stop)) };
        Ok(match find(root, name, None, stop)? {
            Support::Yes(meter) => Self(Ok(RefCell::new(meter))),
            Support::No(reason) => Self::none(reason),
        })
    }

    fn counter(root: &Root, stop: &Stop) -> Self {
        let mut reasons = Vec::new();
        for kind in [MeterKind::Rapl, MeterKind::Perf] {
            let reason = match find(root, &MeterName { kind, path: None }, None, stop) {
                Ok(Support::Yes(meter)) => return Self(Ok(RefCell::new(meter))),
                Ok(Support::No(reason)) => reason,
                Err(error) => error.to_string(),
            };
            reasons.push(format!("{}: {reason}", kind.name()));
        }
        Self::none(reasons.join("; "))
    }

    /// No meter, for this reason.
    pub fn none(reason: impl Into<String>) -> Self {
        Self(Err(reason.into()))
    }

    /// Why there is no meter.
    pub fn missing(&self) -> Option<&str> {
        self.0.as_ref().err().map(String::as_str)
    }

    /// The energy since the meter was opened; `None` without a meter, or after it has failed.
    pub(crate) fn read(&self) -> Option<Joules> {
        let reading = self.0.as_ref().ok()?.borrow_mut().read().ok()?;
        reading.ended.is_none().then_some(reading.energy)
    }
}

/// Reads the energy used so far, if there is a meter.
pub(crate) type ReadEnergy<'a> = &'a dyn Fn() -> Option<Joules>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_meter_is_the_only_one_that_is_tried() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let open = |name: &str| {
            TrialMeter::open(&root, Some(&MeterName::of(name).unwrap()), &Stop::default())
        };
        let hwmon = open("hwmon").unwrap();
        assert!(!hwmon.missing().unwrap().contains("rapl"), "{hwmon:?}");
        assert_eq!(hwmon.read(), None);
        assert!(open("csv:/no/such/file.csv").is_err());
    }

    #[test]
    fn counters_of_the_processor_are_read() {
        let tree = tempfile::tempdir().unwrap();
        let package = tree.path().join("sys/class/powercap/intel-rapl:0");
        std::fs::create_dir_all(&package).unwrap();
        let energy = |microjoules: u64| {
            std::fs::write(package.join("energy_uj"), microjoules.to_string()).unwrap();
        };
        std::fs::write(package.join("name"), "package-0").unwrap();
        std::fs::write(package.join("max_energy_range_uj"), "262143328850").unwrap();
        energy(1_000_000);
        let root = Root::at(tree.path());
        let meter = TrialMeter::open(&root, None, &Stop::default()).unwrap();
        assert_eq!(meter.missing(), None);
        energy(3_500_000);
        assert_eq!(meter.read(), Some(Joules(2.5)));
    }
}
