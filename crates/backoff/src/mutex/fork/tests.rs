//! Children of a process whose threads watch or register.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::plain_sections::{allow_plain_sections, are_allowed, while_asking};
use super::super::watch::Watch;
use super::*;
use crate::mutex::RawMutex;

/// Serialises the tests: a child must not be forked in the middle of another test.
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
    if !are_allowed() {
        return;
    }
    let lock = RawMutex::new();
    let watch = Watch::of(core::ptr::from_ref(&lock).addr());
    watch.begin();
    let plain = child(|| {
        let kept = watch.is_watched();
        lock.acquire();
        lock.release();
        !kept && !lock.is_held()
    });
    assert!(watch.is_watched(), "the parent is still watched");
    watch.end();
    assert_eq!(plain, 0, "a thread of the parent still watches in the child");
}

#[test]
fn a_child_can_ask_for_plain_sections_while_its_parent_asks() {
    let _alone = alone();
    if !are_allowed() {
        return;
    }
    while_asking(|| {
        let asked = child(|| {
            allow_plain_sections();
            !Watch::of(0).is_watched()
        });
        assert_eq!(asked, 0, "the child waits for the parent's registration");
    });
}

#[test]
fn it_can_be_registered() {
    // Twice in a process: the child then forgets twice.
    assert!(forget_watches_in_children());
}
