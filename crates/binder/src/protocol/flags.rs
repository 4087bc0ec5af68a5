//! Flags of an object: how the driver treats calls to it.

/// How the driver treats calls to an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeFlags(pub u32);

/// The lowest scheduling policy with which calls to an object are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_NORMAL`, with a nice value.
    Normal,
    /// `SCHED_FIFO`, with a real-time priority.
    Fifo,
    /// `SCHED_RR`, with a real-time priority.
    RoundRobin,
    /// `SCHED_BATCH`, with a nice value.
    Batch,
}

impl NodeFlags {
    /// Calls are served at the caller's nice value, or at nice 0 if that is above 0.
    pub const NONE: Self = Self(0);
    /// Calls may contain open files.
    pub const ACCEPTS_FILES: Self = Self(0x100);
    /// Calls are served with the caller's real-time policy and priority.
    /// Known to Android's kernels only; a mainline kernel ignores it.
    pub const INHERIT_RT: Self = Self(0x800);
    /// Calls come with the caller's security context.
    pub const SECURITY_CONTEXT: Self = Self(0x1000);

    /// Calls are served with at least this policy and its nice value (−20 to 19) or
    /// real-time priority (1 to 99); `None` if the value is out of range. Only
    /// Android's kernels know the policy. A mainline kernel knows nice values from 0
    /// on, and takes a negative one for the weakest.
    pub const fn at_least(policy: Policy, value: i8) -> Option<Self> {
        let (number, fits) = match policy {
            Policy::Normal => (0, -20 <= value && value <= 19),
            Policy::Fifo => (1, 1 <= value && value <= 99),
            Policy::RoundRobin => (2, 1 <= value && value <= 99),
            Policy::Batch => (3, -20 <= value && value <= 19),
        };
        if fits { Some(Self(number << 9 | value as u8 as u32)) } else { None }
    }

    /// These flags and those of `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_priority_stands_in_its_bits() {
        let bits = |policy, value| NodeFlags::at_least(policy, value).map(|flags| flags.0);
        assert_eq!(bits(Policy::Normal, 0), Some(0));
        assert_eq!(bits(Policy::Normal, -20), Some(0xEC));
        assert_eq!(bits(Policy::Fifo, 99), Some(0x263));
        assert_eq!(bits(Policy::RoundRobin, 1), Some(0x401));
        assert_eq!(bits(Policy::Batch, 19), Some(0x613));
        let inheriting = NodeFlags::at_least(Policy::Fifo, 1).unwrap().and(NodeFlags::INHERIT_RT);
        assert_eq!(inheriting.0, 0xA01);
    }

    #[test]
    fn a_value_of_the_other_kind_is_none() {
        for (policy, value) in [
            (Policy::Normal, 20),
            (Policy::Normal, -21),
            (Policy::Batch, i8::MIN),
            (Policy::Fifo, 0),
            (Policy::Fifo, 100),
            (Policy::RoundRobin, -1),
        ] {
            assert_eq!(NodeFlags::at_least(policy, value), None);
        }
    }
}
