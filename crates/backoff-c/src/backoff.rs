//! The back-off of a loop of one's own.

use backoff::Backoff;

use crate::argument::{given, make};

/// How large an `unjank_backoff` is, in bytes.
pub const UNJANK_BACKOFF_SIZE: usize = 64;
/// By what the address of an `unjank_backoff` is divisible.
pub const UNJANK_BACKOFF_ALIGN: usize = 8;

/// Backs off in a loop of your own, with budgets in time. It belongs to one
/// thread, is made with `unjank_backoff_init`, and may be copied.
///
/// Prefer `unjank_signal_wait_until` or `unjank_wait_until` where the condition
/// can be put into a function: they cannot be used wrongly.
#[repr(C)]
pub struct unjank_backoff {
    _opaque: [u64; 8],
}

const _: () = assert!(size_of::<unjank_backoff>() == UNJANK_BACKOFF_SIZE);
const _: () = assert!(align_of::<unjank_backoff>() == UNJANK_BACKOFF_ALIGN);

/// # Safety
/// `backoff` is null or points to one that was made, of this thread.
unsafe fn backoff<'a>(backoff: *const unjank_backoff) -> &'a Backoff {
    // SAFETY: one of C holds one of Rust from `unjank_backoff_init` on.
    unsafe { given(backoff.cast(), "backoff") }
}

/// Makes one that has not waited yet. Costs nothing.
///
/// # Safety
/// `backoff` points to room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_backoff_init(backoff: *mut unjank_backoff) {
    // SAFETY: there is room for one.
    unsafe { make(backoff, Backoff::new(), "backoff") }
}

/// Backs off in a loop in which another thread has made progress, such as a
/// failed compare-and-exchange: some pauses, half as many more each time, up to
/// 64.
///
/// # Safety
/// It was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_backoff_spin(backoff: *mut unjank_backoff) {
    // SAFETY: as the caller says.
    unsafe { self::backoff(backoff) }.spin();
}

/// Backs off in a loop that waits for another thread: pauses for as long as
/// parking would cost, then yields for as long, and then sleeps for 50 us to
/// 1 ms.
///
/// # Safety
/// It was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_backoff_snooze(backoff: *mut unjank_backoff) {
    // SAFETY: as the caller says.
    unsafe { self::backoff(backoff) }.snooze();
}

/// Whether spinning for longer would cost more than parking, so that the thread
/// had better park, if there is somebody to wake it.
///
/// # Safety
/// It was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_backoff_is_completed(backoff: *const unjank_backoff) -> bool {
    // SAFETY: as the caller says.
    unsafe { self::backoff(backoff) }.is_completed()
}

/// Starts again, as one that has not waited yet.
///
/// # Safety
/// It was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_backoff_reset(backoff: *mut unjank_backoff) {
    // SAFETY: as the caller says.
    unsafe { self::backoff(backoff) }.reset();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;

    #[test]
    fn it_completes_and_starts_again() {
        let mut backoff = MaybeUninit::uninit();
        let backoff = backoff.as_mut_ptr();
        // SAFETY: it is made first.
        unsafe {
            unjank_backoff_init(backoff);
            assert!(!unjank_backoff_is_completed(backoff));
            while !unjank_backoff_is_completed(backoff) {
                unjank_backoff_spin(backoff);
            }
            unjank_backoff_snooze(backoff);
            unjank_backoff_reset(backoff);
            assert!(!unjank_backoff_is_completed(backoff));
        }
    }
}
