//! Timer slack: by how much the kernel may delay a sleep to join it with
//! others, `PR_SET_TIMERSLACK` in `prctl(2)`.

use std::num::NonZeroU64;

use rustix::thread::{current_timer_slack, set_current_timer_slack};

use crate::error::{Error, Result};
use unjank_units::Nanos;

/// The timer slack of the calling thread. Real-time threads have none,
/// whatever this says.
///
/// # Errors
/// None for a kernel since 2.6.28.
pub fn timer_slack() -> Result<Nanos> {
    current_timer_slack()
        .map(Nanos)
        .map_err(|error| Error::syscall("prctl", "PR_GET_TIMERSLACK", error))
}

/// Lets sleeps of the calling thread end as exactly as the kernel can, for as
/// long as it lives. The thread has its slack again when it is dropped, there.
#[derive(Debug)]
pub struct ExactTimers {
    before: Nanos,
    /// Slack belongs to a thread.
    of_this_thread: std::marker::PhantomData<*const ()>,
}

impl ExactTimers {
    /// From now on.
    ///
    /// # Errors
    /// None for a kernel since 2.6.28.
    pub fn new() -> Result<Self> {
        let before = timer_slack()?;
        set(Nanos(1))?;
        Ok(Self { before, of_this_thread: std::marker::PhantomData })
    }
}

impl Drop for ExactTimers {
    fn drop(&mut self) {
        // It was the slack of this thread, so it may be again.
        let _ = set(self.before);
    }
}

/// Zero is the slack that the thread was made with.
fn set(slack: Nanos) -> Result<()> {
    set_current_timer_slack(NonZeroU64::new(slack.get()))
        .map_err(|error| Error::syscall("prctl", "PR_SET_TIMERSLACK", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_is_as_it_was_afterwards() {
        let before = timer_slack().unwrap();
        let exact = ExactTimers::new().unwrap();
        assert_eq!(timer_slack().unwrap(), Nanos(1));
        drop(exact);
        assert_eq!(timer_slack().unwrap(), before);
    }
}
