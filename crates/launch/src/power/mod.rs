//! Energy: of a launch, and of an idle machine at each sampling rate of its
//! governor.
//!
//! | module | subject |
//! |---|---|
//! | [`residency`] | the energy of CPUs whose states were watched: pure |
//! | [`modelled`] | a meter that watches them, for machines without one |

pub mod modelled;
pub mod residency;

use unjank_host::Result;
use unjank_host::energy::{Meter, Spent};

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
