//! Signals that wait until their handlers are complete.

use std::mem::MaybeUninit;
use std::ptr;

/// Blocks `signals`, by their numbers, in the calling thread while `during` runs:
/// `pthread_sigmask(3)`. Those that arrive meanwhile are delivered at its end, unless another
/// thread takes them.
///
/// Handlers are registered in it: a signal between the steps of a registration would find only a
/// part of them, and be lost.
pub fn with_signals_blocked<T>(signals: &[i32], during: impl FnOnce() -> T) -> T {
    let _mask = Blocked::new(signals);
    during()
}

/// The mask of the thread before signals were blocked. Dropping this restores it.
struct Blocked(libc::sigset_t);

impl Blocked {
    fn new(signals: &[i32]) -> Self {
        let (mut blocked, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: `sigemptyset` makes a valid set, which the others only change. An invalid number
        // changes nothing. Blocking cannot fail with a valid `how`, so `before` is filled.
        unsafe {
            libc::sigemptyset(blocked.as_mut_ptr());
            for &signal in signals {
                libc::sigaddset(blocked.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is a mask that this thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    static SEEN: AtomicU32 = AtomicU32::new(0);

    extern "C" fn see(_signal: i32) {
        SEEN.fetch_add(1, Ordering::Relaxed);
    }

    /// Sends SIGUSR2 to the calling thread.
    fn raise() {
        // SAFETY: raise(3) has no preconditions; the handler is `see`.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR2) }, 0);
    }

    #[test]
    fn a_signal_arrives_when_its_handler_is_complete() {
        let handler: extern "C" fn(i32) = see;
        let seen = with_signals_blocked(&[libc::SIGUSR2], || {
            raise();
            // SAFETY: the handler only changes an atomic number.
            unsafe { libc::signal(libc::SIGUSR2, handler as libc::sighandler_t) };
            SEEN.load(Ordering::Relaxed)
        });
        assert_eq!((seen, SEEN.load(Ordering::Relaxed)), (0, 1));
        raise();
        assert_eq!(SEEN.load(Ordering::Relaxed), 2, "it is no longer blocked");
    }
}
