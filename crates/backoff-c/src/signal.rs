//! Waits for a condition, with or without a signal of its change.

use std::ffi::c_void;

use backoff::{Signal, Wait};

use crate::argument::{given, length, make, missing};

/// Size of an `unjank_signal` in bytes.
pub const UNJANK_SIGNAL_SIZE: usize = 16;
/// Alignment of an `unjank_signal` in bytes.
pub const UNJANK_SIGNAL_ALIGN: usize = 4;

/// A condition, called until it returns true.
///
/// The waiting thread calls it often. It does its own ordering: it loads with
/// `memory_order_acquire` what was stored with `memory_order_release`.
pub type unjank_condition = Option<unsafe extern "C-unwind" fn(context: *mut c_void) -> bool>;

/// Lets threads wait for a condition that other threads make true, and wakes
/// them when it may have become true.
///
/// A waiter spins while that pays, and learns how long waits last here. Notifying
/// costs no system call unless a thread is parked. `UNJANK_SIGNAL_INIT`
/// initialises one without waiters.
#[repr(C)]
pub struct unjank_signal {
    _opaque: [u32; 4],
}

const _: () = assert!(size_of::<unjank_signal>() == UNJANK_SIGNAL_SIZE);
const _: () = assert!(align_of::<unjank_signal>() == UNJANK_SIGNAL_ALIGN);

/// # Safety
/// `signal` is null or points to one.
unsafe fn signal<'a>(signal: *const unjank_signal) -> &'a Signal {
    // SAFETY: it contains the Rust type, for which zeroed memory is valid.
    unsafe { given(signal.cast(), "signal") }
}

/// Initialises one without waiters, where `UNJANK_SIGNAL_INIT` cannot be used.
///
/// # Safety
/// No thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_signal_init(signal: *mut unjank_signal) {
    // SAFETY: no thread uses it, and it is large enough.
    unsafe { make(signal, Signal::new(), "signal") }
}

/// Waits until `condition(context)` is true. The thread that makes it true has to
/// notify afterwards.
///
/// # Safety
/// `condition` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_signal_wait_until(
    signal: *mut unjank_signal,
    condition: unjank_condition,
    context: *mut c_void,
) {
    // SAFETY: as the caller says.
    unsafe { self::signal(signal).wait_until(asking(condition, context)) }
}

/// Like `unjank_signal_wait_until`, for `at_most_ns` at most. Returns the last
/// value of the condition.
///
/// # Safety
/// `condition` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_signal_wait_until_for(
    signal: *mut unjank_signal,
    condition: unjank_condition,
    context: *mut c_void,
    at_most_ns: u64,
) -> bool {
    // SAFETY: as the caller says.
    unsafe { self::signal(signal).wait_until_for(asking(condition, context), length(at_most_ns)) }
}

/// Wakes one parked thread, if there is one. Spinning threads see the condition by
/// themselves, and one of them may be first.
///
/// # Safety
/// The rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_signal_notify_one(signal: *mut unjank_signal) {
    // SAFETY: as the caller says.
    unsafe { self::signal(signal) }.notify_one();
}

/// Wakes all parked threads.
///
/// # Safety
/// The rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_signal_notify_all(signal: *mut unjank_signal) {
    // SAFETY: as the caller says.
    unsafe { self::signal(signal) }.notify_all();
}

/// Waits until `condition(context)` is true, if its change is not signalled: a
/// register of a device, a word of another library. Spins for as long as parking
/// costs, and then sleeps, for 50 us at first and up to 1 ms.
///
/// # Safety
/// `condition` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_wait_until(condition: unjank_condition, context: *mut c_void) {
    // SAFETY: as the caller says.
    Wait::new().until(unsafe { asking(condition, context) });
}

/// Like `unjank_wait_until`, for `at_most_ns` at most. Returns the last value of
/// the condition.
///
/// # Safety
/// `condition` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_wait_until_for(
    condition: unjank_condition,
    context: *mut c_void,
    at_most_ns: u64,
) -> bool {
    // SAFETY: as the caller says.
    Wait::at_most(length(at_most_ns)).until(unsafe { asking(condition, context) })
}

/// Wraps a condition of C.
///
/// # Safety
/// `condition` may be called with `context` for as long as the result is used.
///
/// # Panics
/// It is null, which ends the process.
unsafe fn asking(condition: unjank_condition, context: *mut c_void) -> impl FnMut() -> bool {
    let condition = condition.unwrap_or_else(|| missing("condition"));
    // SAFETY: as the caller says.
    move || unsafe { condition(context) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{MaybeUninit, transmute};
    use std::ptr::null_mut;

    unsafe extern "C-unwind" fn never(_: *mut c_void) -> bool {
        false
    }

    /// True from the third call on.
    unsafe extern "C-unwind" fn third(looks: *mut c_void) -> bool {
        // SAFETY: each test gives a number of its own.
        let looks = unsafe { &mut *looks.cast::<u32>() };
        *looks += 1;
        *looks >= 3
    }

    #[test]
    fn zero_is_a_signal_without_waiters() {
        // SAFETY: it is three words without padding.
        let words: [u32; size_of::<Signal>() / 4] = unsafe { transmute(Signal::new()) };
        assert!(words.iter().all(|&word| word == 0), "{words:?}");
    }

    #[test]
    fn a_condition_is_asked_until_it_is_true() {
        let (mut signal, mut looks) = (MaybeUninit::uninit(), [0_u32; 3]);
        let [first, second, last] = &mut looks;
        let signal = signal.as_mut_ptr();
        // SAFETY: the signal is made first, and each number is used by one wait.
        unsafe {
            unjank_signal_init(signal);
            unjank_signal_wait_until(signal, Some(third), (&raw mut *first).cast());
            assert!(unjank_signal_wait_until_for(
                signal,
                Some(third),
                (&raw mut *second).cast(),
                u64::MAX
            ));
            unjank_wait_until(Some(third), (&raw mut *last).cast());
            unjank_signal_notify_one(signal);
            unjank_signal_notify_all(signal);
        }
        assert_eq!(looks, [3, 3, 3]);
    }

    #[test]
    fn a_wait_ends_by_itself() {
        let mut signal = MaybeUninit::uninit();
        let signal = signal.as_mut_ptr();
        // SAFETY: the signal is made first; the condition uses no context.
        unsafe {
            unjank_signal_init(signal);
            assert!(!unjank_signal_wait_until_for(signal, Some(never), null_mut(), 1_000_000));
            assert!(!unjank_wait_until_for(Some(never), null_mut(), 1_000_000));
        }
    }
}
