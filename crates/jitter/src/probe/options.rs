//! What to measure.

use std::path::PathBuf;

use unjank_host::sched::{CpuSet, Policy, Priority};
use unjank_host::{Error, Nanos, Result};

/// What `jitter native` measures.
#[derive(Debug, Clone)]
pub struct Options {
    /// One measuring thread on each of these CPUs.
    pub cpus: CpuSet,
    /// Measured one after the other.
    pub schedulings: Vec<Scheduling>,
    /// Time between two wake-ups.
    pub period: Nanos,
    /// How long each scheduling is measured.
    pub duration: Nanos,
    /// Stop at the first wake-up that is later than this.
    pub break_above: Option<Nanos>,
    /// Record what the scheduler does meanwhile, and say of the worst wake-ups
    /// who ran instead. Costs about a microsecond per wake-up.
    pub cause: bool,
    /// Where to keep the trace of a run that `break_above` has stopped.
    pub trace_file: Option<PathBuf>,
    /// Allow real-time priorities above 90 and a machine without throttling.
    pub force: bool,
}

/// How the measuring threads are scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// `SCHED_OTHER`: as an ordinary thread.
    Other,
    /// `SCHED_FIFO` at this priority.
    Fifo(Priority),
}

impl Scheduling {
    /// The policy.
    pub fn policy(self) -> Policy {
        match self {
            Self::Other => Policy::Other { nice: 0 },
            Self::Fifo(priority) => Policy::Fifo(priority),
        }
    }

    /// The name of the series of its wake-up latencies.
    pub fn series_name(self) -> &'static str {
        match self {
            Self::Other => "jitter/native/other/wakeup",
            Self::Fifo(_) => "jitter/native/fifo/wakeup",
        }
    }
}

impl Options {
    /// The shortest period that is accepted: shorter ones would keep a CPU
    /// busy with nothing but timer interrupts.
    pub const SHORTEST_PERIOD: Nanos = Nanos::from_micros(20);

    /// One millisecond, on every CPU of `cpus`, as both `SCHED_OTHER` and
    /// `SCHED_FIFO` 80, for `duration` each.
    pub fn usual(cpus: CpuSet, duration: Nanos) -> Self {
        let priority = Priority::new(80).expect("80 lies between 1 and 99");
        Self {
            cpus,
            schedulings: vec![Scheduling::Other, Scheduling::Fifo(priority)],
            period: Nanos::from_millis(1),
            duration,
            break_above: None,
            cause: false,
            trace_file: None,
            force: false,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Invalid(what));
        if self.cpus.is_empty() {
            return wrong("no CPU to measure on".to_owned());
        }
        if self.schedulings.is_empty() {
            return wrong("no scheduling policy to measure".to_owned());
        }
        if self.period < Self::SHORTEST_PERIOD {
            return wrong(format!(
                "a period of {} is too short: the shortest is {}",
                self.period,
                Self::SHORTEST_PERIOD
            ));
        }
        if self.duration < self.period {
            return wrong(format!("a run of {} holds no period of {}", self.duration, self.period));
        }
        if self.break_above == Some(Nanos::ZERO) {
            return wrong("a break threshold of 0 would stop at the first wake-up".to_owned());
        }
        self.cpus.clone().within(&CpuSet::allowed()?).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_options_are_told_in_one_sentence() {
        let good = Options::usual(CpuSet::allowed().unwrap(), Nanos::from_millis(100));
        assert!(good.check().is_ok());
        let says = |options: Options| options.check().unwrap_err().to_string();
        assert_eq!(
            says(Options { period: Nanos::ZERO, ..good.clone() }),
            "a period of 0 ns is too short: the shortest is 20.0 µs"
        );
        assert_eq!(
            says(Options { duration: Nanos::from_micros(500), ..good.clone() }),
            "a run of 500 µs holds no period of 1.00 ms"
        );
        let error = says(Options { cpus: CpuSet::new([1023]), ..good.clone() });
        assert!(error.starts_with("CPU 1023 is not there or not allowed"), "{error}");
        assert!(Options { cpus: CpuSet::default(), ..good }.check().is_err());
    }
}
