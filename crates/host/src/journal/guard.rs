//! The guards that a session gives out.

use std::os::fd::OwnedFd;

use super::shared::Shared;
use super::taken::{Made, Taken, TurnedOn};
use crate::error::Result;

/// A knob that is held. Dropping it puts the knob back to what it was, unless
/// somebody else has changed it meanwhile.
///
/// Where one session holds the same knob twice, dropping the later guard
/// gives it back the earlier one's value, and dropping the last one of them
/// puts it back, in whatever order that happens.
#[derive(Debug)]
#[must_use = "the knob is put back when this is dropped"]
pub struct Knob {
    shared: Shared,
    taken: Taken,
}

/// A directory that is held. Dropping it removes the directory.
#[derive(Debug)]
#[must_use = "the directory is removed when this is dropped"]
pub struct Directory {
    shared: Shared,
    made: Made,
}

/// A swap area that is held. Dropping it turns the area off.
#[derive(Debug)]
#[must_use = "the swap area is turned off when this is dropped"]
pub struct SwapArea {
    shared: Shared,
    turned_on: TurnedOn,
}

impl Knob {
    pub(super) fn new(shared: Shared, taken: Taken) -> Self {
        Self { shared, taken }
    }

    /// Where it lies on the machine, without symbolic links.
    pub fn path(&self) -> &str {
        &self.taken.path
    }

    /// What it read before this guard.
    pub fn before(&self) -> &str {
        &self.taken.before
    }

    /// The value that this guard was made with, as it was written.
    pub fn asked(&self) -> &str {
        &self.taken.asked
    }

    /// The value that this guard gave it last, as the kernel spells it.
    pub fn value(&self) -> String {
        self.shared.lock().value(self.taken.seq, self.taken.layer)
    }

    /// Gives it another value. The first time that a value is used, it is
    /// written down before, without waiting for the disk; after that, a
    /// change is one write and one read of the knob and nothing else.
    ///
    /// Where a later guard holds the same knob, the value is put in force
    /// when that one is dropped.
    ///
    /// # Errors
    /// The kernel's refusal, or a journal that cannot be written; the knob
    /// then has the value it had.
    pub fn set(&self, value: &str) -> Result<()> {
        self.shared.lock().set(self.taken.seq, self.taken.layer, value)
    }

    /// Whether the knob reads as this session left it: nobody else has given
    /// it another value meanwhile, and it is still there.
    pub fn is_as_left(&self) -> bool {
        self.shared.lock().is_as_left(self.taken.seq)
    }
}

impl Drop for Knob {
    fn drop(&mut self) {
        self.shared.lock().release(self.taken.seq, self.taken.layer);
    }
}

impl Directory {
    pub(super) fn new(shared: Shared, made: Made) -> Self {
        Self { shared, made }
    }

    /// Where it lies on the machine.
    pub fn path(&self) -> &str {
        self.made.place.path()
    }

    /// Opens it, to reach the files in it with `openat(2)`. The way by its
    /// path does not exist where its file system is mounted nowhere.
    ///
    /// # Errors
    /// Somebody else has removed it.
    pub fn open(&self) -> Result<OwnedFd> {
        self.made.place.enter()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.shared.lock().remove(self.made.seq);
    }
}

impl SwapArea {
    pub(super) fn new(shared: Shared, turned_on: TurnedOn) -> Self {
        Self { shared, turned_on }
    }

    /// Its device.
    pub fn path(&self) -> &str {
        &self.turned_on.path
    }
}

impl Drop for SwapArea {
    fn drop(&mut self) {
        self.shared.lock().remove(self.turned_on.seq);
    }
}
