//! The busy and idle time of CPUs, as a governor sees it.

use unjank_host::Nanos;

/// The CPUs of a policy at one moment.
#[derive(Debug, Clone, Copy)]
pub struct CpuActivity<'a> {
    /// Time since the beginning.
    pub now: Nanos,
    /// Busy time of each CPU until then.
    pub busy: &'a [Nanos],
    /// The CPUs that are busy now, as a mask.
    pub running: u64,
}

/// A change of a CPU's tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskChange {
    /// A task came; the number of tasks is now this.
    Came(u32),
    /// A task left; the number of tasks is now this.
    Left(u32),
}

impl CpuActivity<'_> {
    /// The time in whole microseconds, as in `get_cpu_idle_time_us`.
    pub(crate) fn wall(&self) -> u64 {
        self.now.0 / 1_000
    }

    /// Idle time of a CPU, in whole microseconds.
    pub(crate) fn idle(&self, cpu: usize) -> u64 {
        (self.now - self.busy[cpu]).0 / 1_000
    }
}
