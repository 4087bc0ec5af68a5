//! Options of `jitter native`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unjank_host::sched::{CpuSet, Policy, Priority};
use unjank_host::{Error, Nanos, Result};

/// Threads, periods and policies of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Options {
    /// Measuring threads are distributed over these CPUs in turn.
    pub cpus: CpuSet,
    /// Number of measuring threads.
    pub threads: usize,
    /// Policies, measured one after the other.
    pub schedulings: Vec<Scheduling>,
    /// Time between two wake-ups of the first thread.
    pub period: Nanos,
    /// The period of each thread is longer than that of the one before it by this.
    pub distance: Nanos,
    /// The real-time priority of each thread is lower than that of the one before
    /// it by this, down to 1.
    pub priority_step: u8,
    /// How threads are spread over the period.
    pub moments: Moments,
    /// Length of each scheduling's run.
    pub duration: Nanos,
    /// Stop at the first wake-up later than this.
    pub break_above: Option<Nanos>,
    /// Trace the scheduler and find the cause of the worst wake-ups. Costs about
    /// a microsecond per wake-up.
    pub cause: bool,
    /// File for the trace of a run that `break_above` has stopped.
    pub trace_file: Option<PathBuf>,
    /// Keep all CPUs out of idle states that take longer to leave than this,
    /// through `/dev/cpu_dma_latency`. `None` leaves the machine as it is.
    pub dma_latency: Option<Nanos>,
    /// Allow real-time priorities above 90 and a machine without throttling.
    pub force: bool,
}

/// How the wake-ups of several threads relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Moments {
    /// Evenly spread over the period of the first thread.
    Staggered,
    /// At the same moments, as far as their periods are equal.
    Together,
}

/// The scheduling policy of the measuring threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scheduling {
    /// `SCHED_OTHER`, as ordinary threads have it.
    Other,
    /// `SCHED_FIFO` at this priority.
    Fifo(Priority),
    /// `SCHED_RR` at this priority.
    RoundRobin(Priority),
    /// `SCHED_DEADLINE`, with the period of the thread. The kernel places such
    /// threads on any CPU: `sched(7)`.
    Deadline {
        /// Guaranteed run time in each period.
        runtime: Nanos,
        /// Deadline of the run time after a wake-up; `None` is the period.
        deadline: Option<Nanos>,
    },
}

impl Scheduling {
    /// The policy of a thread with this period.
    pub fn policy(self, period: Nanos) -> Policy {
        match self {
            Self::Other => Policy::other(0),
            Self::Fifo(priority) => Policy::Fifo(priority),
            Self::RoundRobin(priority) => Policy::RoundRobin(priority),
            Self::Deadline { runtime, deadline } => Policy::Deadline {
                runtime: runtime.get(),
                deadline: deadline.unwrap_or(period).get(),
                period: period.get(),
            },
        }
    }

    /// The policy's short name: `other`, `fifo`, `rr` or `deadline`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Fifo(_) => "fifo",
            Self::RoundRobin(_) => "rr",
            Self::Deadline { .. } => "deadline",
        }
    }

    /// Whether its threads can be kept on a CPU.
    pub fn can_be_pinned(self) -> bool {
        !matches!(self, Self::Deadline { .. })
    }

    /// The name of the series of its wake-up latencies.
    pub fn series_name(self) -> &'static str {
        match self {
            Self::Other => "jitter/native/other/wakeup",
            Self::Fifo(_) => "jitter/native/fifo/wakeup",
            Self::RoundRobin(_) => "jitter/native/rr/wakeup",
            Self::Deadline { .. } => "jitter/native/deadline/wakeup",
        }
    }
}

impl Options {
    /// The shortest period. Shorter ones would keep a CPU busy with timer
    /// interrupts alone.
    pub const SHORTEST_PERIOD: Nanos = Nanos::from_micros(20);

    /// The largest number of threads. Each has a histogram of a third of a mebibyte.
    pub const MOST_THREADS: usize = 256;

