//! What is read of a mutex of glibc.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The beginning of `struct __pthread_mutex_s` (`sysdeps/nptl/bits/struct_mutex.h`,
/// 64-bit processors). Programs contain it, so it does not change.
#[repr(C)]
pub(crate) struct Mutex {
    /// 0: free, 1: held, 2: held, and threads may sleep.
    lock: AtomicU32,
    /// How often a recursive one is held, its thread, and its users.
    _unread: [AtomicU32; 3],
    /// Its type, and flags: robust, priorities, shared, elision.
    kind: AtomicU32,
}

const _: () = assert!(size_of::<Mutex>() <= size_of::<libc::pthread_mutex_t>());

/// Types (`nptl/pthreadP.h`) whose `trylock` means the same as a `lock` that does not wait.
const NORMAL: u32 = 0;
const ADAPTIVE: u32 = 3;
/// It must not be elided by a transaction of the processor, and is not otherwise.
const NO_ELISION: u32 = 512;

impl Mutex {
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.lock.load(Relaxed) != 0
    }

    /// Whether threads may spin for it: a normal or adaptive one of this process.
    pub(crate) fn allows_spinning(&self) -> bool {
        matches!(self.kind.load(Relaxed) & !NO_ELISION, NORMAL | ADAPTIVE)
    }

    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::ffi::c_int;
    use std::mem::MaybeUninit;

    type Set = unsafe extern "C" fn(*mut libc::pthread_mutexattr_t, c_int) -> c_int;

    /// Whether threads may spin for a mutex with this attribute. Looks at it free and held.
    fn may_spin(set: Set, value: c_int) -> bool {
        let mut attributes = MaybeUninit::uninit();
        let mut mutex = MaybeUninit::uninit();
        // SAFETY: both are initialised before use; one thread holds the mutex and
        // releases it (pthread_mutex_init(3)).
        unsafe {
            assert_eq!(libc::pthread_mutexattr_init(attributes.as_mut_ptr()), 0);
            assert_eq!(set(attributes.as_mut_ptr(), value), 0);
            assert_eq!(libc::pthread_mutex_init(mutex.as_mut_ptr(), attributes.as_ptr()), 0);
            let seen = &*mutex.as_ptr().cast::<Mutex>();
            assert!(!seen.is_held());
            assert_eq!(libc::pthread_mutex_lock(mutex.as_mut_ptr()), 0);
            assert!(seen.is_held());
            let allows = seen.allows_spinning();
            assert_eq!(libc::pthread_mutex_unlock(mutex.as_mut_ptr()), 0);
            assert!(!seen.is_held());
            allows
        }
    }

    #[test]
    fn only_plain_mutexes_of_one_process_allow_spinning() {
        let of_type = |kind| may_spin(libc::pthread_mutexattr_settype, kind);
        assert!(of_type(libc::PTHREAD_MUTEX_NORMAL));
        let initializer = libc::PTHREAD_MUTEX_INITIALIZER;
        // SAFETY: it is larger than what is read.
        let of_initializer = unsafe { &*std::ptr::from_ref(&initializer).cast::<Mutex>() };
        assert!(of_initializer.allows_spinning() && !of_initializer.is_held());
        assert!(of_type(ADAPTIVE as c_int));
        assert!(!of_type(libc::PTHREAD_MUTEX_RECURSIVE));
        assert!(!of_type(libc::PTHREAD_MUTEX_ERRORCHECK));
        let (inherit, shared) = (libc::PTHREAD_PRIO_INHERIT, libc::PTHREAD_PROCESS_SHARED);
        assert!(!may_spin(libc::pthread_mutexattr_setrobust, libc::PTHREAD_MUTEX_ROBUST));
        assert!(!may_spin(libc::pthread_mutexattr_setprotocol, inherit));
        assert!(!may_spin(libc::pthread_mutexattr_setpshared, shared));
    }
}
