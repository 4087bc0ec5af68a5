//! Resource usage of this process's children: `getrusage(2)`.

use std::mem::MaybeUninit;

use crate::error::{Error, Result};
use unjank_units::{Bytes, Nanos};

/// The unit of `ru_inblock`.
const BLOCK: u64 = 512;

/// Resources that processes used until they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time outside the kernel.
    pub user: Nanos,
    /// CPU time in the kernel.
    pub system: Nanos,
    /// Page faults without a read from storage.
    pub minor_faults: u64,
    /// Page faults that waited for storage.
    pub major_faults: u64,
    /// The amount that was read from storage, readahead included.
    pub read: Bytes,
    /// Voluntary switches: a thread slept or waited.
    pub voluntary: u64,
    /// Involuntary switches: a thread was preempted.
    pub involuntary: u64,
}

impl Usage {
    /// The usage of all children of this process that have ended and been waited
    /// for, with their own children that they waited for.
    ///
    /// # Errors
    /// Never on Linux.
    pub fn of_ended_children() -> Result<Self> {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: getrusage(2) fills the structure that it gets.
        let code = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
        if code != 0 {
            let error = std::io::Error::last_os_error();
            return Err(Error::syscall("getrusage", "ended children", error));
        }
        // SAFETY: it was filled, and zeroes are valid as well.
        let usage = unsafe { usage.assume_init() };
        let count = |count: libc::c_long| u64::try_from(count).unwrap_or(0);
        let time = |time: libc::timeval| {
            let seconds = u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000);
            let micros = u64::try_from(time.tv_usec).unwrap_or(0).saturating_mul(1_000);
            Nanos(seconds.saturating_add(micros))
        };
        Ok(Self {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            minor_faults: count(usage.ru_minflt),
            major_faults: count(usage.ru_majflt),
            read: Bytes(count(usage.ru_inblock).saturating_mul(BLOCK)),
            voluntary: count(usage.ru_nvcsw),
            involuntary: count(usage.ru_nivcsw),
        })
    }

    /// The usage after `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user - earlier.user,
            system: self.system - earlier.system,
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            read: Bytes(self.read.get().saturating_sub(earlier.read.get())),
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_counts_once_it_was_waited_for() {
        let before = Usage::of_ended_children().unwrap();
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done";
        assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
        let used = Usage::of_ended_children().unwrap().since(before);
        assert!(used.user + used.system > Nanos::ZERO && used.minor_faults > 0, "{used:?}");
        assert_eq!(before.since(Usage::of_ended_children().unwrap()).minor_faults, 0);
    }
}
