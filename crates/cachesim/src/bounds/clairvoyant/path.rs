//! The cheapest path of one page through the tier, at given prices for a place.
//!
//! Between two events a page is out of the tier, in it and identical to its copy in storage
//! (*clean*), or in it with a stale copy in storage. Where the tier's rules leave a choice, it is
//! made here for each page alone.

use super::history::Event;
use super::prices::{ONE, Prices};
use crate::paging::PagingKind;

/// The least cost from a moment to the end, by where the page is.
#[derive(Clone, Copy)]
struct Costs {
    out: i64,
    clean: i64,
    stale: i64,
}

/// The choices at an event and until the next one.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// What staying until the next event saves against leaving at once. A stale page that leaves
    /// costs a write.
    pub(super) clean_gain: i64,
    pub(super) stale_gain: i64,
    /// Whether a page that is out should enter.
    enters: bool,
}

impl Costs {
    /// At the end of the stream: a stale page is still to be written.
    const END: Self = Self { out: 0, clean: 0, stale: ONE };
}

/// The least cost of a page. Calls `visit` with the index and the step of each event, from the last
/// to the first. `write` is the cost of a write of the tier.
pub(super) fn cheapest(
    history: &[Event],
    prices: &Prices,
    write: i64,
    mut visit: impl FnMut(usize, Step),
) -> i64 {
    let mut costs = Costs::END;
    let mut until = prices.total();
    for (index, event) in history.iter().enumerate().rev() {
        let now = prices.at(event.time());
        let place = until - now;
        let clean_gain = costs.out - (place + costs.clean);
        let stale_gain = ONE + costs.out - (place + costs.stale);
        let out = costs.out;
        let clean = out - clean_gain.max(0);
        let stale = ONE + out - stale_gain.max(0);
        let mut enters = false;
        costs = match event.kind() {
            PagingKind::PageIn => Costs { out: ONE + out, clean, stale },
            PagingKind::PageOut => {
                // To enter and leave again with a write is never better than not to enter.
                let held = write + stale;
                enters = stale_gain > write;
                Costs { out: held.min(ONE + out), clean: held, stale: held }
            }
            PagingKind::CleanDrop => {
                enters = clean_gain > write;
                Costs { out: out.min(write + clean), clean, stale }
            }
            PagingKind::Gone => Costs { out, clean: out, stale: out },
        };
        visit(index, Step { clean_gain, stale_gain, enters });
        until = now;
    }
    costs.out
}

/// The place of a page between two events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Out,
    Clean,
    Stale,
}

impl Step {
    /// The place of the page from this event to the next, if it was `held` before.
    pub(super) fn next(self, kind: PagingKind, held: Held) -> Held {
        let now = match (kind, held) {
            (PagingKind::Gone, _) | (PagingKind::PageIn, Held::Out) => Held::Out,
            (PagingKind::PageOut | PagingKind::CleanDrop, Held::Out) if !self.enters => Held::Out,
            (PagingKind::PageOut, _) => Held::Stale,
            (PagingKind::CleanDrop, Held::Out) => Held::Clean,
            (_, held) => held,
        };
        match now {
            Held::Clean if self.clean_gain <= 0 => Held::Out,
            Held::Stale if self.stale_gain <= 0 => Held::Out,
            now => now,
        }
    }
}
