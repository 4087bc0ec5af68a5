//! What is done for each request: pure, in constant time, without an allocation.
//!
//! A request is served page by page. The engine says the next [`Next::Step`] of a page; whoever
//! performs it reports its end ([`Engine::finished`]) and is told the next one or the reply. Pages
//! that leave the tier are copied to storage apart from requests ([`Engine::next_copy`],
//! [`Engine::copied`]). No request ever waits for another:
//!
//! - A page that is to enter while no frame is free is written to storage instead, and the policy
//!   is told.
//! - A page that is written while its old data is being used or copied is written over in its
//!   frame, whatever the policy says, and copied to storage afterwards.
//!
//! A frame is used for another page only when no request reads it any more and storage has its
//! data. The [`Map`] names another place for a page only when its data is there, or when a write to
//! that place has begun, which the kernel repeats if the server dies before its reply. So the
//! server may die at any moment.
//!
//! Two writes of one page at the same time are not expected (the kernel never swaps like that): the
//! page is then one of the two, and its checksum may be that of the other, so that it cannot be
//! read. A read beside a write returns any of both, or an error if its checksum is the other's.

use std::collections::VecDeque;

use unjank_cachesim::page::Page;
use unjank_cachesim::tier::device::{PagePolicy, SlotPolicy, Writes};
use unjank_cachesim::tier::{Key, Left, Level};
use unjank_host::Nanos;

use super::counts::Counts;
use super::frames::{Frames, State};
use super::map::{Frame, Map, Slot, Sum};
use super::step::{Copy, End, Next, Part, Reply, Step, Transfer};

/// Pages that leave at a request because the policy returns them to storage.
const LEAVE_AT_ONCE: usize = 8;

/// The state of the tier.
pub struct Engine {
    policy: Box<dyn SlotPolicy + Send>,
    map: Map,
    frames: Frames,
    /// Frames that wait to be copied to storage.
    to_copy: VecDeque<Frame>,
    /// Frames whose copy failed.
    failed: Vec<Frame>,
    /// Frames that pages are about to enter after a read. A write or a discard of the slot ends it.
    entering: Vec<Frame>,
    counts: Counts,
}

impl Engine {
    /// Takes over the pages that the map places in frames. `policy` holds nothing yet.
    /// `frames` counts all frames; the policy's tier should be smaller, so that there is a frame
    /// for a page that enters before the one that leaves was copied.
    ///
    /// # Errors
    /// The map names a frame twice or one that does not exist: the slot.
    pub fn resume(
        mut policy: Box<dyn SlotPolicy + Send>,
        map: Map,
        frames: Frame,
    ) -> Result<Self, Slot> {
        let mut states = Frames::new(frames);
        let mut is_used = vec![false; frames as usize];
        for slot in 0..map.slots() {
            let Some(frame) = map.frame(slot) else { continue };
            match is_used.get_mut(frame as usize) {
                Some(used) if !*used => *used = true,
                _ => return Err(slot),
            }
            states[frame] = State { slot, dirty: true, ..State::default() };
        }
        states.retain_free(|frame| !is_used[frame as usize]);
        let (mut left, capacity) = (Vec::new(), frames as usize);
        for slot in (0..map.slots()).filter(|slot| map.frame(*slot).is_some()) {
            left.extend(policy.resume(Page(slot)));
        }
        let mut engine = Self {
            policy,
            map,
            frames: states,
            to_copy: VecDeque::with_capacity(capacity),
            failed: Vec::with_capacity(capacity),
            entering: Vec::with_capacity(capacity),
            counts: Counts::default(),
        };
        for left in left {
            engine.leave(left);
        }
        Ok(engine)
    }

    /// The slots of the device.
    pub fn slots(&self) -> Slot {
        self.map.slots()
    }

    /// Pages since the start.
    pub fn counts(&self) -> Counts {
        let naming = self.policy.by_page().map(PagePolicy::naming).unwrap_or_default();
        Counts { named: naming.named, not_named: naming.missed, ..self.counts }
    }

