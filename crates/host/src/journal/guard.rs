//! The guards of a session's changes.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::shared_state::SharedState;
use super::taken::{ActiveSwapArea, AddedZram, MadeDirectory, TakenKnob};
use crate::error::Result;
use crate::root::Root;
use crate::{swap_switch, zram_device};

/// A changed knob. Dropping it puts the old value back, unless another program
/// has changed the knob meanwhile.
///
/// If one session holds the same knob twice, dropping the later guard gives
/// the knob the earlier guard's value, and dropping the last remaining guard
/// puts it back. Any order of drops works.
#[derive(Debug)]
#[must_use = "the knob is put back when this is dropped"]
pub struct Knob {
    shared: SharedState,
    taken: TakenKnob,
}

/// A directory that the session made. Dropping it removes the directory.
#[derive(Debug)]
#[must_use = "the directory is removed when this is dropped"]
pub struct Directory {
    shared: SharedState,
    made: MadeDirectory,
}

/// A swap area that the session turned on. Dropping it turns the area off.
#[derive(Debug)]
#[must_use = "the swap area is turned off when this is dropped"]
pub struct SwapArea {
    shared: SharedState,
    turned_on: ActiveSwapArea,
}

/// A zram device that the session added. Dropping it removes the device with its
/// content.
#[derive(Debug)]
#[must_use = "the zram device is removed when this is dropped"]
pub struct Zram {
    shared: SharedState,
    added: AddedZram,
    node: PathBuf,
}

impl Knob {
    pub(super) fn new(shared: SharedState, taken: TakenKnob) -> Self {
        Self { shared, taken }
    }

    /// Its path on the machine, without symbolic links.
    pub fn path(&self) -> &str {
        &self.taken.path
    }

    /// Its value before this guard.
    pub fn before(&self) -> &str {
        &self.taken.before
    }

    /// The value requested when this guard was made.
    pub fn asked(&self) -> &str {
        &self.taken.asked
    }

    /// The last value that this guard gave it, as the kernel spells it.
    pub fn value(&self) -> String {
        self.shared.lock().value(self.taken.seq, self.taken.layer)
    }

    /// Gives it another value. A value that is used for the first time is
    /// written to the journal before, without waiting for the disk. Otherwise
    /// this is one write and one read of the knob.
    ///
    /// If a later guard holds the same knob, the value takes effect when that
    /// guard is dropped.
    ///
    /// # Errors
    /// The kernel's refusal, or a journal that cannot be written; the knob
    /// keeps its value then.
    pub fn set(&self, value: &str) -> Result<()> {
        self.shared.lock().set(self.taken.seq, self.taken.layer, value)
    }

    /// Whether the knob still has the value that this session gave it: it
    /// exists, and no other program has changed it.
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
    pub(super) fn new(shared: SharedState, made: MadeDirectory) -> Self {
        Self { shared, made }
    }

    /// Its path on the machine.
    pub fn path(&self) -> &str {
        self.made.place.path()
    }

    /// Opens it, for access to its files with `openat(2)`. Its path does not
    /// work if its file system is not mounted.
    ///
    /// # Errors
    /// `File` if another program has removed it.
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
    pub(super) fn new(shared: SharedState, turned_on: ActiveSwapArea) -> Self {
        Self { shared, turned_on }
    }

    /// Path of its device.
    pub fn path(&self) -> &str {
        &self.turned_on.path
    }
}

impl Drop for SwapArea {
    fn drop(&mut self) {
        self.shared.lock().remove(self.turned_on.seq);
    }
}

impl Zram {
    pub(super) fn new(shared: SharedState, added: AddedZram, root: &Root) -> Result<Self> {
        let node = zram_device::node(root, added.number);
        let zram = Self { shared, added, node: node.as_deref().unwrap_or(Path::new("")).into() };
        node.map(|_| zram)
    }

    /// Its number: 2 for `/dev/zram2`.
    pub fn number(&self) -> u32 {
        self.added.number
    }

    /// Path of its device.
    pub fn path(&self) -> &Path {
        &self.node
    }

    /// Swaps to it, in preference to all other areas. It is turned off when it is removed.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn swap_on(&self) -> Result<()> {
        swap_switch::turn_on(&self.node, swap_switch::HIGHEST, true)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        self.shared.lock().remove(self.added.seq);
    }
}
