//! A failpoint for tests. Every step that changes the machine or a journal
//! calls [`check`] first. A test can make it fail from some step on, as if the
//! process had been killed there, or once, as if the kernel had refused the
//! step. Outside tests it does nothing.

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in a test it can fail")]
pub(super) const fn check() -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(super) use armed::{check, disarm, kill_after, refuse_after};

#[cfg(test)]
mod armed {
    use std::cell::Cell;
    use std::io;

    #[derive(Clone, Copy)]
    enum Failpoint {
        Off,
        KillAfter(u32),
        RefuseAfter(u32),
    }

    thread_local! {
        static FAILPOINT: Cell<Failpoint> = const { Cell::new(Failpoint::Off) };
    }

    /// Lets the next `steps` steps of this thread succeed, and none after them.
    pub(in crate::journal) fn kill_after(steps: u32) {
        FAILPOINT.set(Failpoint::KillAfter(steps));
    }

    /// Lets the next `steps` steps of this thread succeed, and the one after
    /// them fail.
    pub(in crate::journal) fn refuse_after(steps: u32) {
        FAILPOINT.set(Failpoint::RefuseAfter(steps));
    }

    /// Lets all steps succeed again; returns whether the kill had happened.
    pub(in crate::journal) fn disarm() -> bool {
        matches!(FAILPOINT.replace(Failpoint::Off), Failpoint::KillAfter(0))
    }

    /// Counts one step, and fails if a test has chosen it.
    pub(in crate::journal) fn check() -> io::Result<()> {
        let (next, works) = match FAILPOINT.get() {
            Failpoint::Off => (Failpoint::Off, true),
            Failpoint::KillAfter(0) => (Failpoint::KillAfter(0), false),
            Failpoint::KillAfter(steps) => (Failpoint::KillAfter(steps - 1), true),
            Failpoint::RefuseAfter(0) => (Failpoint::Off, false),
            Failpoint::RefuseAfter(steps) => (Failpoint::RefuseAfter(steps - 1), true),
        };
        FAILPOINT.set(next);
        works.then_some(()).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
    }
}