    /// The defaults: a period of 1 ms, a thread on each CPU of `cpus`,
    /// `SCHED_OTHER` and `SCHED_FIFO` 80, each for `duration`.
    pub fn usual(cpus: CpuSet, duration: Nanos) -> Self {
        let priority = Priority::new(80).expect("80 lies between 1 and 99");
        Self {
            threads: cpus.len(),
            cpus,
            schedulings: vec![Scheduling::Other, Scheduling::Fifo(priority)],
            period: Nanos::from_millis(1),
            distance: Nanos::ZERO,
            priority_step: 0,
            moments: Moments::Staggered,
            duration,
            break_above: None,
            cause: false,
            trace_file: None,
            dma_latency: None,
            force: false,
        }
    }

    /// The period of the last thread, which is the longest.
    pub(crate) fn longest_period(&self) -> Nanos {
        let further = self.threads.saturating_sub(1) as u64;
        Nanos(self.period.get().saturating_add(self.distance.get().saturating_mul(further)))
    }

    /// Checks that the options are valid and fit together.
    ///
    /// # Errors
    /// `Invalid`, with the first problem.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Invalid(what));
        if self.cpus.is_empty() {
            return wrong("no CPU to measure on".to_owned());
        }
        if self.schedulings.is_empty() {
            return wrong("no scheduling policy to measure".to_owned());
        }
        for (index, scheduling) in self.schedulings.iter().enumerate() {
            let name = scheduling.name();
            if self.schedulings[..index].iter().any(|before| before.name() == name) {
                // Two series with the same name would be indistinguishable.
                return wrong(format!("policy {name} is given twice"));
            }
        }
        if self.period < Self::SHORTEST_PERIOD {
            return wrong(format!(
                "a period of {} is too short: the shortest is {}",
                self.period,
                Self::SHORTEST_PERIOD
            ));
        }
        if !(1..=Self::MOST_THREADS).contains(&self.threads) {
            return wrong(format!(
                "{} threads are out of range (1 to {})",
                self.threads,
                Self::MOST_THREADS
            ));
        }
        let longest = self.longest_period();
        if self.duration < longest {
            return wrong(format!(
                "a run of {} is shorter than the period of {longest}",
                self.duration
            ));
        }
        if self.break_above == Some(Nanos::ZERO) {
            return wrong("a break threshold of 0 would stop at the first wake-up".to_owned());
        }
        let allowed = CpuSet::allowed()?;
        if self.cpus != allowed && self.schedulings.iter().any(|s| !s.can_be_pinned()) {
            return wrong(format!(
                "SCHED_DEADLINE threads cannot be bound to CPUs {}: the kernel runs them on any \
                 CPU of their root domain, and refuses threads that may not use all of these",
                self.cpus
            ));
        }
        self.cpus.clone().within(&allowed).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_invalid_option_has_its_message() {
        let good = Options::usual(CpuSet::allowed().unwrap(), Nanos::from_millis(100));
        assert!(good.check().is_ok());
        let says = |options: Options| options.check().unwrap_err().to_string();
        assert_eq!(
            says(Options { period: Nanos::ZERO, ..good.clone() }),
            "a period of 0 ns is too short: the shortest is 20.0 µs"
        );
        assert_eq!(
            says(Options { duration: Nanos::from_micros(500), ..good.clone() }),
            "a run of 500 µs is shorter than the period of 1.00 ms"
        );
        let error = says(Options { cpus: CpuSet::new([1023]), ..good.clone() });
        assert!(error.starts_with("CPU 1023 does not exist or is not allowed"), "{error}");
        assert_eq!(
            says(Options { threads: 0, ..good.clone() }),
            "0 threads are out of range (1 to 256)"
        );
        let distance = Nanos::from_millis(100);
        assert_eq!(
            says(Options { threads: 2, distance, ..good.clone() }),
            "a run of 100 ms is shorter than the period of 101 ms"
        );
        let deadline = Scheduling::Deadline { runtime: Nanos::from_micros(100), deadline: None };
        let elsewhere =
            Options { cpus: CpuSet::new([1023]), schedulings: vec![deadline], ..good.clone() };
        assert!(says(elsewhere).starts_with("SCHED_DEADLINE threads cannot be bound to CPUs 1023"));
        assert!(Options { schedulings: vec![deadline], ..good.clone() }.check().is_ok());
        assert!(Options { cpus: CpuSet::default(), ..good }.check().is_err());
    }
}
