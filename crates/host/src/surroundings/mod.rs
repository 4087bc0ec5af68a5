//! Activity of the whole machine between two moments: waits for CPUs, memory
//! and storage, swapping, throttling, time taken by the hypervisor.

mod groups;
mod processes;
mod waited;

use std::collections::BTreeMap;

pub use groups::{GroupWaits, Throttled};
#[cfg(fuzzing)]
pub use processes::parse_for_fuzzing;
pub use processes::{BusiestThread, Processes, ProgramActivity};
pub use waited::Waited;

use crate::clock::Timestamp;
use crate::machine::pressure;
use crate::machine::{CpuTime, Pressure, Stall, VmStat};
use crate::root::Root;
use crate::support::Support;
use groups::Groups;
use unjank_units::Nanos;

/// Counters of the machine at one moment. All of them only grow.
#[derive(Debug, Clone, PartialEq)]
pub struct Surroundings {
    at: Timestamp,
    /// Pressure stall information; `None` if the kernel has none.
    pub pressure: Option<Pressure>,
    vmstat: VmStat,
    cpu_time: CpuTime,
    groups: Groups,
}

/// The activity of the machine between two moments, or the sum of several such
/// spans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MachineActivity {
    /// Wall-clock time between the two moments.
    pub length: Nanos,
    /// The time that runnable tasks waited for a CPU; `None` without pressure
    /// stall information, as in the next two fields.
    pub cpu: Option<Waited>,
    /// The time that tasks waited for memory: for pages that had just been
    /// evicted, or for the eviction of others.
    pub memory: Option<Waited>,
    /// The time that tasks waited for storage.
    pub io: Option<Waited>,
    /// Pages read from swap.
    pub swapped_in: u64,
    /// Pages written to swap.
    pub swapped_out: u64,
    /// CPU time of all CPUs.
    pub cpu_time: CpuTime,
    /// The time that tasks of control groups waited, by the path of the group
    /// (version 2 only).
    pub groups: BTreeMap<String, GroupWaits>,
    /// Control groups with a quota of CPU time, by their directory.
    pub throttled: BTreeMap<String, Throttled>,
}

impl Surroundings {
    /// Reads the counters. Counters that the kernel lacks or that this user may
    /// not read count as zero.
    pub fn read(root: &Root) -> Self {
        Self {
            at: Timestamp::now(),
            pressure: match pressure::read(root) {
                Ok(Support::Yes(pressure)) => Some(pressure),
                Ok(Support::No(_)) | Err(_) => None,
            },
            vmstat: VmStat::read(root).unwrap_or_default(),
            cpu_time: CpuTime::read(root).unwrap_or_default(),
            groups: Groups::read(root),
        }
    }

    /// The activity since `earlier`.
    pub fn since(&self, earlier: &Self) -> MachineActivity {
        let waited = |of: fn(&Pressure) -> Stall| {
            let (now, then) = (self.pressure.as_ref()?, earlier.pressure.as_ref()?);
            Some(Waited::between(of(then), of(now)))
        };
        let pages = self.vmstat.since(&earlier.vmstat);
        MachineActivity {
            length: self.at.since(earlier.at),
            cpu: waited(|pressure| pressure.cpu),
            memory: waited(|pressure| pressure.memory),
            io: waited(|pressure| pressure.io),
            swapped_in: pages.pswpin().unwrap_or(0),
            swapped_out: pages.pswpout().unwrap_or(0),
            cpu_time: self.cpu_time.since(earlier.cpu_time),
            groups: self.groups.waits_since(&earlier.groups),
            throttled: self.groups.throttled_since(&earlier.groups),
        }
    }
}

