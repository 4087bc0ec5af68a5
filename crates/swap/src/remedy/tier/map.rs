//! Where each slot's page is, and its checksum.
//!
//! The map lies in shared memory that outlives the server, so that the next one finds every page.
//! A page's place changes with one atomic store: a server may be killed between any two
//! instructions. The memory must not be swapped out while no server runs, least of all to the
//! device itself: another process has to keep it locked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use unjank_host::memory::SharedRegion;

/// The number of a page of the device.
pub type Slot = u32;
/// The number of a page of the fast backing.
pub type Frame = u32;

/// The entry of a slot whose page is in its own place on the slow backing.
const SLOW: u32 = 0;
/// The checksum of a page that is not known.
const UNKNOWN: u32 = 0;

/// Two words of shared memory for each slot: all places, then all checksums.
#[derive(Debug, Clone)]
pub struct Map {
    region: Arc<SharedRegion>,
    slots: Slot,
}

impl Map {
    /// The memory that a map of so many slots takes, in bytes.
    pub fn bytes(slots: Slot) -> usize {
        slots as usize * 2 * size_of::<u32>()
    }

    /// The map in a region of [`bytes`](Self::bytes), which was zero when the device was made.
    pub fn new(region: Arc<SharedRegion>) -> Self {
        let slots = (region.len() / (2 * size_of::<u32>())) as Slot;
        Self { region, slots }
    }

    fn place(&self, slot: Slot) -> &AtomicU32 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        self.region.word32(slot as usize * size_of::<u32>())
    }

    fn sum(&self, slot: Slot) -> &AtomicU32 {
        self.region.word32((self.slots as usize + slot as usize) * size_of::<u32>())
    }

    /// The number of slots.
    pub fn slots(&self) -> Slot {
        self.slots
    }

    /// The frame that holds the slot's page; `None` if the page is on the slow backing.
    pub fn frame(&self, slot: Slot) -> Option<Frame> {
        self.place(slot).load(Ordering::Acquire).checked_sub(1)
    }

    /// The slot's page is in this frame now.
    pub fn set_frame(&self, slot: Slot, frame: Frame) {
        self.place(slot).store(frame + 1, Ordering::Release);
    }

    /// The slot's page is on the slow backing now.
    pub fn set_slow(&self, slot: Slot) {
        self.place(slot).store(SLOW, Ordering::Release);
    }

    /// Whether a page with this checksum may be the slot's: also if either is not known.
    pub fn is_right(&self, slot: Slot, sum: Sum) -> bool {
        let known = self.sum(slot).load(Ordering::Acquire);
        known == UNKNOWN || sum == Sum::NONE || known == sum.0
    }

    /// The slot's page has this checksum.
    pub fn set_sum(&self, slot: Slot, sum: Sum) {
        self.sum(slot).store(sum.0, Ordering::Release);
    }

    /// Nothing is known of the slot's page.
    pub fn forget_sum(&self, slot: Slot) {
        self.set_sum(slot, Sum(UNKNOWN));
    }
}

/// The checksum of a page; one value stands for pages that were not summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sum(u32);

impl Sum {
    /// Of a page that is not checked.
    pub const NONE: Self = Self(UNKNOWN);

    /// Of a page with this CRC-32.
    pub fn of_crc(crc: u32) -> Self {
        Self(crc.max(UNKNOWN + 1))
    }
}
