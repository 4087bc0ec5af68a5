//! Failure for tests. Every step that changes the machine or a journal asks
//! here first, and in a test it can be told that it fails: from some step on,
//! as if the process had been killed there, or just once, as if the kernel
//! had refused. Outside tests this is nothing.

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in a test it can fail")]
pub(super) const fn burn() -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(super) use armed::{burn, disarm, kill_after, refuse_after};

#[cfg(test)]
mod armed {
    use std::cell::Cell;
    use std::io;

    #[derive(Clone, Copy)]
    enum Fuse {
        Off,
        KillAfter(u32),
        RefuseAfter(u32),
    }

    thread_local! {
        static FUSE: Cell<Fuse> = const { Cell::new(Fuse::Off) };
    }

    /// From now on `steps` steps of this thread work, and none after them.
    pub(in crate::journal) fn kill_after(steps: u32) {
        FUSE.set(Fuse::KillAfter(steps));
    }

    /// From now on `steps` steps of this thread work, and the next one fails.
    pub(in crate::journal) fn refuse_after(steps: u32) {
        FUSE.set(Fuse::RefuseAfter(steps));
    }

    /// Everything works again; says whether the kill had come.
    pub(in crate::journal) fn disarm() -> bool {
        matches!(FUSE.replace(Fuse::Off), Fuse::KillAfter(0))
    }

    /// One step.
    pub(in crate::journal) fn burn() -> io::Result<()> {
        let (next, works) = match FUSE.get() {
            Fuse::Off => (Fuse::Off, true),
            Fuse::KillAfter(0) => (Fuse::KillAfter(0), false),
            Fuse::KillAfter(steps) => (Fuse::KillAfter(steps - 1), true),
            Fuse::RefuseAfter(0) => (Fuse::Off, false),
            Fuse::RefuseAfter(steps) => (Fuse::RefuseAfter(steps - 1), true),
        };
        FUSE.set(next);
        works.then_some(()).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
    }
}
