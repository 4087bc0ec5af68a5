//! Which slots' pages the fast memory keeps: the policies of [`unjank_cachesim`], which `swap
//! simulate` runs as well.

use serde::{Deserialize, Serialize};
use unjank_cachesim::Admission;
use unjank_cachesim::page::{Space, SpaceError};
use unjank_cachesim::replacement::{Replacement, Visit};
use unjank_cachesim::tier::device::SlotPolicy;
use unjank_cachesim::tier::pages::{self, Pages};
use unjank_cachesim::tier::slots::Slots;
use unjank_cachesim::tier::{Tier, TierPolicy};

use super::tier::map::{Frame, Slot};

/// The frames for each one that pages without a name have for themselves.
const FRAMES_PER_STAGED: Frame = 4;

/// How a policy identifies a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Identity {
    /// By the slot that holds it.
    Slot,
    /// By its process and address.
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
) -> Result<Box<dyn SlotPolicy + Send>, SpaceError> {
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
    type Output = Box<dyn SlotPolicy + Send>;

    fn visit<R: Replacement + Send + 'static>(self, cache: R) -> Self::Output {
        let tier = Tier::new(cache, self.admission);
        match self.identity {
            Identity::Slot => Box::new(Slots::new(tier)),
            Identity::Page => Box::new(Pages::new(tier, self.slots, self.frames)),
        }
    }
}
