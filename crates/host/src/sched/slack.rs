//! Timer slack: how long the kernel may delay a sleep to merge it with others,
//! `PR_SET_TIMERSLACK` in `prctl(2)`.

use std::num::NonZeroU64;

use rustix::thread::{current_timer_slack, set_current_timer_slack};

use crate::error::{Error, Result};
use unjank_units::Nanos;

/// The timer slack of the calling thread. It does not apply to real-time
/// threads.
///
/// # Errors
/// Never on Linux 2.6.28 or later.
pub fn timer_slack() -> Result<Nanos> {
    current_timer_slack()
        .map(Nanos)
        .map_err(|error| Error::syscall("prctl", "PR_GET_TIMERSLACK", error))
}

/// Sets the calling thread's timer slack to the minimum. Restores it when
/// dropped on the same thread.
#[derive(Debug)]
pub struct ExactTimers {
    before: Nanos,
    /// Slack belongs to a thread, so this must not move to another.
    of_this_thread: std::marker::PhantomData<*const ()>,
}

impl ExactTimers {
    /// Sets the minimum slack.
    ///
    /// # Errors
    /// Never on Linux 2.6.28 or later.
    pub fn new() -> Result<Self> {
        let before = timer_slack()?;
        set(Nanos(1))?;
        Ok(Self { before, of_this_thread: std::marker::PhantomData })
    }
}

impl Drop for ExactTimers {
    fn drop(&mut self) {
        // The value was valid for this thread before, so it is valid now.
        let _ = set(self.before);
    }
}

/// Zero restores the slack that the thread was created with.
fn set(slack: Nanos) -> Result<()> {
    set_current_timer_slack(NonZeroU64::new(slack.get()))
        .map_err(|error| Error::syscall("prctl", "PR_SET_TIMERSLACK", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_is_restored() {
        let before = timer_slack().unwrap();
        let exact = ExactTimers::new().unwrap();
        assert_eq!(timer_slack().unwrap(), Nanos(1));
        drop(exact);
        assert_eq!(timer_slack().unwrap(), before);
    }
}
