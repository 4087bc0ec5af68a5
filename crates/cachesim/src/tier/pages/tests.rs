use std::collections::HashSet;
use std::num::NonZeroU64;

use proptest::prelude::*;

use super::*;
use crate::admission::{Always, SecondEviction};
use crate::replacement::Lru;

const NOW: Nanos = Nanos::ZERO;
const STORAGE: Read = Read { from: Level::Storage, enters: false, left: None };

fn key(key: u64) -> Key {
    Key(NonZeroU64::new(key).unwrap())
}

/// A tier of `kept` pages under the paper's rule, with `room` for staged ones as well.
fn paper(kept: u64, room: u32, slots: u32) -> Pages<Lru, SecondEviction> {
    let pages = footprint(slots);
    let space = Space::new(kept, pages.into()).unwrap();
    Pages::new(Tier::new(Lru::new(space), SecondEviction::new(pages)), slots, room)
}

/// Writes a page to a slot, and names it.
fn evict<A: Admission>(pages: &mut Pages<Lru, A>, page: u64, slot: u32) -> Option<u32> {
    let placed = pages.write(Page(slot), NOW);
    assert_eq!(placed.level, Level::Tier, "every page is staged");
    pages.name(Page(slot), key(page), pages.writes(), NOW);
    placed.left.map(|left| left.page.0)
}

fn is_kept<A: Admission>(pages: &Pages<Lru, A>, slot: u32) -> bool {
    pages.lists.of(Page(slot)) == list::KEPT
}

#[test]
fn a_page_is_kept_at_its_second_eviction_in_whatever_slot() {
    let mut pages = paper(4, 8, 16);
    for slot in 0..4 {
        evict(&mut pages, 100 + u64::from(slot), slot);
        assert!(!is_kept(&pages, slot));
    }
    // On slots, the rule would take these for the first evictions of four pages …
    for slot in 0..4 {
        evict(&mut pages, 103 - u64::from(slot), 8 + slot);
        assert!(is_kept(&pages, 8 + slot));
    }
    // … and these for the second ones of the pages before.
    for slot in 0..4 {
        evict(&mut pages, 200 + u64::from(slot), slot);
        assert!(!is_kept(&pages, slot));
    }
    assert_eq!(pages.tier().traffic().entered, 4);
}

#[test]
fn pages_that_are_not_kept_leave_first_and_then_the_oldest_without_a_name() {
    let mut pages = paper(1, 3, 16);
    for slot in [1, 2, 3] {
        assert_eq!(pages.write(Page(slot), NOW).left, None);
    }
    pages.name(Page(2), key(7), pages.writes(), NOW);
    let left = |pages: &mut Pages<_, _>, slot| pages.write(Page(slot), NOW).left.unwrap().page.0;
    assert_eq!([left(&mut pages, 4), left(&mut pages, 5), left(&mut pages, 6)], [2, 1, 3]);
    assert_eq!(pages.read(Page(2), NOW), STORAGE);
    assert_eq!(pages.read(Page(5), NOW).from, Level::Tier);
    assert_eq!(pages.write(Page(5), NOW).left, None, "it is written over");
}

#[test]
fn a_name_of_an_older_page_of_the_slot_is_ignored() {
    let mut pages = paper(2, 4, 8);
    pages.write(Page(1), NOW);
    let seen = pages.writes();
    pages.write(Page(1), NOW);
    pages.name(Page(1), key(7), seen, NOW);
    assert_eq!(pages.naming(), Naming { named: 0, missed: 1 });
    pages.name(Page(1), key(7), pages.writes(), NOW);
    pages.name(Page(1), key(8), pages.writes(), NOW);
    evict(&mut pages, 7, 3);
    pages.name(Page(1), key(8), pages.writes(), NOW);
    pages.name(Page(2), key(8), pages.writes(), NOW);
    pages.name(Page(99), key(8), pages.writes(), NOW);
    assert_eq!(pages.naming().named, 2, "slots that have, or had, a name, and empty ones");
    pages.write(Page(1), NOW);
    assert_eq!(pages.naming().missed, 1, "it had a name when its page left it");
}

#[test]
fn a_page_that_comes_back_clean_twice_enters() {
    let mut pages = paper(2, 3, 8);
    evict(&mut pages, 7, 1);
    for slot in [2, 3, 4] {
        pages.write(Page(slot), NOW);
    }
    assert_eq!(pages.read(Page(1), NOW), STORAGE);
    let enters = pages.read(Page(1), NOW);
    assert!(enters.enters && enters.left.is_some(), "{enters:?}");
    assert_eq!(pages.read(Page(1), NOW), Read { from: Level::Tier, ..STORAGE });
    pages.not_taken(Page(1));
    assert!(pages.read(Page(1), NOW).enters, "it could not be moved, and may enter again");
}

