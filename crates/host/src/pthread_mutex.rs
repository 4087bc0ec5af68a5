//! The C library's mutex, for comparison: `pthread_mutex_lock(3)`.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::error::{Error, Result};

/// A kind of `pthread_mutexattr_settype(3)` or `pthread_mutexattr_setprotocol(3)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MutexKind {
    /// Parks at once if it is taken.
    Normal,
    /// Spins for an adaptive time first (`PTHREAD_MUTEX_ADAPTIVE_NP`); glibc
    /// only.
    Adaptive,
    /// Lends its owner the priority of the waiters (`PTHREAD_PRIO_INHERIT`).
    PriorityInheriting,
}

/// A mutex without data.
#[derive(Debug)]
pub struct PthreadMutex {
    /// Boxed: a mutex must not move once it is in use.
    mutex: Box<UnsafeCell<libc::pthread_mutex_t>>,
}

// SAFETY: a mutex that does not move may be locked and unlocked by any thread
// (pthread_mutex_lock(3)); nothing else touches the memory.
unsafe impl Send for PthreadMutex {}
// SAFETY: as above.
unsafe impl Sync for PthreadMutex {}

impl PthreadMutex {
    /// Creates an unlocked mutex.
    ///
    /// # Errors
    /// `Unsupported` if this C library lacks the kind; `Syscall` if the kernel
    /// refuses it.
    pub fn new(kind: MutexKind) -> Result<Self> {
        let mut attributes = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        // SAFETY: pthread_mutexattr_init(3) fills what it is given.
        let code = unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) };
        worked("pthread_mutexattr_init", code)?;
        let made = choose(attributes.as_mut_ptr(), kind)
            .and_then(|()| Self::with_attributes(attributes.as_ptr()));
        // SAFETY: it was initialised above, and is not used after this.
        unsafe { libc::pthread_mutexattr_destroy(attributes.as_mut_ptr()) };
        made
    }

    fn with_attributes(attributes: *const libc::pthread_mutexattr_t) -> Result<Self> {
        let mutex = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        // SAFETY: the mutex is in its final place, nobody has used it, and the
        // attributes are initialised: `new` is the only caller.
        let code = unsafe { libc::pthread_mutex_init(mutex.get(), attributes) };
        worked("pthread_mutex_init", code)?;
        Ok(Self { mutex })
    }

    /// Locks the mutex, runs `section`, and unlocks it, even if `section`
    /// panics.
    #[inline]
    pub fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        // SAFETY: it is initialised and stays in its place. The thread does not
        // hold it: `section` would have to reach this mutex again, which would
        // hang (Normal) but is not undefined behaviour.
        let code = unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        assert_eq!(code, 0, "pthread_mutex_lock failed");
        let _unlocks = Unlocks(self);
        section()
    }
}

impl Drop for PthreadMutex {
    fn drop(&mut self) {
        // SAFETY: there is no other reference to it, so no thread holds it.
        unsafe { libc::pthread_mutex_destroy(self.mutex.get()) };
    }
}

/// Unlocks when it is dropped, on the thread that locked.
struct Unlocks<'a>(&'a PthreadMutex);

impl Drop for Unlocks<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `with` has locked it on this thread, and not unlocked since.
        unsafe { libc::pthread_mutex_unlock(self.0.mutex.get()) };
    }
}

/// Sets the attributes of this kind.
fn choose(attributes: *mut libc::pthread_mutexattr_t, kind: MutexKind) -> Result<()> {
    match kind {
        MutexKind::Normal => Ok(()),
        MutexKind::Adaptive => adaptive(attributes),
        MutexKind::PriorityInheriting => priority_inheriting(attributes),
    }
}

#[cfg(target_env = "gnu")]
fn adaptive(attributes: *mut libc::pthread_mutexattr_t) -> Result<()> {
    // SAFETY: `attributes` is initialised.
    let code =
        unsafe { libc::pthread_mutexattr_settype(attributes, libc::PTHREAD_MUTEX_ADAPTIVE_NP) };
    worked("pthread_mutexattr_settype", code)
}

#[cfg(not(target_env = "gnu"))]
fn adaptive(_: *mut libc::pthread_mutexattr_t) -> Result<()> {
    Err(Error::Unsupported("only glibc has adaptive mutexes".to_owned()))
}

#[cfg(not(target_os = "android"))]
fn priority_inheriting(attributes: *mut libc::pthread_mutexattr_t) -> Result<()> {
    // SAFETY: `attributes` is initialised.
    let code =
        unsafe { libc::pthread_mutexattr_setprotocol(attributes, libc::PTHREAD_PRIO_INHERIT) };
    worked("pthread_mutexattr_setprotocol", code)
}

#[cfg(target_os = "android")]
fn priority_inheriting(_: *mut libc::pthread_mutexattr_t) -> Result<()> {
    Err(Error::Unsupported("the libc crate has no priority inheritance for Android".to_owned()))
}

/// These functions return their error instead of setting `errno`.
fn worked(name: &'static str, code: i32) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(Error::syscall(name, "a mutex", std::io::Error::from_raw_os_error(code))),
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn every_kind_excludes() {
        for kind in [MutexKind::Normal, MutexKind::Adaptive, MutexKind::PriorityInheriting] {
            let mutex = match PthreadMutex::new(kind) {
                Err(Error::Unsupported(_)) => continue,
                other => other.unwrap(),
            };
            let count = AtomicU64::new(0);
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        for _ in 0..2_000 {
                            mutex.with(|| {
                                let seen = count.load(Ordering::Relaxed);
                                std::hint::black_box(seen);
                                count.store(seen + 1, Ordering::Relaxed);
                            });
                        }
                    });
                }
            });
            assert_eq!(count.load(Ordering::Relaxed), 6_000, "{kind:?}");
        }
    }

    #[test]
    fn a_panic_unlocks_it() {
        let mutex = PthreadMutex::new(MutexKind::Normal).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| mutex.with(|| panic!("in the section"))));
        assert!(panicked.is_err());
        assert_eq!(mutex.with(|| 7), 7);
    }
}