    /// The writes so far, if the policy is to be told which pages the slots hold.
    pub fn writes(&self) -> Option<Writes> {
        self.policy.by_page().map(PagePolicy::writes)
    }

    /// A slot held this page when there had been so many writes.
    pub fn name(&mut self, slot: Slot, page: Key, as_of: Writes, at: Nanos) {
        if let Some(policy) = self.policy.by_page_mut() {
            policy.name(Page(slot), page, as_of, at);
        }
    }

    /// Frames, and how many of them are free.
    pub fn frames(&self) -> (Frame, Frame) {
        (self.frames.count(), self.frames.free() as Frame)
    }

    /// A page is written.
    pub fn write(&mut self, part: Part, slot: Slot, at: Nanos) -> Step {
        self.let_leave(at);
        self.cancel_entry(slot);
        let placed = self.policy.write(Page(slot), at);
        if let Some(left) = placed.left {
            self.leave(left);
        }
        let transfer = match (placed.level, self.map.frame(slot)) {
            (Level::Tier, Some(frame)) => self.write_over(frame, false),
            (Level::Tier, None) => self
                .take_frame(slot)
                .map_or(Transfer::WriteSlow(None), |frame| self.write_new(frame)),
            (Level::Storage, Some(frame)) => {
                let state = &mut self.frames[frame];
                if state.pins > 0 || state.writeback {
                    self.write_over(frame, true)
                } else {
                    (state.pins, state.rewritten) = (1, false);
                    Transfer::WriteSlow(Some(frame))
                }
            }
            (Level::Storage, None) => Transfer::WriteSlow(None),
        };
        if transfer == Transfer::WriteSlow(None) {
            self.map.forget_sum(slot);
        }
        Step { part, slot, transfer }
    }

    /// A page is read.
    pub fn read(&mut self, part: Part, slot: Slot, at: Nanos) -> Next {
        self.let_leave(at);
        let read = self.policy.read(Page(slot), at);
        if let Some(left) = read.left {
            self.leave(left);
        }
        let transfer = match self.map.frame(slot) {
            Some(frame) if self.frames[frame].lost => return Next::Reply(Reply::Failed),
            Some(frame) => {
                let state = &mut self.frames[frame];
                state.pins += 1;
                if read.enters {
                    state.evicting = false;
                }
                Transfer::ReadFast(frame)
            }
            None if !read.enters => Transfer::ReadSlow(None),
            None => {
                let frame = self.take_frame(slot);
                if let Some(frame) = frame {
                    self.frames[frame].pins = 1;
                    self.entering.push(frame);
                }
                Transfer::ReadSlow(frame)
            }
        };
        Next::Step(Step { part, slot, transfer })
    }

    /// A slot holds no page any more.
    pub fn discard(&mut self, slot: Slot) {
        self.cancel_entry(slot);
        self.policy.discard(Page(slot));
        self.map.forget_sum(slot);
        let Some(frame) = self.map.frame(slot) else { return };
        let state = &mut self.frames[frame];
        if state.writeback || state.pins > 0 {
            // Something may still write the slot's place, so a new page goes to this frame.
            state.evicting = true;
        } else {
            self.map.set_slow(slot);
            self.free(frame);
        }
    }