#[test]
fn the_slot_that_a_page_has_left_leaves() {
    let mut pages = paper(4, 8, 16);
    evict(&mut pages, 7, 1);
    evict(&mut pages, 7, 2);
    assert!(is_kept(&pages, 2));
    evict(&mut pages, 7, 3);
    assert!(is_kept(&pages, 3) && !is_kept(&pages, 2) && pages.holds(Page(2)));
    pages.discard(Page(3));
    assert!(!pages.holds(Page(3)));
    evict(&mut pages, 7, 4);
    assert!(is_kept(&pages, 4), "its history goes on");
}

#[test]
fn pages_that_are_unknown_for_want_of_room_are_staged_only() {
    let space = Space::new(8, footprint(4).into()).unwrap();
    let mut pages = Pages::new(Tier::new(Lru::new(space), Always), 4, 10);
    for page in 1..=20 {
        evict(&mut pages, page, (page % 4) as u32);
    }
    assert_eq!(pages.tier().traffic().entered, 8, "the tier holds all numbers");
    assert_eq!(pages.lists.len(list::LEAVING), 4);
}

#[test]
fn a_page_that_has_left_before_it_is_known_displaces_none_but_has_a_history() {
    let mut pages = paper(1, 2, 8);
    for slot in [1, 2] {
        evict(&mut pages, 7, slot);
    }
    assert!(is_kept(&pages, 2));
    for slot in [3, 4] {
        pages.write(Page(slot), NOW);
    }
    pages.name(Page(3), key(9), pages.writes(), NOW);
    assert!(is_kept(&pages, 2) && !pages.holds(Page(3)));
    evict(&mut pages, 9, 5);
    assert!(is_kept(&pages, 5), "it was evicted before");
}

#[test]
fn some_room_is_made_before_it_is_needed() {
    let mut pages = paper(8, 16, 64);
    for slot in 0..16 {
        evict(&mut pages, 100 + u64::from(slot), slot);
    }
    let left = |pages: &mut Pages<_, _>| pages.next_to_leave(NOW).map(|left| left.page.0);
    assert_eq!([left(&mut pages), left(&mut pages), left(&mut pages)], [Some(0), Some(1), None]);
    for slot in 16..18 {
        assert_eq!(pages.write(Page(slot), NOW).left, None);
    }
}

#[derive(Debug, Clone)]
enum Event {
    Write(u32),
    Read(u32),
    Discard(u32),
    Name(u32, u64),
    NotTaken(u32),
    Leave,
}

fn event() -> impl Strategy<Value = Event> {
    let slot = || 0..8_u32;
    prop_oneof![
        4 => slot().prop_map(Event::Write),
        3 => slot().prop_map(Event::Read),
        1 => slot().prop_map(Event::Discard),
        4 => (slot(), 1..40_u64).prop_map(|(slot, page)| Event::Name(slot, page)),
        1 => slot().prop_map(Event::NotTaken),
        1 => Just(Event::Leave),
    ]
}

proptest! {
    /// The fast backing never holds more than there is room for, and a slot is there until the
    /// policy says that it leaves.
    #[test]
    fn slots_leave_only_when_it_is_said(events in prop::collection::vec(event(), 1..300)) {
        let mut pages = paper(2, 4, 8);
        let mut held: HashSet<u32> = HashSet::new();
        for event in events {
            match event {
                Event::Write(slot) => {
                    held.insert(slot);
                    if let Some(left) = pages.write(Page(slot), NOW).left {
                        prop_assert_ne!(left.page.0, slot);
                        held.remove(&left.page.0);
                    }
                }
                Event::Read(slot) => {
                    let read = pages.read(Page(slot), NOW);
                    prop_assert_eq!(read.from == Level::Tier, held.contains(&slot));
                    if read.enters {
                        held.insert(slot);
                    }
                    if let Some(left) = read.left {
                        held.remove(&left.page.0);
                    }
                }
                Event::Discard(slot) => {
                    pages.discard(Page(slot));
                    held.remove(&slot);
                }
                Event::Name(slot, page) => {
                    pages.name(Page(slot), key(page), pages.writes(), NOW);
                }
                Event::Leave => {
                    if let Some(left) = pages.next_to_leave(NOW) {
                        prop_assert!(held.remove(&left.page.0));
                    }
                }
                Event::NotTaken(slot) => {
                    pages.not_taken(Page(slot));
                    held.remove(&slot);
                }
            }
            prop_assert!(held.len() <= 4);
            for slot in 0..8 {
                prop_assert_eq!(pages.holds(Page(slot)), held.contains(&slot), "{}", slot);
                let page = pages.slots[slot as usize].page;
                if page != NONE {
                    prop_assert_eq!(pages.slot_of[page as usize], slot);
                }
                if is_kept(&pages, slot) {
                    prop_assert!(pages.tier.holds(Page(page)));
                }
            }
        }
    }
}
