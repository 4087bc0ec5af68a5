//! The condition variable.

use backoff::Condvar;

use crate::argument::{given, length, make};
use crate::mutex::{held, mutex, unjank_mutex};

/// Size of an `unjank_condvar` in bytes.
pub const UNJANK_CONDVAR_SIZE: usize = 16;
/// Alignment of an `unjank_condvar` in bytes.
pub const UNJANK_CONDVAR_ALIGN: usize = 4;

/// Lets threads that hold an `unjank_mutex` wait for a change of the data that it
/// protects. Waiters park at once; for short waits use `unjank_signal`.
///
/// As with every condition variable, a wait may end without a reason: check the
/// condition in a loop. Notifying without a waiter makes no system call.
/// `UNJANK_CONDVAR_INIT` initialises one without waiters.
#[repr(C)]
pub struct unjank_condvar {
    _opaque: [u32; 4],
}

const _: () = assert!(size_of::<unjank_condvar>() == UNJANK_CONDVAR_SIZE);
const _: () = assert!(align_of::<unjank_condvar>() == UNJANK_CONDVAR_ALIGN);

/// # Safety
/// `condvar` is null or points to one.
unsafe fn condvar<'a>(condvar: *const unjank_condvar) -> &'a Condvar {
    // SAFETY: it contains the Rust type, for which zeroed memory is valid.
    unsafe { given(condvar.cast(), "condvar") }
}

/// Initialises one without waiters, where `UNJANK_CONDVAR_INIT` cannot be used.
///
/// # Safety
/// No thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_condvar_init(condvar: *mut unjank_condvar) {
    // SAFETY: no thread uses it, and it is large enough.
    unsafe { make(condvar, Condvar::new(), "condvar") }
}

/// Releases the mutex, waits for a notification, and takes the mutex.
///
/// # Safety
/// The calling thread holds the mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_condvar_wait(
    condvar: *mut unjank_condvar,
    mutex: *mut unjank_mutex,
) {
    // SAFETY: as the caller says.
    unsafe { self::condvar(condvar).wait(&mut held(self::mutex(mutex))) }
}

/// Like `unjank_condvar_wait`, for `at_most_ns` at most. Returns whether the wait
/// ended before that; the calling thread holds the mutex in both cases.
///
/// # Safety
/// The calling thread holds the mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_condvar_wait_for(
    condvar: *mut unjank_condvar,
    mutex: *mut unjank_mutex,
    at_most_ns: u64,
) -> bool {
    // SAFETY: as the caller says.
    unsafe { self::condvar(condvar).wait_for(&mut held(self::mutex(mutex)), length(at_most_ns)) }
}

/// Wakes one waiting thread, if there is one.
///
/// # Safety
/// The rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_condvar_notify_one(condvar: *mut unjank_condvar) {
    // SAFETY: as the caller says.
    unsafe { self::condvar(condvar) }.notify_one();
}

/// Wakes all waiting threads.
///
/// # Safety
/// The rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_condvar_notify_all(condvar: *mut unjank_condvar) {
    // SAFETY: as the caller says.
    unsafe { self::condvar(condvar) }.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::{
        unjank_mutex_init, unjank_mutex_is_locked, unjank_mutex_lock, unjank_mutex_unlock,
    };
    use std::mem::{MaybeUninit, transmute};

    #[test]
    fn zero_is_a_condvar_without_waiters() {
        // SAFETY: it is two words without padding.
        let words: [u32; size_of::<Condvar>() / 4] = unsafe { transmute(Condvar::new()) };
        assert!(words.iter().all(|&word| word == 0), "{words:?}");
    }

    #[test]
    fn after_a_wait_that_ends_by_itself_the_mutex_is_held() {
        let (mut mutex, mut never) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let (mutex, never) = (mutex.as_mut_ptr(), never.as_mut_ptr());
        // SAFETY: both are made first, and the mutex is held and released by this thread.
        unsafe {
            unjank_mutex_init(mutex);
            unjank_condvar_init(never);
            unjank_mutex_lock(mutex);
            assert!(!unjank_condvar_wait_for(never, mutex, 1_000_000));
            assert!(unjank_mutex_is_locked(mutex));
            unjank_mutex_unlock(mutex);
            unjank_condvar_notify_one(never);
            unjank_condvar_notify_all(never);
        }
    }
}
