//! One cell of the matrix: a JVM, a collector, garbage or none, a variant, a set of CPUs.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

use unjank_host::sched::CpuSet;
use unjank_host::{Bytes, Error, Nanos, Result};

use super::collector::Collector;
use super::jdk::Jdk;
use super::variant::{Priorities, Variant};

/// How the application waits for the next period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `java.util.TimerTask`, as in Higashiyama et al.
    Timer,
    /// `LockSupport.parkNanos` until absolute moments.
    Park,
}

/// The objects that become garbage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// Objects that were never referenced, as in Higashiyama et al.
    Unreferenced,
    /// Also live objects: one new object in 64 replaces one.
    Replacing,
}

/// The load, the same in all cells.
#[derive(Debug, Clone)]
pub struct Load {
    /// Wake-ups of a cell.
    pub wakeups: u64,
    /// Time between two wake-ups.
    pub period: Nanos,
    /// How the application waits.
    pub way: Way,
    /// Threads that make garbage, in cells with garbage.
    pub garbage_threads: u32,
    /// The objects that become garbage.
    pub kind: Garbage,
    /// Ordinary threads outside of the JVM that compute on its CPUs.
    pub rivals: u32,
    /// Initial and maximum heap size.
    pub heap: Bytes,
    /// Size of the live set.
    pub live: Bytes,
    /// Real-time priorities.
    pub priorities: Priorities,
}

/// One combination of JVM, collector, garbage, variant and CPUs.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The JVM.
    pub jdk: Jdk,
    /// The garbage collector that the JVM is started with.
    pub collector: Collector,
    /// Whether garbage is made.
    pub garbage: bool,
    /// The threads that are real-time.
    pub variant: Variant,
    /// The CPUs of JVM and rivals.
    pub cpus: CpuSet,
}

impl Cell {
    /// The command line of its JVM, with the application `jar` that writes `out`.
    pub fn java(&self, load: &Load, jar: &Path, out: &Path) -> Command {
        let mib = |bytes: Bytes| (bytes.get() >> 20).max(1);
        let mut java = Command::new(self.jdk.java());
        java.arg(self.collector.option())
            .args([format!("-Xms{}m", mib(load.heap)), format!("-Xmx{}m", mib(load.heap))])
            .arg("-XX:+AlwaysPreTouch")
            .arg("-jar")
            .arg(jar)
            .args(["--count", &load.wakeups.to_string()])
            .args(["--period-us", &(load.period.get() / 1_000).to_string()])
            .args(["--way", &load.way.to_string()])
            .args(["--garbage", &self.garbage_threads(load)])
            .args(["--load", &load.kind.to_string()])
            .args(["--variant", self.variant.application_option()])
            .args(["--priority", &load.priorities.measuring.get().to_string()])
            .args(["--heap-live-mib", &mib(load.live).to_string()])
            .arg("--out")
            .arg(out);
        java
    }

    /// The labels of its series.
    pub fn labels(&self) -> [(&'static str, String); 5] {
        [
            ("jdk", self.jdk.version.clone()),
            ("collector", self.collector.to_string()),
            ("garbage", if self.garbage { "yes" } else { "no" }.to_owned()),
            ("variant", self.variant.to_string()),
            ("cpus", self.cpus.to_string()),
        ]
    }

    fn garbage_threads(&self, load: &Load) -> String {
        if self.garbage { load.garbage_threads.to_string() } else { "none".to_owned() }
    }
}

/// The most wake-ups that the application records.
pub const MOST_WAKEUPS: u64 = 1 << 24;

impl Load {
    /// Rejects settings that the application does not support.
    ///
    /// # Errors
    /// `Invalid` with the option.
    pub fn check(&self) -> Result<()> {
        let invalid = |what: String| Err(Error::Invalid(what));
        if !(1..=MOST_WAKEUPS).contains(&self.wakeups) {
            return invalid(format!("--count must be 1 to {MOST_WAKEUPS}, not {}", self.wakeups));
        }
        let (micro, milli) = (1_000, 1_000_000);
        let period = self.period.get();
        if !(10 * micro..=60_000 * milli).contains(&period) || !period.is_multiple_of(micro) {
            return invalid(format!(
                "--period must be a whole number of microseconds from 10us to 60s, not {period} ns"
            ));
        }
        if self.way == Way::Timer && !period.is_multiple_of(milli) {
            return invalid(format!(
                "--way timer needs a --period of whole milliseconds, not {}: java.util.Timer \
                 counts in milliseconds",
                self.period
            ));
        }
        for (option, size) in [("--heap", self.heap), ("--live", self.live)] {
            if size.get() == 0 || size.get() % (1 << 20) != 0 {
                return invalid(format!("{option} must be a whole number of MiB, not {size}"));
            }
        }
        Ok(())
    }

    /// Period times the number of wake-ups.
    pub fn length(&self) -> Nanos {
        Nanos(self.period.get().saturating_mul(self.wakeups))
    }
}

impl Garbage {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Unreferenced, Self::Replacing];
}

impl fmt::Display for Garbage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unreferenced => "unreferenced",
            Self::Replacing => "replacing",
        })
    }
}

impl FromStr for Garbage {
    type Err = Error;

    fn from_str(typed: &str) -> Result<Self> {
        super::one_of(&Self::ALL, "kind of load", typed)
    }
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Timer, Self::Park];
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Timer => "timer",
            Self::Park => "park",
        })
    }
}

impl FromStr for Way {
    type Err = Error;

    fn from_str(typed: &str) -> Result<Self> {
        super::one_of(&Self::ALL, "way to wake", typed)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let garbage = if self.garbage { "garbage" } else { "no garbage" };
        write!(
            f,
            "JDK {}, {}, {garbage}, {}, CPU {}",
            self.jdk, self.collector, self.variant, self.cpus
        )
    }
}

#[cfg(test)]
pub(super) mod tests {
    use unjank_host::sched::Priority;

    use super::*;

    pub(in super::super) fn load(wakeups: u64, period: Nanos, way: Way) -> Load {
        let priority = Priority::new(50).unwrap();
        Load {
            wakeups,
            period,
            way,
            garbage_threads: 1,
            kind: Garbage::Unreferenced,
            rivals: 0,
            heap: Bytes::from_mib(64),
            live: Bytes::from_mib(1),
            priorities: Priorities { measuring: priority, vm: priority },
        }
    }

    #[test]
    fn what_the_application_cannot_do_is_refused() {
        let fits = |wakeups, period, way| load(wakeups, period, way).check().is_ok();
        let ms = Nanos::from_millis(1);
        assert!(fits(MOST_WAKEUPS, ms, Way::Park) && !fits(MOST_WAKEUPS + 1, ms, Way::Park));
        assert!(fits(1, Nanos(250_000), Way::Park) && !fits(1, Nanos(250_500), Way::Park));
        assert!(!fits(1, Nanos(9_000), Way::Park) && !fits(1, Nanos(60_000_001_000), Way::Park));
        assert!(fits(1, ms, Way::Timer) && !fits(1, Nanos(1_500_000), Way::Timer));
        let odd = Load { heap: Bytes((64 << 20) + 4096), ..load(1, ms, Way::Park) };
        assert!(odd.check().unwrap_err().to_string().starts_with("--heap must be a whole number"));
    }
}
