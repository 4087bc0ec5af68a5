//! Triggers of the kernel's pressure stall information: it wakes a program when tasks waited for a
//! resource longer than a limit within a window (`Documentation/accounting/psi.rst`).

use unjank_host::pressure_trigger::PressureTrigger;
use unjank_host::{Result, Root};
use unjank_units::Nanos;

/// A resource whose pressure the kernel counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Waiting for a CPU.
    Cpu,
    /// Waiting for memory.
    Memory,
    /// Waiting for I/O.
    Io,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Memory, Self::Io];

    /// The name of its file in `/proc/pressure`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Io => "io",
        }
    }
}

/// The window in which time is counted.
const WINDOW: Nanos = Nanos::from_millis(1_000);
/// The window of a process without `CAP_SYS_RESOURCE`: the kernel takes only multiples of two
/// seconds from it (Linux 6.5).
const UNPRIVILEGED: Nanos = Nanos::from_millis(2_000);

/// Registers a trigger: tasks waited for the resource longer than `limit` within a second, or than
/// twice that within two.
///
/// # Errors
/// A kernel without pressure stall information, or without the permission.
pub fn register(root: &Root, resource: Resource, limit: Nanos) -> Result<PressureTrigger> {
    let of = |limit, window| PressureTrigger::register(root, resource.name(), limit, window);
    of(limit, WINDOW).or_else(|first| of(limit + limit, UNPRIVILEGED).map_err(|_| first))
}
