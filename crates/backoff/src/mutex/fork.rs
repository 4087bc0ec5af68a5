//! The child of `fork(2)`: it has one thread, and what the parent's others have
//! left behind in its memory.
//!
//! A child that finds another thread's watch in the table would hold its locks
//! the slow way for ever, and one that finds somebody asking the kernel for
//! plain sections would wait for an answer that nobody brings. So both are
//! forgotten before `fork` returns there. What other threads held stays held;
//! no lock could do better without their state.

#![allow(unsafe_code)]

use super::watch;

/// Has a child of `fork` begin without the watches of its parent's threads.
/// Says whether it will. To be called once.
pub(super) fn forget_watches_in_children() -> bool {
    // SAFETY: pthread_atfork(3) keeps the address of a function, which is there
    // for as long as this library is: it forgets what a library has registered
    // when that is unloaded.
    let failed = unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
    failed == 0
}

/// Stores to atomics only: after a fork of several threads, a child may do no
/// more than a signal handler (`pthread_atfork(3)`, `signal-safety(7)`).
extern "C" fn in_the_child() {
    watch::forget();
}

#[cfg(all(test, not(miri)))]
mod tests {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::super::watch::{Watch, allow_plain_sections};
    use super::*;
    use crate::mutex::RawMutex;

    /// The right to fork, or to ask the kernel: a child finds its parent in the
    /// middle of another test's otherwise.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The exit code of a child that does this.
    fn child(does: impl FnOnce() -> bool) -> i32 {
        // SAFETY: the child makes no call but those of `does`, which take and
        // release locks, and _exit(2).
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "fork failed");
        if child == 0 {
            let code = i32::from(!does());
            // SAFETY: _exit(2) runs nothing of the parent's.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: waitpid(2) writes the status to the address.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status));
        libc::WEXITSTATUS(status)
    }

    #[test]
    fn a_child_has_plain_sections_while_its_parent_is_watched() {
        let _alone = alone();
        if !watch::are_allowed() {
            return;
        }
        let lock = RawMutex::new();
        let watch = Watch::of(core::ptr::from_ref(&lock).addr());
        watch.begin();
        let plain = child(|| {
            let kept = watch.is_kept();
            lock.acquire();
            lock.release();
            !kept && !lock.is_held()
        });
        assert!(watch.is_kept(), "the parent is still watched");
        watch.end();
        assert_eq!(plain, 0, "the child is watched by a thread that it does not have");
    }

    #[test]
    fn a_child_can_ask_for_plain_sections_while_its_parent_asks() {
        let _alone = alone();
        if !watch::are_allowed() {
            return;
        }
        watch::while_asking(|| {
            let asked = child(|| {
                allow_plain_sections();
                !Watch::of(0).is_kept()
            });
            assert_eq!(asked, 0, "the child waits for an answer that nobody brings");
        });
    }

    #[test]
    fn it_can_be_registered() {
        // Twice in a process: the child then forgets twice.
        assert!(forget_watches_in_children());
    }
}
