//! LRU inversion: cold pages fill the fast swap device, and hot ones go to the slow one.
//!
//! The kernel fills devices in the order of their priorities and leaves pages where they are, so a
//! fast device fills with the pages that were evicted first. In the right order, no page on the
//! fast device is colder than a page on the slow one. The inversion is the share of pages on the
//! fast device that would have to change places with pages on the slow one for that.

use std::collections::HashMap;

use crate::trace::{Event, Operation, ProcessIndex, Space};
use unjank_cachesim::Page;

/// The maximum number of devices to compare.
pub const MAX_DEVICES: usize = 8;
/// Moments at which devices are compared.
const INSTANTS: u64 = 100;
/// Devices are compared up to this part of the trace only: later, the next access often lies beyond
/// its end.
const LOOK_AHEAD: f64 = 0.75;
const NONE: u32 = u32::MAX;
const STILL_OUT: u32 = u32::MAX;

/// LRU inversion between two devices.
#[derive(Debug, Clone, PartialEq)]
pub struct Inversion {
    /// The device of the higher priority.
    pub fast: String,
    /// The device of the lower one.
    pub slow: String,
    /// The moments at which both held pages, the first one first.
    pub instants: Vec<Instant>,
}

/// Shares of the pages on the fast device that are in the wrong place at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instant {
    /// The moment, as a share of the trace's paging events.
    pub at: f64,
    /// Judged by the next access, which is only known offline. Equally cold pages are in the right
    /// place.
    pub by_next: f64,
    /// Judged by the last eviction, as LRU would.
    pub by_last: f64,
    /// The expected share if pages were placed at random.
    pub by_chance: f64,
}

impl Inversion {
    /// The median of one of the shares over all moments.
    pub fn median(&self, of: fn(&Instant) -> f64) -> f64 {
        let mut shares: Vec<f64> = self.instants.iter().map(of).collect();
        shares.sort_by(f64::total_cmp);
        shares.get(shares.len() / 2).copied().unwrap_or(0.0)
    }
}

/// Tracks which page is on which device. Takes 4 bytes for each page and 16 for each page-out.
pub(super) struct Follower {
    /// Devices by descending priority, with their names in the trace.
    devices: Vec<(String, i32)>,
    /// The device of each space, as far as it was looked up.
    numbers: Vec<Option<u8>>,
    /// Page-ins and page-outs so far.
    clock: u32,
    stays: Vec<Stay>,
    /// The stay of each page that is out.
    open: Vec<u32>,
    exits: HashMap<ProcessIndex, Vec<u32>>,
}

/// The stay of a page on a device.
#[derive(Clone, Copy)]
struct Stay {
    out: u32,
    /// When the page came back, or its slot was reused.
    end: u32,
    who: ProcessIndex,
    device: u8,
    came_back: bool,
}

impl Follower {
    /// Takes devices by their names in the trace, with priorities.
    pub(super) fn new(priorities: &[(String, i32)]) -> Self {
        let mut devices = priorities.to_vec();
        devices.sort_by_key(|(_, priority)| std::cmp::Reverse(*priority));
        devices.truncate(MAX_DEVICES);
        let (numbers, open, exits) = (Vec::new(), Vec::new(), HashMap::new());
        Self { devices, numbers, clock: 0, stays: Vec::new(), open, exits }
    }

    pub(super) fn exit(&mut self, who: ProcessIndex) {
        if who != ProcessIndex::UNKNOWN {
            self.exits.entry(who).or_default().push(self.clock);
        }
    }

    /// Takes an event of a page; `name` gives the name of a space.
    pub(super) fn event(&mut self, event: &Event, page: Page, name: impl FnOnce(Space) -> String) {
        let is_out = match event.operation {
            Operation::PageOut => true,
            Operation::PageIn => false,
            _ => return,
        };
        // Events beyond four billion are ignored.
        if self.clock == STILL_OUT - 1 {
            return;
        }
        let Some(device) = self.device(event.space, name) else { return };
        self.clock += 1;
        if page.index() >= self.open.len() {
            self.open.resize(page.index() + 1, NONE);
        }
        let open = std::mem::replace(&mut self.open[page.index()], NONE);
        if let Some(stay) = self.stays.get_mut(open as usize) {
            stay.end = self.clock;
            stay.came_back = !is_out;
        }
        if is_out {
            self.open[page.index()] = self.stays.len() as u32;
            let (out, who) = (self.clock, event.who);
            self.stays.push(Stay { out, end: STILL_OUT, who, device, came_back: false });
        }
    }

    fn device(&mut self, space: Space, name: impl FnOnce(Space) -> String) -> Option<u8> {
        let index = usize::from(space.0);
        if index >= self.numbers.len() {
            self.numbers.resize(index + 1, None);
        }
        if self.numbers[index].is_none() {
            let name = name(space);
            let known = self.devices.iter().position(|(device, _)| *device == name);
            self.numbers[index] = Some(known.map_or(u8::MAX, |known| known as u8));
        }
        self.numbers[index].filter(|number| *number != u8::MAX)
    }

    pub(super) fn bytes(&self) -> usize {
        self.stays.capacity() * size_of::<Stay>() + self.open.capacity() * size_of::<u32>()
    }

