//! Energy: of a launch, and of an idle machine at each sampling rate of its
//! governor.
//!
//! | module | subject |
//! |---|---|
//! | [`residency`] | the energy of CPUs whose states were watched: pure |
//! | [`modelled`] | a meter that watches them, for machines without one |
//! | [`average`](mod@average) | the mean power now |
//! | [`governor`], [`rates`], [`table`] | the sampling period, visits at each, Table 3 |
//! | [`paper`] | what Jo & Suh measured |
//! | `notes` | what all findings say of their meter |

pub mod average;
pub mod governor;
pub mod modelled;
mod notes;
pub mod paper;
pub mod rates;
pub mod residency;
pub mod table;

use unjank_host::Result;
use unjank_host::energy::{Meter, Spent};

pub use average::{Window, average};
pub use modelled::Modelled;

/// The energy that `meter` counts while `work` is done, and what the work
/// yields. Use it for one launch: from the start stamp to the end stamp.
///
/// # Errors
/// The meter cannot be read, before or after; an error of the work stays in
/// what it yields.
pub fn around<T>(meter: &mut dyn Meter, work: impl FnOnce() -> T) -> Result<(T, Spent)> {
    let before = meter.read()?;
    let done = work();
    Ok((done, meter.read()?.since(&before)))
}
