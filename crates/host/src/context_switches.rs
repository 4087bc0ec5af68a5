//! Context switches of a thread: `getrusage(2)`.

use std::mem::MaybeUninit;

use crate::error::{Error, Result};

/// Context switches of a thread since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextSwitches {
    /// The thread slept or waited.
    pub voluntary: u64,
    /// The thread was preempted, or yielded (`sched_yield(2)`).
    pub involuntary: u64,
}

impl ContextSwitches {
    /// The context switches of the calling thread.
    ///
    /// # Errors
    /// Never on Linux 2.6.26 or later.
    pub fn of_this_thread() -> Result<Self> {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: getrusage(2) fills the structure that it gets.
        let code = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        if code != 0 {
            let error = std::io::Error::last_os_error();
            return Err(Error::syscall("getrusage", "this thread", error));
        }
        // SAFETY: it was filled, and zeroes are valid as well.
        let usage = unsafe { usage.assume_init() };
        Ok(Self {
            voluntary: u64::try_from(usage.ru_nvcsw).unwrap_or(0),
            involuntary: u64::try_from(usage.ru_nivcsw).unwrap_or(0),
        })
    }

    /// The switches after `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use unjank_needs::wait::until_some;

    use super::*;

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        let before = ContextSwitches::of_this_thread().unwrap();
        // A thread that loses its CPU while it falls asleep may find the time over.
        let after = until_some("a sleep with a switch", || {
            thread::sleep(Duration::from_millis(1));
            let after = ContextSwitches::of_this_thread().unwrap();
            (after.since(before).voluntary >= 1).then_some(after)
        });
        assert_eq!(before.since(after).voluntary, 0);
    }
}
