//! Pressure: the time that tasks waited.

use unjank_units::Nanos;

use crate::machine::Stall;

/// The time that tasks waited for one resource:
/// `Documentation/accounting/psi.rst`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waited {
    /// Time in which at least one task waited.
    pub some: Nanos,
    /// Time in which all tasks that were not idle waited at once.
    pub all: Nanos,
}

impl Waited {
    pub(super) fn between(then: Stall, now: Stall) -> Self {
        let grown = |now: Nanos, then: Nanos| Nanos(now.get().saturating_sub(then.get()));
        Self {
            some: grown(now.some_total, then.some_total),
            all: grown(now.full_total, then.full_total),
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { some: self.some + other.some, all: self.all + other.all }
    }
}