    /// A transfer has ended.
    pub fn finished(&mut self, step: Step, end: End) -> Next {
        let Step { part, slot, transfer } = step;
        self.count(transfer, end);
        match (transfer, end) {
            (Transfer::ReadFast(frame), end) => {
                self.unpin(frame);
                self.checked(slot, end)
            }
            (Transfer::ReadSlow(None), end) => self.checked(slot, end),
            (Transfer::ReadSlow(Some(frame)), end) => match self.checked(slot, end) {
                Next::Reply(Reply::Done) if self.entering.contains(&frame) => {
                    Next::Step(Step { part, slot, transfer: Transfer::Promote(frame) })
                }
                reply => {
                    self.end_entry(frame, false);
                    reply
                }
            },
            (Transfer::Promote(frame), end) => {
                self.end_entry(frame, end != End::Failed);
                Next::Reply(Reply::Done)
            }
            (Transfer::WriteFast(frame), End::Done(sum)) => {
                self.frames[frame].lost = false;
                self.map.set_sum(slot, sum);
                self.unpin(frame);
                Next::Reply(Reply::Done)
            }
            (Transfer::WriteFast(frame), End::Failed) => {
                self.frames[frame].lost = true;
                self.policy.not_taken(Page(slot));
                let is_copied = self.frames[frame].writeback || self.frames[frame].pins > 1;
                if is_copied {
                    self.unpin(frame);
                    return Next::Reply(Reply::Failed);
                }
                self.frames[frame].rewritten = false;
                Next::Step(Step { part, slot, transfer: Transfer::WriteSlow(Some(frame)) })
            }
            (Transfer::WriteSlow(None), End::Done(sum)) => {
                self.written_slow(slot, sum);
                Next::Reply(Reply::Done)
            }
            (Transfer::WriteSlow(None), End::Failed) => Next::Reply(Reply::Failed),
            (Transfer::WriteSlow(Some(frame)), End::Done(sum)) => {
                let state = &mut self.frames[frame];
                if !state.rewritten {
                    state.orphan = true;
                    self.policy.not_taken(Page(slot));
                    self.map.set_slow(slot);
                    self.map.set_sum(slot, sum);
                }
                self.unpin(frame);
                Next::Reply(Reply::Done)
            }
            (Transfer::WriteSlow(Some(frame)), End::Failed) => {
                self.frames[frame].evicting = true;
                self.unpin(frame);
                Next::Reply(Reply::Failed)
            }
        }
    }

    /// The next frame to be copied to storage.
    pub fn next_copy(&mut self) -> Option<Copy> {
        loop {
            let frame = self.to_copy.pop_front()?;
            let state = &mut self.frames[frame];
            if state.evicting && !state.lost {
                state.rewritten = state.pins > 0;
                return Some(Copy { frame, slot: state.slot });
            }
            state.writeback = false;
            self.settle(frame);
        }
    }

    /// A copy has ended. `sum` is that of the data that was copied.
    pub fn copied(&mut self, copy: Copy, end: End) {
        let Copy { frame, slot } = copy;
        self.counts.copies += 1;
        self.counts.slow_writes += 1;
        let is_right = match end {
            End::Done(sum) => self.frames[frame].rewritten || self.map.is_right(slot, sum),
            End::Failed => false,
        };
        if !is_right {
            if end == End::Failed {
                self.counts.slow_failed += 1;
                self.failed.push(frame);
            } else {
                self.counts.wrong += 1;
                self.frames[frame].lost = true;
                self.frames[frame].writeback = false;
            }
            return;
        }
        let state = &mut self.frames[frame];
        state.writeback = false;
        if !state.rewritten {
            state.dirty = false;
        }
        self.settle(frame);
    }

    /// Copies that failed are tried again.
    pub fn retry(&mut self) {
        self.to_copy.extend(self.failed.drain(..));
    }

    /// A page was written to the slow backing. A read meanwhile may have copied its old data to a
    /// frame.
    fn written_slow(&mut self, slot: Slot, sum: Sum) {
        self.cancel_entry(slot);
        if let Some(frame) = self.map.frame(slot) {
            if self.frames[frame].dirty {
                // A later write was quicker.
                return;
            }
            self.frames[frame].orphan = true;
            self.policy.not_taken(Page(slot));
            self.map.set_slow(slot);
            self.settle(frame);
        }
        self.map.set_sum(slot, sum);
    }

    /// A free frame for a page that is to enter. Without one, the policy is told.
    fn take_frame(&mut self, slot: Slot) -> Option<Frame> {
        let frame = self.frames.take(slot);
        if frame.is_none() {
            self.counts.no_frame += 1;
            self.policy.not_taken(Page(slot));
        }
        frame
    }

