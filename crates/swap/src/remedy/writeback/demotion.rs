//! Decides which slots of zram are written back. Pure.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use unjank_cachesim::page::Page;
use unjank_cachesim::tier::Key;
use unjank_cachesim::tier::device::{PagePolicy, SlotPolicy};
use unjank_host::Nanos;

use super::super::page_key;
use super::super::tier::map::Slot;
use super::following::{Change, Following};

/// Counts since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pages that memory evicted.
    pub evicted: u64,
    /// Pages that came back into memory from zram.
    pub came_back: u64,
    /// Pages that came back although they were chosen to be written back.
    pub came_back_demoted: u64,
    /// Pages whose process has ended.
    pub ended: u64,
    /// Pages that were to be written back because they stayed away. The kernel passes over those
    /// that are gone, or on the backing device already.
    pub stayed_away: u64,
    /// The same for want of room.
    pub for_room: u64,
}

/// A slot that is to be written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chosen {
    slot: Slot,
    /// When its page was first found there: another page may have got the slot since.
    since: Nanos,
    is_for_room: bool,
}

/// Decides which slots are written back.
pub struct Demotion {
    policy: Box<dyn SlotPolicy + Send>,
    following: Following,
    /// How long a page that the policy does not keep stays in zram.
    after: Nanos,
    /// Slots for whose pages the policy has no room.
    for_room: VecDeque<Chosen>,
    /// The last batch.
    batch: Vec<Chosen>,
    demoted: Box<[bool]>,
    counts: Counts,
}

impl Demotion {
    /// Nothing is known yet of the `slots` slots, for which `policy` was made: one that identifies
    /// pages.
    pub fn new(policy: Box<dyn SlotPolicy + Send>, slots: Slot, after: Nanos) -> Self {
        Self {
            policy,
            following: Following::new(slots),
            after,
            for_room: VecDeque::new(),
            batch: Vec::new(),
            demoted: vec![false; slots as usize].into(),
            counts: Counts::default(),
        }
    }

    /// A look finds a page in a slot.
    pub fn see(&mut self, slot: Slot, key: Key) {
        self.following.see(slot, key);
    }

    /// A look has failed.
    pub fn abandon_look(&mut self) {
        self.following.abandon_look();
    }

    /// A look ends at the time `at`. `has_ended` tells whether a process has.
    pub fn end_look(&mut self, at: Nanos, mut has_ended: impl FnMut(u32) -> bool) {
        let Self { policy, following, for_room, demoted, counts, .. } = self;
        let mut leaving: Vec<Slot> = Vec::new();
        following.end_look(at, |change| match change {
            Change::Left(slot, key) => {
                let was_demoted = std::mem::take(&mut demoted[slot as usize]);
                if has_ended(page_key::process(key)) {
                    counts.ended += 1;
                } else {
                    counts.came_back += 1;
                    counts.came_back_demoted += u64::from(was_demoted);
                    policy.read(Page(slot), at);
                }
                policy.discard(Page(slot));
            }
            Change::Arrived(slot, key) => {
                counts.evicted += 1;
                leaving.extend(policy.write(Page(slot), at).left.map(|left| left.page.0));
                if let Some(by_page) = policy.by_page_mut() {
                    let writes = by_page.writes();
                    by_page.name(Page(slot), key, writes, at);
                }
            }
        });
        while let Some(left) = policy.next_to_leave(at) {
            leaving.push(left.page.0);
        }
        for_room.extend(leaving.into_iter().filter_map(|slot| {
            let since = following.since(slot)?;
            Some(Chosen { slot, since, is_for_room: true })
        }));
        if for_room.len() > demoted.len() {
            // Nothing was written back for long.
            for_room.retain(|it| following.since(it.slot) == Some(it.since));
        }
    }

    /// Writes the next slots to write back at the time `at` to `slots`, at most `most`: if zram has
    /// no room, those for which the policy has none; then those that have stayed away for the
    /// longest.
    pub fn next(&mut self, at: Nanos, most: usize, has_room: bool, slots: &mut Vec<Slot>) {
        for undone in self.batch.drain(..).rev() {
            self.for_room.push_front(undone);
        }
        let Self { policy, following, after, for_room, batch, demoted, .. } = self;
        let stays_away = |since: Nanos| at.get().saturating_sub(since.get()) >= after.get();
        let is_there =
            |it: &Chosen| following.since(it.slot) == Some(it.since) && !demoted[it.slot as usize];
        while batch.len() < most
            && let Some(first) = for_room.front()
            && (!has_room || !first.is_for_room || stays_away(first.since))
        {
            batch.extend(for_room.pop_front().filter(is_there));
        }
        while batch.len() < most
            && let Some(slot) = policy.by_page().and_then(PagePolicy::next_dismissed)
            && let Some(since) = following.since(slot.0)
            && stays_away(since)
        {
            policy.not_taken(slot);
            let chosen = Chosen { slot: slot.0, since, is_for_room: false };
            batch.extend(Some(chosen).filter(is_there));
        }
        slots.clear();
        slots.extend(batch.iter().map(|it| it.slot));
    }

    /// The first `count` slots of the last batch are written back.
    pub fn done(&mut self, count: usize) {
        for chosen in self.batch.drain(..count.min(self.batch.len())) {
            self.demoted[chosen.slot as usize] = true;
            let counted = if chosen.is_for_room {
                &mut self.counts.for_room
            } else {
                &mut self.counts.stayed_away
            };
            *counted += 1;
        }
    }

