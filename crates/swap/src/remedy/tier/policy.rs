//! Which slots' pages the tier keeps: the policies of [`unjank_cachesim`], which `swap simulate`
//! runs as well.

use unjank_cachesim::Admission;
use unjank_cachesim::page::{Page, Space, SpaceError};
use unjank_cachesim::replacement::{Replacement, Visit};
use unjank_cachesim::tier::slots::{Read, Slots};
use unjank_cachesim::tier::{Left, Placed, Tier, TierPolicy};
use unjank_host::Nanos;

/// A policy on slots. The methods are those of [`Slots`].
pub trait SlotPolicy: Send {
    /// As [`Slots::write`].
    fn write(&mut self, slot: Page, at: Nanos) -> Placed;
    /// As [`Slots::read`].
    fn read(&mut self, slot: Page, at: Nanos) -> Read;
    /// As [`Slots::discard`].
    fn discard(&mut self, slot: Page);
    /// As [`Slots::not_taken`].
    fn not_taken(&mut self, slot: Page);
    /// As [`Slots::resume`].
    fn resume(&mut self, slot: Page) -> Option<Left>;
    /// As [`Slots::next_to_leave`].
    fn next_to_leave(&mut self, at: Nanos) -> Option<Left>;
    /// As [`Tier::holds`].
    fn holds(&self, slot: Page) -> bool;
}

impl<R: Replacement + Send, A: Admission + Send> SlotPolicy for Slots<R, A> {
    fn write(&mut self, slot: Page, at: Nanos) -> Placed {
        self.write(slot, at)
    }

    fn read(&mut self, slot: Page, at: Nanos) -> Read {
        self.read(slot, at)
    }

    fn discard(&mut self, slot: Page) {
        self.discard(slot);
    }

    fn not_taken(&mut self, slot: Page) {
        self.not_taken(slot);
    }

    fn resume(&mut self, slot: Page) -> Option<Left> {
        self.resume(slot)
    }

    fn next_to_leave(&mut self, at: Nanos) -> Option<Left> {
        self.next_to_leave(at)
    }

    fn holds(&self, slot: Page) -> bool {
        self.tier().holds(slot)
    }
}

/// The policy for an empty tier of `frames` pages over `slots` slots. It takes all its memory now.
///
/// # Errors
/// A size of zero, or of too many pages.
pub fn make(
    policy: TierPolicy,
    frames: u64,
    slots: u64,
) -> Result<Box<dyn SlotPolicy>, SpaceError> {
    struct OnSlots(Box<dyn Admission + Send>);

    impl Visit for OnSlots {
        type Output = Box<dyn SlotPolicy>;

        fn visit<R: Replacement + Send + 'static>(self, cache: R) -> Self::Output {
            Box::new(Slots::new(Tier::new(cache, self.0)))
        }
    }

    let space = Space::new(frames, slots)?;
    Ok(policy.replacement.visit(space, OnSlots(policy.admission.make(space)?)))
}
