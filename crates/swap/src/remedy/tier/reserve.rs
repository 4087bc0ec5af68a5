//! The memory that the kernel keeps back.

use unjank_host::sched::{Policy, Priority, ThreadId, is_throttled, set_policy};
use unjank_host::{Result, Root};

/// Lets what the kernel allocates for this thread come from the memory below its lowest watermark,
/// half of which it keeps back for real-time threads (`gfp_to_alloc_flags` of `mm/page_alloc.c`).
/// Returns whether it may.
///
/// When all memory is in use, a request for a page-out may need memory itself, and only its end makes
/// memory free. An ordinary thread then tries to free memory for ever: seen with a program that uses
/// more than there is, on Linux 6.12. The thread gets the lowest real-time priority, and only if the
/// kernel keeps CPU time for ordinary threads. Control groups of version 1 may not allow that.
pub(super) fn use_it() -> bool {
    let become_realtime = || -> Result<bool> {
        if !is_throttled(&Root::system())? {
            return Ok(false);
        }
        // The kernel's own threads for its requests inherit it.
        set_policy(ThreadId::current(), Policy::Fifo(Priority::new(1)?), false)?;
        Ok(true)
    };
    become_realtime().unwrap_or(false)
}
