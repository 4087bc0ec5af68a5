//! The offline optimum of a [tier](crate::tier) whose writes have a cost, bracketed from both
//! sides.
//!
//! The fewest misses ([`Belady`](super::Belady)) are not the least traffic. A page that enters the
//! tier is written to it. A dirty page is written to storage when it leaves, unless it was changed
//! again or freed before. And a page need not enter at all. This module computes a lower bound on
//! the cost of every policy, replacement and admission together, and an offline schedule. The
//! optimum lies between the two. A dirty page that the tier holds at the end counts as a write to
//! storage on both sides: otherwise it would be cheapest to leave many.
//!
//! The bound lets a page leave at any time, not only when another enters, and lets a fraction of a
//! page be held. Without dirty pages, fractions would gain nothing: the problem is a flow. With
//! them it is not: a page that is held until it is changed saves a write, and one that is held for
//! most of that time does not.
//!
//! Both sides come from prices for a place in the tier, which vary in time:
//!
//! | module | subject |
//! |---|---|
//! | `history` | the events of each page |
//! | `prices` | the price of a place from one event to the next |
//! | `path` | the cheapest path of one page at given prices |
//! | `dual` | the bound at given prices, and steps to better prices |
//! | `search` | the search for good prices |
//! | `schedule` | a schedule that follows prices under the tier's rules |

mod dual;
mod history;
mod path;
mod prices;
mod schedule;
mod search;
#[cfg(test)]
mod tests;

pub use history::{MAX_EVENTS, TooManyEvents};

use crate::page::Space;
use crate::paging::PagingEvent;
use crate::tier::Traffic;
use dual::{Pages, Problem};
use history::Histories;
use prices::ONE;

/// The costs of reads and writes: 1 for an access to storage, some value for a write of the tier,
/// 0 for a read of the tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    tier_write: f64,
}

/// The largest cost of a write of the tier.
pub const MAX_WRITE_COST: f64 = 64.0;

impl Costs {
    /// `tier_write` is the cost of a write of the tier, in accesses to storage. It is clamped to 0
    /// to [`MAX_WRITE_COST`] and rounded down to a multiple of 2^-24.
    pub fn new(tier_write: f64) -> Self {
        let units = (tier_write.clamp(0.0, MAX_WRITE_COST) * ONE as f64) as i64;
        Self { tier_write: units as f64 / ONE as f64 }
    }

    /// The cost of a write of the tier, in accesses to storage.
    pub fn tier_write(self) -> f64 {
        self.tier_write
    }

    /// The cost of some traffic, in accesses to storage, with the writes that are still to come
    /// ([`Traffic::settled_ios`]).
    pub fn of(self, traffic: &Traffic) -> f64 {
        traffic.settled_ios() as f64 + self.tier_write * traffic.tier_writes as f64
    }

    fn write(self) -> i64 {
        (self.tier_write * ONE as f64) as i64
    }
}

impl Default for Costs {
    /// 1/1024: of schedules with nearly the same accesses to storage, the one with fewer writes of
    /// the tier is cheaper, and an access is only traded for a thousand writes or more.
    fn default() -> Self {
        Self::new(1.0 / 1024.0)
    }
}

/// The offline optimum, bracketed from both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clairvoyant {
    /// No policy costs less. The optimum may be above it.
    pub lower_bound: f64,
    /// The traffic of an offline schedule under the tier's rules.
    pub schedule: Traffic,
    /// The cost of that schedule: the optimum is at most this.
    pub cost: f64,
}

/// Brackets the least cost of a stream on an initially empty tier. Writes that bypass the tier are
/// not in the stream; they add to both sides.
///
/// Takes 12 bytes per event and 28 per page beside the stream, and time in proportion to the
/// events.
///
/// # Errors
/// More than [`MAX_EVENTS`] events.
pub fn clairvoyant(
    stream: &[PagingEvent],
    space: Space,
    costs: Costs,
) -> Result<Clairvoyant, TooManyEvents> {
    let histories = Histories::of(stream, space.footprint())?;
    let write = costs.write();
    let places = f64::from(space.capacity());
    let problem = Problem { histories: &histories, pages: Pages::All, places, write };
    let found = search::search(stream, space, &problem, costs);
    Ok(Clairvoyant {
        lower_bound: found.lower_bound,
        cost: costs.of(&found.schedule),
        schedule: found.schedule,
    })
}
