//! The mutex.

use std::mem::ManuallyDrop;

use backoff::{Mutex, MutexGuard};

use crate::argument::{given, make};

/// Size of an `unjank_mutex` in bytes.
pub const UNJANK_MUTEX_SIZE: usize = 64;
/// Alignment of an `unjank_mutex` in bytes.
pub const UNJANK_MUTEX_ALIGN: usize = 4;

/// A mutex. It spins while that pays, lets a thread that keeps it busy continue,
/// and hands over to threads that have waited for some milliseconds.
///
/// It is not recursive, does not lend priority, and is not for memory that
/// processes share. It need not be destroyed. `UNJANK_MUTEX_INIT` initialises a
/// free one.
#[repr(C)]
pub struct unjank_mutex {
    _opaque: [u32; 16],
}

const _: () = assert!(size_of::<unjank_mutex>() == UNJANK_MUTEX_SIZE);
const _: () = assert!(align_of::<unjank_mutex>() == UNJANK_MUTEX_ALIGN);

/// # Safety
/// `mutex` is null or points to one.
pub(crate) unsafe fn mutex<'a>(mutex: *const unjank_mutex) -> &'a Mutex<()> {
    // SAFETY: it contains the Rust type, for which zeroed memory is valid.
    unsafe { given(mutex.cast(), "mutex") }
}

/// A guard for a lock held by C code; it never releases the lock by itself.
///
/// # Safety
/// The calling thread holds the lock.
pub(crate) unsafe fn held(mutex: &Mutex<()>) -> ManuallyDrop<MutexGuard<'_, ()>> {
    // SAFETY: the thread holds the lock, and no other guard of it is alive.
    ManuallyDrop::new(unsafe { mutex.make_guard_unchecked() })
}

/// Initialises a free mutex, where `UNJANK_MUTEX_INIT` cannot be used.
///
/// # Safety
/// No thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_mutex_init(mutex: *mut unjank_mutex) {
    // SAFETY: no thread uses it, and it is large enough.
    unsafe { make(mutex, Mutex::new(()), "mutex") }
}

/// Takes the mutex, and waits for it if necessary.
///
/// # Safety
/// The calling thread does not hold it: otherwise it waits for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_mutex_lock(mutex: *mut unjank_mutex) {
    // SAFETY: as the caller says.
    let _held = ManuallyDrop::new(unsafe { self::mutex(mutex) }.lock());
}

/// Takes the mutex if it is free. Returns whether it did.
///
/// # Safety
/// The rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_mutex_try_lock(mutex: *mut unjank_mutex) -> bool {
    // SAFETY: as the caller says.
    unsafe { self::mutex(mutex) }.try_lock().map(ManuallyDrop::new).is_some()
}

/// Releases the mutex.
///
/// # Safety
/// The calling thread holds it: otherwise the mutex no longer excludes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_mutex_unlock(mutex: *mut unjank_mutex) {
    // SAFETY: as the caller says.
    unsafe { self::mutex(mutex).force_unlock() }
}

/// Whether the mutex is held, at some moment during the call.
///
/// # Safety
/// The rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_mutex_is_locked(mutex: *const unjank_mutex) -> bool {
    // SAFETY: as the caller says.
    unsafe { self::mutex(mutex) }.is_locked()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_a_free_mutex() {
        // SAFETY: it is thirteen words without padding.
        let words: [u32; size_of::<Mutex<()>>() / 4] =
            unsafe { std::mem::transmute(Mutex::new(())) };
        assert!(words.iter().all(|&word| word == 0), "{words:?}");
    }

    #[test]
    fn it_is_taken_once() {
        let mut mutex = unjank_mutex { _opaque: [u32::MAX; 16] };
        let mutex = &raw mut mutex;
        // SAFETY: it is initialised first, and released by the thread that holds it.
        unsafe {
            unjank_mutex_init(mutex);
            unjank_mutex_lock(mutex);
            assert!(unjank_mutex_is_locked(mutex));
            assert!(!unjank_mutex_try_lock(mutex));
            unjank_mutex_unlock(mutex);
            assert!(!unjank_mutex_is_locked(mutex));
            assert!(unjank_mutex_try_lock(mutex));
            unjank_mutex_unlock(mutex);
        }
    }
}
