//! What no policy of a [tier](crate::tier) can beat, replacement and
//! admission together, when what is written to the tier has a cost, too.
//!
//! The fewest misses ([`Belady`](super::Belady)) are not the least traffic: a page that comes
//! into the tier is written to it, one that was changed is written to storage unless it is
//! changed again or gone before it leaves, and a page may well stay out.
//! Here is a bound below the cost of every schedule, and a schedule; the
//! optimum lies between the two, and neither claims to be it.
//!
//! The bound lets a page leave at any time, not only when another enters, and lets
//! parts of a page be held. Without dirty pages the latter would gain nothing: places are
//! a flow then. But a page that is held until it is changed saves a
//! write that one which is held most of the time does not, and that is no flow.
//!
//! Both come from prices for a place in the tier, which vary in time:
//!
//! | module | subject |
//! |---|---|
//! | `history` | the events of each page |
//! | `prices` | what a place costs from one event to the next |
//! | `path` | the cheapest that can be done with one page at given prices |
//! | `dual` | the bound that prices give, and better prices |
//! | `search` | prices, in ever finer spans of time |
//! | `schedule` | a schedule that follows prices under the tier's rules |

mod dual;
mod history;
mod path;
mod prices;
mod schedule;
mod search;
#[cfg(test)]
mod tests;

pub use history::{MOST_EVENTS, TooManyEvents};

use crate::page::Space;
use crate::paging::Paging;
use crate::tier::Traffic;
use dual::{Pages, Problem};
use history::Histories;
use prices::ONE;

/// What a page costs that is read or written: one for storage, something for
/// the tier's wear, and nothing for a read of the tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    tier_write: f64,
}

/// The largest cost of a write of the tier.
pub const DEAREST_WRITE: f64 = 64.0;

impl Costs {
    /// A write of the tier costs so many accesses to storage: up to
    /// [`DEAREST_WRITE`], none below zero. It is rounded down to 2^-24.
    pub fn new(tier_write: f64) -> Self {
        let units = (tier_write.clamp(0.0, DEAREST_WRITE) * ONE as f64) as i64;
        Self { tier_write: units as f64 / ONE as f64 }
    }

    /// What a write of the tier costs.
    pub fn tier_write(self) -> f64 {
        self.tier_write
    }

    /// The cost of some traffic so far, in accesses to storage.
    pub fn of(self, traffic: &Traffic) -> f64 {
        traffic.storage_ios() as f64 + self.tier_write * traffic.tier_writes as f64
    }

    /// The same with the writes that are still to come: what policies are compared
    /// by. A bound on the one is a bound on the other, too.
    pub fn settled(self, traffic: &Traffic) -> f64 {
        self.of(traffic) + traffic.left_dirty as f64
    }

    fn write(self) -> i64 {
        (self.tier_write * ONE as f64) as i64
    }
}

impl Default for Costs {
    /// 1/1024: of schedules with the same accesses to storage, or nearly so, the
    /// one that writes the tier less often is cheaper, while no access is given away for fewer
    /// than a thousand writes.
    fn default() -> Self {
        Self::new(1.0 / 1024.0)
    }
}

/// What knowledge of the future could reach, from both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clairvoyant {
    /// No policy costs less. Not all of it need be within reach.
    pub least: f64,
    /// The traffic of a schedule under the tier's rules: it costs no less than the optimum.
    pub reached: Traffic,
    /// What that costs.
    pub cost: f64,
}

/// Bounds the least cost of a stream with a tier for so many pages, which is empty at first.
/// What is written past the tier is not in the stream, and comes on top of both.
///
/// Takes 12 bytes an event and 28 a page beside the stream, and time in
/// proportion to the events.
///
/// # Errors
/// More than [`MOST_EVENTS`] events.
pub fn clairvoyant(
    stream: &[Paging],
    space: Space,
    costs: Costs,
) -> Result<Clairvoyant, TooManyEvents> {
    let histories = Histories::of(stream, space.footprint())?;
    let write = costs.write();
    let places = f64::from(space.capacity());
    let problem = Problem { histories: &histories, pages: Pages::All, places, write };
    let found = search::search(stream, space, &problem, costs);
    Ok(Clairvoyant { least: found.least, cost: costs.of(&found.reached), reached: found.reached })
}
