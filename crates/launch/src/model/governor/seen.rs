//! What a governor sees of its CPUs: how long each has been busy so far.

use unjank_host::Nanos;

/// The CPUs of a policy at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The moment, since the beginning.
    pub now: Nanos,
    /// How long each CPU has been busy until then.
    pub busy: &'a [Nanos],
    /// Which CPUs are busy now, as a mask.
    pub running: u64,
}

/// What happened to the tasks of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// One came; so many are there now.
    Came(u32),
    /// One left; so many are there now.
    Left(u32),
}

impl Seen<'_> {
    /// The moment in whole microseconds, as `get_cpu_idle_time_us` tells it.
    pub(crate) fn wall(&self) -> u64 {
        self.now.0 / 1_000
    }

    /// How long a CPU has been idle, in whole microseconds.
    pub(crate) fn idle(&self, cpu: usize) -> u64 {
        (self.now - self.busy[cpu]).0 / 1_000
    }
}
