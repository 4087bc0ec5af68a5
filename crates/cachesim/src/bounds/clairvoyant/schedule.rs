//! An offline schedule: the tier under its own rules, led by the worth of a place to each page at
//! given prices.
//!
//! The worth of a page's place falls with time by the price, which is the same for all pages;
//! otherwise it changes only at the page's own events. So pages in the tier keep their order
//! between their events, and a heap finds the page whose place is worth least.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::history::Histories;
use super::path::{Step, cheapest};
use super::prices::{ONE, Prices};
use crate::bits::Bits;
use crate::page::{Page, Space};
use crate::paging::{PagingEvent, PagingKind};
use crate::tier::Traffic;

/// For each event the worth of holding the page until its next one, clean and stale, in the order
/// of [`Histories`]. Eight bytes per event.
pub(super) struct Worth(Vec<(i32, i32)>);

impl Worth {
    pub(super) fn of(histories: &Histories, prices: &Prices, write: i64) -> Self {
        let mut worth = vec![(0, 0); histories.len() as usize];
        for (page, begin) in (0..).zip(histories.begins()) {
            let visit = |index: usize, step: Step| {
                worth[*begin as usize + index] = (short(step.clean_gain), short(step.stale_gain));
            };
            let _cost = cheapest(histories.page(page), prices, write, visit);
        }
        Self(worth)
    }
}

/// Gains are at most a few accesses; the exact size of a loss hardly matters.
fn short(gain: i64) -> i32 {
    gain.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// The decision at an eviction of a page that the tier does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) entered: bool,
    pub(super) left: Option<Page>,
}

/// The tier, and the worth of its places.
struct Places {
    space: Space,
    len: u32,
    /// The worth of each page's place, discounted to the beginning; [`OUT`] for pages without one.
    worth: Box<[i64]>,
    stale: Bits,
    /// The least worth first. Outdated entries stay until they come up.
    order: BinaryHeap<Reverse<(i64, u32)>>,
}

const OUT: i64 = i64::MIN;

/// A page may enter although its place is worth slightly less than its price: prices hold for whole
/// spans, and a place that stays empty is lost.
const SLACK: i64 = ONE / 32;

/// Runs the stream and calls `visit` with each decision.
pub(super) fn run(
    stream: &[PagingEvent],
    space: Space,
    (histories, worth): (&Histories, &Worth),
    prices: &Prices,
    write: i64,
    mut visit: impl FnMut(Entry),
) -> Traffic {
    let mut traffic = Traffic::default();
    let mut places = Places::new(space);
    let mut next = histories.begins().to_vec();
    let until = |page: Page, at| prices.at(histories.next(page.0, at));
    for (time, paging) in (0..).zip(stream) {
        let page = paging.page();
        let at = next[page.index()];
        next[page.index()] += 1;
        let (clean, stale) = worth.0[at as usize];
        let now = prices.at(time);
        let (clean, stale) = (i64::from(clean) - now, i64::from(stale) - now);
        let held = places.holds(page);
        match paging.kind() {
            PagingKind::PageIn => {
                traffic.page_ins += 1;
                if held {
                    traffic.tier_reads += 1;
                    places.set(page, if places.stale.get(page) { stale } else { clean });
                } else {
                    traffic.storage_reads += 1;
                }
            }
            PagingKind::PageOut if held => {
                traffic.page_outs += 1;
                traffic.tier_writes += 1;
                places.stale.set(page);
                places.set(page, stale);
            }
            PagingKind::PageOut => {
                traffic.page_outs += 1;
                let entry = places.enter(stale - write, now, until(page, at), &mut traffic);
                if entry.entered {
                    places.stale.set(page);
                    places.set(page, stale);
                } else {
                    traffic.storage_writes += 1;
                }
                visit(entry);
            }
            PagingKind::CleanDrop => {
                traffic.clean_drops += 1;
                if held {
                    places.set(page, if places.stale.get(page) { stale } else { clean });
                    continue;
                }
                let entry = places.enter(clean - write, now, until(page, at), &mut traffic);
                if entry.entered {
                    places.stale.clear(page);
                    places.set(page, clean);
                }
                visit(entry);
            }
            PagingKind::Gone if held => places.forget(page),
            PagingKind::Gone => {}
        }
    }
    traffic.left_dirty = places.stale();
    traffic
}

impl Places {
    fn new(space: Space) -> Self {
        let worth = vec![OUT; space.footprint() as usize].into_boxed_slice();
        let stale = Bits::new(space.footprint());
        Self { space, len: 0, worth, stale, order: BinaryHeap::new() }
    }

    fn holds(&self, page: Page) -> bool {
        self.worth[page.index()] != OUT
    }

    fn set(&mut self, page: Page, worth: i64) {
        self.worth[page.index()] = worth;
        self.order.push(Reverse((worth, page.0)));
        if self.order.len() as u64 > 4 * u64::from(self.space.capacity()) + 64 {
            let now = &self.worth;
            self.order.retain(|Reverse((worth, page))| now[*page as usize] == *worth);
        }
    }

    /// How many pages in the tier have a stale copy in storage.
    fn stale(&self) -> u64 {
        let pages = (0..self.space.footprint()).map(Page);
        pages.filter(|page| self.holds(*page) && self.stale.get(*page)).count() as u64
    }

    fn forget(&mut self, page: Page) {
        self.worth[page.index()] = OUT;
        self.len -= 1;
    }

    /// Decides whether a page enters whose place is worth `worth`, and which page leaves for it.
    /// `now` and `until` are the prices of a place up to now and up to the page's next event.
    fn enter(&mut self, worth: i64, now: i64, until: i64, traffic: &mut Traffic) -> Entry {
        let no = Entry { entered: false, left: None };
        if worth + now + SLACK.min(until - now) <= 0 {
            return no;
        }
        let mut left = None;
        if self.len == self.space.capacity() {
            let Some((least, worst)) = self.worst() else { return no };
            if least >= worth {
                return no;
            }
            if self.stale.get(worst) {
                traffic.storage_writes += 1;
            }
            self.forget(worst);
            left = Some(worst);
        }
        self.len += 1;
        traffic.tier_writes += 1;
        traffic.entered += 1;
        Entry { entered: true, left }
    }

    /// The page in the tier whose place is worth least.
    fn worst(&mut self) -> Option<(i64, Page)> {
        while let Some(Reverse((worth, page))) = self.order.peek().copied() {
            if self.worth[page as usize] == worth {
                return Some((worth, Page(page)));
            }
            self.order.pop();
        }
        None
    }
}
