//! Changes that a session has just made, for its guards.

use super::directory::DirectoryPlace;

/// A knob that a session has just changed.
#[derive(Debug)]
pub(super) struct TakenKnob {
    pub(super) seq: u64,
    pub(super) layer: u64,
    pub(super) path: String,
    pub(super) asked: String,
    pub(super) before: String,
}

/// A directory that a session has just made.
#[derive(Debug)]
pub(super) struct MadeDirectory {
    pub(super) seq: u64,
    pub(super) place: DirectoryPlace,
}

/// A zram device that a session has just set up.
#[derive(Debug)]
pub(super) struct AddedZram {
    pub(super) seq: u64,
    pub(super) number: u32,
}

/// A swap area that a session has just turned on.
#[derive(Debug)]
pub(super) struct ActiveSwapArea {
    pub(super) seq: u64,
    pub(super) path: String,
}