    /// Writes a frame that was free.
    fn write_new(&mut self, frame: Frame) -> Transfer {
        let state = &mut self.frames[frame];
        (state.dirty, state.pins) = (true, 1);
        self.map.forget_sum(state.slot);
        self.map.set_frame(state.slot, frame);
        Transfer::WriteFast(frame)
    }

    /// Writes a frame that holds the slot's old data.
    fn write_over(&mut self, frame: Frame, leaves: bool) -> Transfer {
        let state = &mut self.frames[frame];
        (state.evicting, state.dirty, state.rewritten) = (leaves, true, true);
        state.pins += 1;
        self.map.forget_sum(state.slot);
        Transfer::WriteFast(frame)
    }

    fn let_leave(&mut self, at: Nanos) {
        for _ in 0..LEAVE_AT_ONCE {
            let Some(left) = self.policy.next_to_leave(at) else { break };
            self.leave(left);
        }
    }

    /// The policy keeps a page no longer.
    fn leave(&mut self, left: Left) {
        let slot = left.page.0;
        match self.map.frame(slot) {
            Some(frame) => {
                self.frames[frame].evicting = true;
                self.settle(frame);
            }
            None => self.cancel_entry(slot),
        }
    }

    fn unpin(&mut self, frame: Frame) {
        self.frames[frame].pins -= 1;
        self.settle(frame);
    }

    /// Moves a frame on that nobody uses.
    fn settle(&mut self, frame: Frame) {
        let state = &mut self.frames[frame];
        if state.pins > 0 || state.writeback {
            return;
        }
        if state.orphan {
            self.free(frame);
        } else if state.evicting && !state.dirty {
            self.map.set_slow(state.slot);
            self.free(frame);
        } else if state.evicting && !state.lost {
            state.writeback = true;
            self.to_copy.push_back(frame);
        }
    }

    /// A frame whose write failed is used no more.
    fn free(&mut self, frame: Frame) {
        if !self.frames[frame].lost {
            self.frames.give_back(frame);
        }
    }

    fn cancel_entry(&mut self, slot: Slot) {
        let frames = &self.frames;
        self.entering.retain(|frame| frames[*frame].slot != slot);
    }

    /// The page of a slot was read, and copied to a frame or not.
    fn end_entry(&mut self, frame: Frame, is_copied: bool) {
        let slot = self.frames[frame].slot;
        let place = self.entering.iter().position(|entering| *entering == frame);
        if let Some(place) = place {
            self.entering.swap_remove(place);
        }
        if place.is_some() && is_copied {
            self.map.set_frame(slot, frame);
        } else {
            self.frames[frame].orphan = true;
            if place.is_some() {
                self.policy.not_taken(Page(slot));
            }
        }
        self.unpin(frame);
    }

    /// The reply to a read whose page has this checksum.
    fn checked(&mut self, slot: Slot, end: End) -> Next {
        Next::Reply(match end {
            End::Failed => Reply::Failed,
            End::Done(sum) if self.map.is_right(slot, sum) => Reply::Done,
            End::Done(_) => {
                self.counts.wrong += 1;
                Reply::Failed
            }
        })
    }

    fn count(&mut self, transfer: Transfer, end: End) {
        let Counts { fast_reads, slow_reads, fast_writes, slow_writes, .. } = &mut self.counts;
        let (count, is_fast) = match transfer {
            Transfer::ReadFast(_) => (fast_reads, true),
            Transfer::ReadSlow(_) => (slow_reads, false),
            Transfer::Promote(_) | Transfer::WriteFast(_) => (fast_writes, true),
            Transfer::WriteSlow(_) => (slow_writes, false),
        };
        *count += 1;
        if end == End::Failed {
            *if is_fast { &mut self.counts.fast_failed } else { &mut self.counts.slow_failed } += 1;
        }
    }
}

#[cfg(test)]
mod tests;
