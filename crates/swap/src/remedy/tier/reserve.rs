//! Memory for requests when all is in use.

use std::thread;

use unjank_host::sched::{Policy, Priority, ThreadId, is_throttled, set_policy};
use unjank_host::{Error, Result, Root, Support};

/// Makes the calling thread real-time, with the lowest priority, so that what the kernel allocates for
/// it may go half-way below the minimum watermark (`gfp_to_alloc_flags` of `mm/page_alloc.c`).
///
/// When all memory is in use, a request for a page-out may need memory itself, and only its end makes
/// memory free. An ordinary thread then tries to free memory for ever: seen with a program that uses
/// more than there is, on Linux 6.12. `No` where the kernel keeps no CPU time for ordinary threads, and
/// where a control group of version 1 does not allow it.
///
/// # Errors
/// Procfs cannot be read.
pub(super) fn become_realtime() -> Result<Support<()>> {
    if !is_throttled(&Root::system())? {
        return Ok(Support::no("real-time throttling is off (kernel.sched_rt_runtime_us = -1)"));
    }
    // The kernel's own threads for its requests inherit it.
    Ok(match set_policy(ThreadId::current(), Policy::Fifo(Priority::new(1)?), false) {
        Ok(()) => Support::Yes(()),
        Err(error) => Support::No(error.to_string()),
    })
}

/// Whether the threads of a tier can do that.
///
/// # Errors
/// Procfs cannot be read; the thread that tries it does not start.
pub fn is_possible() -> Result<Support<()>> {
    let tried = thread::Builder::new().spawn(become_realtime);
    let tried = tried.map_err(|error| Error::syscall("clone", "a thread", error))?;
    tried.join().unwrap_or_else(|_| Ok(Support::no("a thread has panicked")))
}
