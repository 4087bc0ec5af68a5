//! The mutex.

use std::mem::ManuallyDrop;

use backoff::{Mutex, MutexGuard};

use crate::argument::{given, make};

/// How large an `unjank_mutex` is, in bytes.
pub const UNJANK_MUTEX_SIZE: usize = 64;
/// By what the address of an `unjank_mutex` is divisible.
pub const UNJANK_MUTEX_ALIGN: usize = 4;

/// A lock. It spins while that is worth it, lets a thread run on that keeps it
/// busy by itself, and hands over to whoever has waited for some milliseconds.
///
/// It is not recursive, does not lend priority, and is not for memory that
/// processes share. Nothing has to be destroyed. `UNJANK_MUTEX_INIT` is a free
/// one.
#[repr(C)]
pub struct unjank_mutex {
    _opaque: [u32; 16],
}

const _: () = assert!(size_of::<unjank_mutex>() == UNJANK_MUTEX_SIZE);
const _: () = assert!(align_of::<unjank_mutex>() == UNJANK_MUTEX_ALIGN);

/// # Safety
/// `mutex` is null or points to one.
pub(crate) unsafe fn mutex<'a>(mutex: *const unjank_mutex) -> &'a Mutex<()> {
    // SAFETY: a mutex of C holds one of Rust: zeroed memory is one.
    unsafe { given(mutex.cast(), "mutex") }
}

/// The guard that C has no word for; it never releases the lock by itself.
///
/// # Safety
/// The calling thread holds the lock.
pub(crate) unsafe fn held(mutex: &Mutex<()>) -> ManuallyDrop<MutexGuard<'_, ()>> {
    // SAFETY: the thread holds the lock, and no other guard of it is alive.
    ManuallyDrop::new(unsafe { mutex.make_guard_unchecked() })
}

/// Makes a free mutex, where an initialiser cannot stand.
///
/// # Safety
/// Nobody uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_mutex_init(mutex: *mut unjank_mutex) {
    // SAFETY: nobody uses it, and it has room.
    unsafe { make(mutex, Mutex::new(()), "mutex") }
}

/// Takes the mutex, and waits for it if need be.
///
/// # Safety
/// A thread that holds it already waits for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_mutex_lock(mutex: *mut unjank_mutex) {
    // SAFETY: as the caller says.
    let _held = ManuallyDrop::new(unsafe { self::mutex(mutex) }.lock());
}

/// Takes the mutex if it is free; says whether it did.
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
/// The calling thread holds it: otherwise it protects nothing any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_mutex_unlock(mutex: *mut unjank_mutex) {
    // SAFETY: as the caller says.
    unsafe { self::mutex(mutex).force_unlock() }
}

/// Whether somebody holds the mutex, at some moment during the call.
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
        // SAFETY: it is made first, and released by who holds it.
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
