//! Writing back by age alone, where it is not known which pages are in zram.

use std::thread::{self, JoinHandle};

use unjank_host::{Bytes, Nanos};

use super::zram::{Stopped, Zram};

/// A sweep that is under way: the kernel writes page after page, and cannot be interrupted.
pub(super) struct Sweep {
    thread: JoinHandle<Result<(), Stopped>>,
    /// The most that it may write. It counts as spent until the sweep is over.
    pub(super) charged: Bytes,
}

impl Sweep {
    /// Has the kernel write back all pages that were not used for `age`.
    ///
    /// # Errors
    /// Why it does not begin.
    pub(super) fn start(zram: &Zram, age: Nanos, charged: Bytes) -> Result<Self, Stopped> {
        // A device that was reset has no pages to mark.
        let sweeper = zram.mark_older(age).and_then(|()| zram.sweeper());
        let sweeper = sweeper.map_err(|_| Stopped::NoDevice)?;
        let thread = thread::Builder::new().spawn(move || sweeper.write_marked_back());
        Ok(Self { thread: thread.map_err(|_| Stopped::LimitOrFailure)?, charged })
    }

    pub(super) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for its end. Returns why it has not written everything.
    pub(super) fn end(self) -> Option<Stopped> {
        self.thread.join().unwrap_or(Err(Stopped::LimitOrFailure)).err()
    }
}
