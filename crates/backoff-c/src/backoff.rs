//! The back-off, for loops of the caller.

use backoff::Backoff;

use crate::argument::{given, make};

/// Size of an `unjank_backoff` in bytes.
pub const UNJANK_BACKOFF_SIZE: usize = 64;
/// Alignment of an `unjank_backoff` in bytes.
pub const UNJANK_BACKOFF_ALIGN: usize = 8;

/// Backs off in a loop of your own, with budgets in time. It belongs to one
/// thread, is initialised with `unjank_backoff_init`, and may be copied.
///
/// Prefer `unjank_signal_wait_until` or `unjank_wait_until` if the condition fits
/// into a function: they cannot be misused.
#[repr(C)]
pub struct unjank_backoff {
    _opaque: [u64; 8],
}

const _: () = assert!(size_of::<unjank_backoff>() == UNJANK_BACKOFF_SIZE);
const _: () = assert!(align_of::<unjank_backoff>() == UNJANK_BACKOFF_ALIGN);

/// # Safety
/// `backoff` is null or points to an initialised one of this thread.
unsafe fn backoff<'a>(backoff: *const unjank_backoff) -> &'a Backoff {
    // SAFETY: since `unjank_backoff_init`, it contains the Rust type.
    unsafe { given(backoff.cast(), "backoff") }
}

/// Initialises a back-off that has not waited yet. Costs nothing.
///
/// # Safety
/// `backoff` points to storage for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_backoff_init(backoff: *mut unjank_backoff) {
    // SAFETY: the caller provides storage.
    unsafe { make(backoff, Backoff::new(), "backoff") }
}

/// Backs off in a loop in which another thread has made progress, such as a
/// failed compare-and-exchange: some pauses, half as many more each time, up to
/// 64.
///
/// # Safety
/// `backoff` is initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_backoff_spin(backoff: *mut unjank_backoff) {
    // SAFETY: as the caller says.
    unsafe { self::backoff(backoff) }.spin();
}

/// Backs off in a loop that waits for another thread: pauses for as long as
/// parking costs, then yields for as long, and then sleeps for 50 us to 1 ms.
///
/// # Safety
/// `backoff` is initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_backoff_snooze(backoff: *mut unjank_backoff) {
    // SAFETY: as the caller says.
    unsafe { self::backoff(backoff) }.snooze();
}

/// Whether spinning for longer would cost more than parking. Then park the
/// thread, if another one can wake it.
///
/// # Safety
/// `backoff` is initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_backoff_is_completed(backoff: *const unjank_backoff) -> bool {
    // SAFETY: as the caller says.
    unsafe { self::backoff(backoff) }.is_completed()
}

/// Resets it to the state after `unjank_backoff_init`.
///
/// # Safety
/// `backoff` is initialised.
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