    /// The kernel has written so many pages back by their age.
    pub fn swept(&mut self, pages: u64) {
        self.counts.stayed_away += pages;
    }

    /// The counts.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Slots with a known page.
    pub fn followed(&self) -> u64 {
        self.following.followed()
    }

    /// Those of them that are written back.
    pub fn demoted(&self) -> u64 {
        self.demoted.iter().filter(|demoted| **demoted).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::super::super::policy::{self, Identity};
    use super::*;

    const AFTER: Nanos = Nanos(100);
    const NOTHING: [Slot; 0] = [];

    /// Sixteen slots, and room for eight pages in zram, six of which the policy keeps.
    fn demotion(policy: &str) -> Demotion {
        let policy = policy::make(policy.parse().unwrap(), Identity::Page, (8, 16)).unwrap();
        Demotion::new(policy, 16, AFTER)
    }

    fn look(demotion: &mut Demotion, at: u64, seen: &[(Slot, u64)]) -> Vec<Slot> {
        look_at_zram(demotion, at, seen, false)
    }

    fn look_at_zram(
        demotion: &mut Demotion,
        at: u64,
        seen: &[(Slot, u64)],
        has_room: bool,
    ) -> Vec<Slot> {
        for (slot, page) in seen {
            // Of process 1.
            let key = Key(NonZeroU64::new(1 << 36 | page).unwrap());
            demotion.see(*slot, key);
        }
        demotion.end_look(Nanos(at), |_| false);
        let mut batch = Vec::new();
        demotion.next(Nanos(at), 8, has_room, &mut batch);
        batch
    }

    #[test]
    fn a_page_that_stays_away_is_written_back_and_one_that_comes_back_is_kept() {
        let mut demotion = demotion("paper");
        assert_eq!(look(&mut demotion, 1, &[(0, 7), (1, 8)]), NOTHING);
        assert_eq!(look(&mut demotion, 50, &[(0, 7)]), NOTHING, "page 8 came back");
        assert_eq!(look(&mut demotion, 60, &[(0, 7), (5, 8)]), NOTHING, "and was evicted again");
        assert_eq!(look(&mut demotion, 100, &[(0, 7), (5, 8)]), NOTHING);
        assert_eq!(look(&mut demotion, 101, &[(0, 7), (5, 8)]), [0]);
        demotion.done(1);
        assert_eq!(look(&mut demotion, 10_000, &[(0, 7), (5, 8)]), NOTHING, "once");
        assert_eq!(demotion.demoted(), 1);
        assert_eq!(look(&mut demotion, 10_001, &[(5, 8)]), NOTHING);
        let counts = demotion.counts();
        assert_eq!((counts.evicted, counts.came_back, counts.came_back_demoted), (3, 2, 1));
        assert_eq!((counts.stayed_away, counts.for_room, demotion.demoted()), (1, 0, 0));
    }

    #[test]
    fn without_a_tier_age_alone_decides() {
        let mut demotion = demotion("none");
        look(&mut demotion, 1, &[(0, 7)]);
        look(&mut demotion, 2, &[]);
        assert_eq!(look(&mut demotion, 3, &[(0, 7)]), NOTHING);
        assert_eq!(look(&mut demotion, 103, &[(0, 7)]), [0]);
    }

    #[test]
    fn what_was_not_written_is_tried_again_unless_it_has_left() {
        let mut demotion = demotion("paper");
        look(&mut demotion, 1, &[(0, 7), (1, 8), (2, 9)]);
        let all = [(0, 7), (1, 8), (2, 9)];
        assert_eq!(look(&mut demotion, 200, &all), [0, 1, 2]);
        demotion.done(1);
        assert_eq!(look(&mut demotion, 201, &all), [1, 2]);
        assert_eq!(look(&mut demotion, 202, &[(0, 7), (1, 11), (2, 9)]), [2], "1 has another page");
    }

    #[test]
    fn pages_leave_early_for_want_of_room() {
        let mut demotion = demotion("paper");
        let seen: Vec<_> = (0..10).map(|slot| (slot, 100 + u64::from(slot))).collect();
        assert_eq!(look(&mut demotion, 1, &seen[..7]), NOTHING, "there is room for eight");
        let left = look(&mut demotion, 2, &seen);
        assert_eq!(left, [0, 1, 2], "one frame in eight is free, and the oldest leave");
        demotion.done(3);
        assert_eq!(demotion.counts().for_room, 3);
    }

    #[test]
    fn while_zram_has_room_no_page_leaves_early() {
        let mut demotion = demotion("paper");
        let seen: Vec<_> = (0..10).map(|slot| (slot, 100 + u64::from(slot))).collect();
        assert_eq!(look_at_zram(&mut demotion, 1, &seen, true), NOTHING, "as after a restart");
        assert_eq!(look_at_zram(&mut demotion, 100, &seen, true), NOTHING);
        assert_eq!(look_at_zram(&mut demotion, 101, &seen, true).len(), 8);
        demotion.done(8);
        assert_eq!(look_at_zram(&mut demotion, 102, &seen, true).len(), 2);
    }

    #[test]
    fn a_page_of_a_process_that_has_ended_does_not_come_back() {
        let mut demotion = demotion("paper");
        look(&mut demotion, 1, &[(0, 7)]);
        demotion.end_look(Nanos(2), |process| process == 1);
        assert_eq!((demotion.counts().ended, demotion.counts().came_back), (1, 0));
    }
}
