//! Which slots' pages the fast backing keeps: the policies of [`unjank_cachesim`], which `swap
//! simulate` runs as well.

use serde::{Deserialize, Serialize};
use unjank_cachesim::Admission;
use unjank_cachesim::page::{Page, Space, SpaceError};
use unjank_cachesim::replacement::{Replacement, Visit};
use unjank_cachesim::tier::pages::{self, Naming, Pages, Writes};
use unjank_cachesim::tier::slots::{Read, Slots};
use unjank_cachesim::tier::{Key, Left, Placed, Tier, TierPolicy};
use unjank_host::Nanos;

use super::map::{Frame, Slot};

/// The frames for each one that pages without a name have for themselves.
const FRAMES_PER_STAGED: Frame = 4;

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
    /// Whether the slot's page is, or is to be, on the fast backing.
    fn holds(&self, slot: Page) -> bool;

    /// The policy, if it is to be told which pages the slots hold.
    fn by_page(&self) -> Option<&dyn PagePolicy> {
        None
    }

    /// As [`by_page`](Self::by_page), to tell it.
    fn by_page_mut(&mut self) -> Option<&mut dyn PagePolicy> {
        None
    }
}

/// A policy on pages. The methods are those of [`Pages`].
pub trait PagePolicy: Send {
    /// As [`Pages::writes`].
    fn writes(&self) -> Writes;
    /// As [`Pages::name`].
    fn name(&mut self, slot: Page, key: Key, as_of: Writes, at: Nanos);
    /// As [`Pages::naming`].
    fn naming(&self) -> Naming;
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

impl<R: Replacement + Send, A: Admission + Send> SlotPolicy for Pages<R, A> {
    fn write(&mut self, slot: Page, _at: Nanos) -> Placed {
        self.write(slot)
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
        self.holds(slot)
    }

    fn by_page(&self) -> Option<&dyn PagePolicy> {
        Some(self)
    }

    fn by_page_mut(&mut self) -> Option<&mut dyn PagePolicy> {
        Some(self)
    }
}

impl<R: Replacement + Send, A: Admission + Send> PagePolicy for Pages<R, A> {
    fn writes(&self) -> Writes {
        self.writes()
    }

    fn name(&mut self, slot: Page, key: Key, as_of: Writes, at: Nanos) {
        self.name(slot, key, as_of, at);
    }

    fn naming(&self) -> Naming {
        self.naming()
    }
}

/// What a page is for the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Identity {
    /// The slot that holds it.
    Slot,
    /// Its process and address.
    Page,
}

/// The policy for `frames` frames and `slots` slots that hold nothing. It takes all its memory now.
///
/// # Errors
/// A size of zero, or of too many pages.
pub fn make(
    policy: TierPolicy,
    identity: Identity,
    (frames, slots): (Frame, Slot),
) -> Result<Box<dyn SlotPolicy>, SpaceError> {
    let space = match identity {
        Identity::Slot => Space::new(frames.into(), slots.into())?,
        Identity::Page => {
            let kept = frames - (frames / FRAMES_PER_STAGED).max(1);
            Space::new(kept.into(), pages::footprint(slots).into())?
        }
    };
    let admission = policy.admission.make(space)?;
    let over = Over { admission, identity, frames, slots };
    Ok(policy.replacement.visit(space, over))
}

/// Makes a policy over a replacement policy.
struct Over {
    admission: Box<dyn Admission + Send>,
    identity: Identity,
    frames: Frame,
    slots: Slot,
}

impl Visit for Over {
    type Output = Box<dyn SlotPolicy>;

    fn visit<R: Replacement + Send + 'static>(self, cache: R) -> Self::Output {
        let tier = Tier::new(cache, self.admission);
        match self.identity {
            Identity::Slot => Box::new(Slots::new(tier)),
            Identity::Page => Box::new(Pages::new(tier, self.slots, self.frames)),
        }
    }
}
