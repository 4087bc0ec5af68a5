//! The pages of the fast backing, and what is under way with each.

use super::map::{Frame, Slot};

/// One page of the fast backing.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(super) struct State {
    /// The slot whose page it holds.
    pub(super) slot: Slot,
    /// Transfers of requests that are under way.
    pub(super) pins: u16,
    /// Storage has an old copy, or none.
    pub(super) dirty: bool,
    /// The policy does not keep the page.
    pub(super) evicting: bool,
    /// The page waits to be copied to storage, or is being copied.
    pub(super) writeback: bool,
    /// The page was written since it began to be copied (or a request used it then), or since a
    /// write to storage began.
    pub(super) rewritten: bool,
    /// No slot's page any more: free when no request uses it.
    pub(super) orphan: bool,
    /// The data was lost in a failed write.
    pub(super) lost: bool,
}

/// All frames.
#[derive(Debug)]
pub(super) struct Frames {
    states: Box<[State]>,
    free: Vec<Frame>,
}

impl Frames {
    pub(super) fn new(count: Frame) -> Self {
        let free = (0..count).rev().collect();
        Self { states: vec![State::default(); count as usize].into(), free }
    }

    /// Takes a free frame for a slot.
    pub(super) fn take(&mut self, slot: Slot) -> Option<Frame> {
        let frame = self.free.pop()?;
        self[frame] = State { slot, ..State::default() };
        Some(frame)
    }

    /// Keeps only the frames free that `is_free`.
    pub(super) fn retain_free(&mut self, is_free: impl Fn(Frame) -> bool) {
        self.free.retain(|frame| is_free(*frame));
    }

    pub(super) fn give_back(&mut self, frame: Frame) {
        debug_assert!(!self.free.contains(&frame), "{frame} is free already");
        self.free.push(frame);
    }

    /// How many are free.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    pub(super) fn count(&self) -> Frame {
        self.states.len() as Frame
    }
}

impl std::ops::Index<Frame> for Frames {
    type Output = State;

    fn index(&self, frame: Frame) -> &State {
        &self.states[frame as usize]
    }
}

impl std::ops::IndexMut<Frame> for Frames {
    fn index_mut(&mut self, frame: Frame) -> &mut State {
        &mut self.states[frame as usize]
    }
}
