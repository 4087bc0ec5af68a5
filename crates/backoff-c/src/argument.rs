//! Conversion of arguments from C.

use std::time::Duration;

/// Converts a pointer to a reference.
///
/// # Safety
/// It points to a value for as long as the reference is used, or is null.
///
/// # Panics
/// It is null, which ends the process, as the caller is `extern "C"`.
#[inline]
pub(crate) unsafe fn given<'a, T>(pointer: *const T, what: &str) -> &'a T {
    // SAFETY: as the caller says.
    match unsafe { pointer.as_ref() } {
        Some(value) => value,
        None => missing(what),
    }
}

/// Writes a value into storage provided by C.
///
/// # Safety
/// `room` is null, or points to unused storage.
///
/// # Panics
/// As [`given`].
pub(crate) unsafe fn make<T, Room>(room: *mut Room, value: T, what: &str) {
    const { assert!(fits::<T, Room>()) }
    if room.is_null() {
        missing(what);
    }
    // SAFETY: as the caller says; it is large enough.
    unsafe { room.cast::<T>().write(value) }
}

#[cold]
pub(crate) fn missing(what: &str) -> ! {
    panic!("unjank: {what} is NULL")
}

pub(crate) const fn length(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// Whether the storage is large enough and aligned.
pub(crate) const fn fits<T, Room>() -> bool {
    size_of::<T>() <= size_of::<Room>() && align_of::<T>() <= align_of::<Room>()
}
