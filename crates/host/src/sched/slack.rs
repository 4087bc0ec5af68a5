//! Timer slack: by how much the kernel may delay a sleep to join it with
//! others, `PR_SET_TIMERSLACK` in `prctl(2)`.

use crate::error::{Error, Result};
use crate::units::Nanos;

/// The timer slack of the calling thread. Real-time threads have none,
/// whatever this says.
///
/// # Errors
/// None for a kernel since 2.6.28.
pub fn timer_slack() -> Result<Nanos> {
    rustix::thread::current_timer_slack()
        .map(Nanos)
        .map_err(|error| Error::syscall("prctl", "PR_GET_TIMERSLACK", error))
}