impl MachineActivity {
    /// The sum of both spans. Values that only one of them has are kept.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        let both = |one: Option<Waited>, other: Option<Waited>| match (one, other) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        };
        self.length = self.length + other.length;
        self.cpu = both(self.cpu, other.cpu);
        self.memory = both(self.memory, other.memory);
        self.io = both(self.io, other.io);
        self.swapped_in = self.swapped_in.saturating_add(other.swapped_in);
        self.swapped_out = self.swapped_out.saturating_add(other.swapped_out);
        self.cpu_time = self.cpu_time.and(other.cpu_time);
        for (path, waits) in &other.groups {
            let known = self.groups.entry(path.clone()).or_default();
            *known = known.and(*waits);
        }
        for (path, throttled) in &other.throttled {
            let known = self.throttled.entry(path.clone()).or_default();
            *known = known.and(*throttled);
        }
        self
    }

    /// The share (0–1) of `time` in the length.
    pub fn share(&self, time: Nanos) -> f64 {
        let length = self.length.get().max(1) as f64;
        (time.get() as f64 / length).min(1.0)
    }

    /// The share (0–1) of all CPU time that the hypervisor gave to other
    /// virtual machines.
    pub fn stolen(&self) -> f64 {
        self.cpu_time.steal_percent().unwrap_or(0.0) / 100.0
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn write(top: &Path, path: &str, text: &str) {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A machine on which tasks have waited for `micros` microseconds and
    /// swapped in `pages` pages.
    fn machine(top: &Path, micros: u64, pages: u64) {
        for resource in ["cpu", "memory", "io"] {
            let text = format!("some avg10=0 total={micros}\nfull avg10=0 total={}", micros / 2);
            write(top, &format!("proc/pressure/{resource}"), &text);
        }
        write(top, "proc/vmstat", &format!("pswpin {pages}\npswpout {}", pages * 2));
        write(top, "proc/stat", &format!("cpu  {pages} 0 0 100 0 0 0 {pages}"));
    }

    #[test]
    fn activity_is_the_difference_of_two_readings() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        machine(top.path(), 1_000, 10);
        let before = Surroundings::read(&root);
        machine(top.path(), 1_500, 17);
        let after = Surroundings::read(&root);
        let activity = after.since(&before);
        let waited = Waited { some: Nanos::from_micros(500), all: Nanos::from_micros(250) };
        assert_eq!([activity.cpu, activity.memory, activity.io], [Some(waited); 3]);
        assert_eq!((activity.swapped_in, activity.swapped_out), (7, 14));
        assert!((activity.stolen() - 0.5).abs() < 1e-9);
        // Counters that go backwards, as those of a container that moved, count
        // as no growth.
        assert_eq!(before.since(&after).memory, Some(Waited::default()));
    }

    #[test]
    fn spans_add_up() {
        let span = |some| MachineActivity {
            length: Nanos(100),
            memory: Some(Waited { some: Nanos(some), all: Nanos(1) }),
            swapped_in: 3,
            throttled: [("/batch".to_owned(), Throttled { periods: 10, throttled: 4 })].into(),
            ..MachineActivity::default()
        };
        let both = span(10).and(&span(30));
        assert_eq!((both.length, both.swapped_in), (Nanos(200), 6));
        assert!((both.share(both.memory.unwrap().some) - 0.2).abs() < 1e-9);
        assert_eq!(both.throttled["/batch"], Throttled { periods: 20, throttled: 8 });
        assert_eq!(MachineActivity::default().and(&span(10)), span(10));
    }

    #[test]
    fn a_kernel_without_pressure_has_the_other_counters() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        let nothing = Surroundings::read(&root);
        assert_eq!(nothing.since(&nothing).memory, None);
        write(top.path(), "proc/vmstat", "pswpin 1");
        let look = Surroundings::read(&root);
        assert_eq!((look.pressure, look.since(&nothing).swapped_in), (None, 1));
    }

    #[test]
    fn this_machine_can_be_read() {
        let root = Root::system();
        let before = Surroundings::read(&root);
        let activity = Surroundings::read(&root).since(&before);
        assert!(activity.length > Nanos::ZERO);
        assert!((0.0..=1.0).contains(&activity.stolen()));
    }
}
