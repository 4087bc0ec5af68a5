//! Number, CPU and priority of the calling thread.

use std::mem::MaybeUninit;

use rustix::thread::{gettid, sched_getcpu};

/// Above every real-time priority, because deadline threads run first.
const DEADLINE: u32 = 100;
const SCHED_DEADLINE: i32 = 6;

/// Thread number, as `gettid(2)`.
pub(crate) fn number() -> u32 {
    gettid().as_raw_nonzero().get().unsigned_abs()
}

/// The current CPU.
#[inline]
pub(crate) fn cpu() -> u32 {
    sched_getcpu() as u32
}

/// Real-time priority, 1 to 99; 100 for a deadline thread, 0 for other threads.
pub(crate) fn priority() -> u32 {
    // SAFETY: 0 is the calling thread (sched_getscheduler(2)).
    let policy = unsafe { libc::sched_getscheduler(0) };
    if policy & !libc::SCHED_RESET_ON_FORK == SCHED_DEADLINE {
        return DEADLINE;
    }
    let mut parameters = MaybeUninit::<libc::sched_param>::zeroed();
    // SAFETY: the pointer is to memory of the right size, which is valid when
    // zeroed (sched_getparam(2)).
    let parameters = unsafe {
        libc::sched_getparam(0, parameters.as_mut_ptr());
        parameters.assume_init()
    };
    u32::try_from(parameters.sched_priority).unwrap_or(0)
}
