//! The energy counters of the `power` events of `perf_event_open(2)`:
//! `arch/x86/events/rapl.c`. They are RAPL's counters, which the kernel extends
//! to 64 bits, so they do not wrap.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::counted::{Counted, Counters, Counts};
use super::{About, Meter, Origin};
use crate::error::{Error, Result};
use crate::perf_event::{self, Attributes, Target};
use crate::root::Root;
use crate::sched::CpuSet;
use crate::support::Support;
use unjank_units::Joules;

const SOURCE: &str = "/sys/bus/event_source/devices/power";
/// The event of whole packages.
const PACKAGES: &str = "energy-pkg";
/// The event of their cores.
const CORES: &str = "energy-cores";

/// One event, as the kernel describes it.
#[derive(Debug, Clone, PartialEq)]
struct Event {
    /// `type` of `struct perf_event_attr`.
    kind: u32,
    /// `config` of `struct perf_event_attr`.
    config: u64,
    /// Joules per count.
    scale: f64,
    /// One CPU of each package, on which the event is counted.
    cpus: CpuSet,
}

/// Open counters of an event, one for each package.
struct Counting {
    scale: f64,
    counters: Vec<File>,
}

/// All packages, and their cores if these are counted.
struct Energy {
    packages: Counting,
    cores: Option<Counting>,
}

/// The energy of all packages.
///
/// # Errors
/// `Permission` if `perf_event_paranoid` forbids it; `File`, `Parse`.
pub(super) fn open(root: &Root) -> Result<Support<Box<dyn Meter>>> {
    let Some(packages) = event(root, PACKAGES)? else {
        return Ok(Support::No(format!("the kernel has no event {SOURCE}/events/{PACKAGES}")));
    };
    if !root.is_system() {
        return Ok(Support::no("events can only be counted on the running machine"));
    }
    let cores = match event(root, CORES)? {
        Some(cores) => Some(Counting::start(&cores)?),
        None => None,
    };
    let about = About {
        name: "perf".to_owned(),
        source: format!("{SOURCE}/events/{PACKAGES}"),
        origin: Origin::Measured,
        covers: format!("{} package(s)", packages.cpus.iter().count()),
    };
    let energy = Energy { packages: Counting::start(&packages)?, cores };
    Ok(Support::Yes(Box::new(Counted::open(about, energy)?)))
}

/// The kernel's description of the event `name`, if it exists.
fn event(root: &Root, name: &str) -> Result<Option<Event>> {
    let path = Path::new(SOURCE).join("events").join(name);
    let Some(text) = root.read_if_there(&path)? else { return Ok(None) };
    let config = text.strip_prefix("event=").and_then(hexadecimal);
    let config =
        config.ok_or_else(|| Error::parse(&path, 1, "expected event= and a hexadecimal number"))?;
    let unit_path = path.with_file_name(format!("{name}.unit"));
    let unit = root.read(&unit_path)?;
    if unit != "Joules" {
        return Err(Error::parse(&unit_path, 1, format!("expected Joules, found {unit:?}")));
    }
    let scale_path = path.with_file_name(format!("{name}.scale"));
    let scale: f64 = root.read_number(&scale_path)?;
    if !(scale.is_finite() && scale > 0.0) {
        return Err(Error::parse(&scale_path, 1, "expected a number of joules above zero"));
    }
    let mask = Path::new(SOURCE).join("cpumask");
    let cpus = root.read(&mask)?.parse::<CpuSet>();
    let cpus = cpus.map_err(|error| Error::parse(&mask, 1, error.to_string()))?;
    let kind = root.read_number(Path::new(SOURCE).join("type"))?;
    Ok(Some(Event { kind, config, scale, cpus }))
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

impl Counters for Energy {
    fn counts(&mut self) -> Result<Counts> {
        let cores = self.cores.as_mut().map(Counting::joules).transpose()?;
        Ok((self.packages.joules()?, cores))
    }
}

impl Counting {
    fn start(event: &Event) -> Result<Self> {
        let counters = event.cpus.iter().map(|cpu| count(event, cpu));
        Ok(Self { scale: event.scale, counters: counters.collect::<Result<_>>()? })
    }

    fn joules(&mut self) -> Result<Joules> {
        let mut sum = 0.0;
        for counter in &mut self.counters {
            let mut count = [0; 8];
            let read = counter.read_exact(&mut count);
            read.map_err(|error| Error::syscall("read", "an energy event", error))?;
            sum += u64::from_ne_bytes(count) as f64 * self.scale;
        }
        Ok(Joules(sum))
    }
}

/// Opens a counter of `event` on `cpu`, for all processes.
fn count(event: &Event, cpu: usize) -> Result<File> {
    let attributes = Attributes { kind: event.kind, config: event.config, ..Attributes::default() };
    perf_event::open(&attributes, Target::Cpu(cpu)).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Error::Permission {
            what: "counting the energy of the processor".to_owned(),
            needs: "root, or kernel.perf_event_paranoid at 0 or below".to_owned(),
        },
        _ => Error::syscall("perf_event_open", format!("CPU {cpu}"), error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::tests::Machine;

    const DIR: &str = "sys/bus/event_source/devices/power";

    fn machine() -> Machine {
        let machine = Machine::with(&[]);
        for (file, text) in [
            ("type", "23\n"),
            ("cpumask", "0,8\n"),
            ("events/energy-pkg", "event=0x02\n"),
            ("events/energy-pkg.scale", "2.3283064365386962890625e-10\n"),
            ("events/energy-pkg.unit", "Joules\n"),
        ] {
            machine.write(&format!("{DIR}/{file}"), text);
        }
        machine
    }

    #[test]
    fn an_event_is_described_by_its_files() {
        let machine = machine();
        let event = event(&machine.root(), PACKAGES).unwrap().unwrap();
        let scale = 2f64.powi(-32);
        let cpus = CpuSet::new([0, 8]);
        assert_eq!(event, Event { kind: 23, config: 2, scale, cpus });
        assert_eq!(super::event(&machine.root(), CORES).unwrap(), None);
    }

    #[test]
    fn a_wrong_description_is_an_error_with_its_file() {
        for (file, text) in [
            ("events/energy-pkg", "umask=1"),
            ("events/energy-pkg.unit", "Watts"),
            ("events/energy-pkg.scale", "-1"),
            ("cpumask", "x"),
        ] {
            let machine = machine();
            machine.write(&format!("{DIR}/{file}"), text);
            let error = event(&machine.root(), PACKAGES).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot parse /{DIR}/{file}, line 1")), "{error}");
        }
    }

    #[test]
    fn a_machine_without_the_event_has_a_reason() {
        let none = open(&Machine::with(&[]).root()).unwrap();
        assert!(none.reason().unwrap().starts_with("the kernel has no event"));
    }
}