    /// The inversion of every pair of devices with different priorities that held pages at the same
    /// time.
    pub(super) fn finish(mut self) -> Vec<Inversion> {
        for stay in &mut self.stays {
            let exits = self.exits.get(&stay.who).map_or(&[][..], Vec::as_slice);
            let exit = exits.get(exits.partition_point(|exit| *exit < stay.out));
            if let Some(exit) = exit.filter(|exit| **exit < stay.end) {
                (stay.end, stay.came_back) = (*exit, false);
            }
        }
        let mut found = Vec::new();
        for (fast, (fast_name, high)) in self.devices.iter().enumerate() {
            for (slow, (slow_name, low)) in self.devices.iter().enumerate().skip(fast + 1) {
                if high == low {
                    continue;
                }
                let moments = (1..=INSTANTS).map(|step| step as f64 / INSTANTS as f64 * LOOK_AHEAD);
                let instants: Vec<Instant> =
                    moments.filter_map(|at| self.instant(at, fast as u8, slow as u8)).collect();
                if !instants.is_empty() {
                    let (fast, slow) = (fast_name.clone(), slow_name.clone());
                    found.push(Inversion { fast, slow, instants });
                }
            }
        }
        found
    }

    fn instant(&self, at: f64, fast: u8, slow: u8) -> Option<Instant> {
        let now = (f64::from(self.clock) * at) as u32;
        let begun = self.stays.partition_point(|stay| stay.out <= now);
        let there = self.stays[..begun].iter().filter(|stay| now < stay.end);
        let pages: Vec<(Stay, bool)> = there
            .filter(|stay| stay.device == fast || stay.device == slow)
            .map(|stay| (*stay, stay.device == slow))
            .collect();
        let on_slow = pages.iter().filter(|(_, is_slow)| *is_slow).count();
        let on_fast = pages.len() - on_slow;
        if on_fast == 0 || on_slow == 0 {
            return None;
        }
        let misplaced = |coldness: fn(&Stay) -> u32| {
            let mut order: Vec<(u32, bool)> =
                pages.iter().map(|(stay, is_slow)| (coldness(stay), *is_slow)).collect();
            let (hotter, last, _) = order.select_nth_unstable(on_fast - 1);
            let wrong = hotter.iter().chain([&*last]).filter(|(_, is_slow)| *is_slow).count();
            wrong as f64 / on_fast as f64
        };
        Some(Instant {
            at,
            by_next: misplaced(|stay| if stay.came_back { stay.end } else { STILL_OUT }),
            by_last: misplaced(|stay| u32::MAX - stay.out),
            by_chance: on_slow as f64 / pages.len() as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;

    use super::*;
    use crate::trace::Backing;

    /// Pages below 100 are on the fast device, others on the slow one.
    fn inversions(steps: &[(Operation, u32)]) -> Vec<Inversion> {
        let priorities = [("disk".to_owned(), 5), ("zram".to_owned(), 100)];
        let mut follower = Follower::new(&priorities);
        for (operation, page) in steps {
            let event = Event {
                at: Nanos::ZERO,
                page: u64::from(*page),
                who: ProcessIndex(1),
                space: Space(1 + u16::from(*page >= 100)),
                operation: *operation,
                backing: Backing::Anonymous,
            };
            let name = |space: Space| ["", "zram", "disk"][usize::from(space.0)].to_owned();
            follower.event(&event, Page(*page), name);
        }
        follower.finish()
    }

    #[test]
    fn a_fast_device_full_of_cold_pages_is_inverted() {
        use Operation::{PageIn, PageOut};
        // Pages that were evicted first stay on the fast device and are never needed; pages on the
        // slow one are needed all the time.
        let mut steps: Vec<_> = (0..10).map(|page| (PageOut, page)).collect();
        steps.extend((0..20).map(|page| (PageOut, 100 + page)));
        for _ in 0..50 {
            for page in 100..110 {
                steps.extend([(PageIn, page), (PageOut, page)]);
            }
        }
        let [inversion] = inversions(&steps).try_into().unwrap();
        assert_eq!((inversion.fast.as_str(), inversion.slow.as_str()), ("zram", "disk"));
        assert!(inversion.median(|i| i.by_next) > 0.89, "{inversion:?}");
        assert!(inversion.median(|i| i.by_last) > 0.99);
        assert!((inversion.median(|i| i.by_chance) - 2.0 / 3.0).abs() < 0.02);
    }

    #[test]
    fn devices_in_order_are_not_inverted() {
        use Operation::{PageIn, PageOut};
        let mut steps: Vec<_> = (0..10).map(|page| (PageOut, 100 + page)).collect();
        steps.extend((0..10).map(|page| (PageOut, page)));
        for _ in 0..50 {
            for page in 0..10 {
                steps.extend([(PageIn, page), (PageOut, page)]);
            }
        }
        let [inversion] = inversions(&steps).try_into().unwrap();
        assert!(inversion.median(|i| i.by_next) < 1e-12);
        assert!(inversion.median(|i| i.by_last) < 1e-12);
        assert_eq!(inversions(&steps[..10]), [], "one device alone has no order");
    }
}
