//! What earlier calls for a mutex have taught. Mutexes with the same place share it:
//! they spin too long or too short then, and no less correctly.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use backoff::spin_policy::Expected;
use backoff::ticks::Ticks;

const PLACES: usize = 512;

/// Where waits have outlasted a sleep, one in so many is spun for as long as a sleep
/// costs: they may have become shorter.
const TRIED_AGAIN: u32 = 16;

/// In its own cache line, because waiters of several mutexes would slow each other down.
#[repr(align(64))]
pub(crate) struct Place {
    /// The length of waits, in ticks: `Expected`.
    expected: AtomicU32,
    /// Number of waits.
    waits: AtomicU32,
    /// Until then, a thread spins here. A moment and not a flag: a forked child does not
    /// have the thread that would clear it.
    spun_until: AtomicU64,
}

static PLACE: [Place; PLACES] = [const { Place::new() }; PLACES];

impl Place {
    const fn new() -> Self {
        Self {
            expected: AtomicU32::new(0),
            waits: AtomicU32::new(0),
            spun_until: AtomicU64::new(0),
        }
    }

    /// The place of a mutex.
    pub(crate) fn of(mutex: usize) -> &'static Self {
        // They have 40 bytes, and are often in larger structures of the same size.
        &PLACE[((mutex >> 3) ^ (mutex >> 12) ^ (mutex >> 21)) % PLACES]
    }

    /// Begins to spin: how long at most. `None` if another thread does so here.
    pub(crate) fn begin(&self, now: Ticks, park: Ticks) -> Option<Ticks> {
        let others = self.spun_until.load(Relaxed);
        if Ticks(others) > now {
            return None;
        }
        let expected = Expected(self.expected.load(Relaxed));
        let wait = self.waits.fetch_add(1, Relaxed);
        let budget =
            if wait.is_multiple_of(TRIED_AGAIN) { park } else { expected.budget(park, false) };
        let until = (now + budget).0;
        let begins = self.spun_until.compare_exchange(others, until, Relaxed, Relaxed);
        begins.ok().map(|_| budget)
    }

    /// Ends it: after this time it had the mutex, or had not.
    pub(crate) fn end(&self, waited: Ticks, has_it: bool, park: Ticks) {
        let wait = if has_it { waited } else { park * 2 };
        let expected = Expected(self.expected.load(Relaxed)).with(wait);
        self.expected.store(expected.0, Relaxed);
        self.spun_until.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARK: Ticks = Ticks(1_000_000);

    fn budgets(place: &Place, n: u32) -> Vec<Ticks> {
        (0..n)
            .map(|now| {
                let budget = place.begin(Ticks(u64::from(now)), PARK).unwrap();
                place.end(budget, false, PARK);
                budget
            })
            .collect()
    }

    #[test]
    fn one_thread_spins_at_a_time() {
        let place = Place::new();
        assert_eq!(place.begin(Ticks(7), PARK), Some(PARK), "nothing is known yet");
        assert_eq!(place.begin(Ticks(8), PARK), None);
        assert!(place.begin(Ticks(7) + PARK, PARK).is_some(), "it has vanished");
        place.end(Ticks(100), true, PARK);
        assert!(place.begin(Ticks(8), PARK).is_some());
    }

    #[test]
    fn long_waits_are_tried_again_now_and_then() {
        let place = Place::new();
        let failed = budgets(&place, 64);
        assert_eq!(failed.iter().filter(|budget| **budget == PARK).count(), 4);
        for _ in 0..40 {
            place.begin(Ticks(100), PARK).unwrap();
            place.end(Ticks(50), true, PARK);
        }
        let budget = place.begin(Ticks(100), PARK).unwrap();
        assert!(budget < PARK && budget > Ticks(100), "short waits, and a margin: {budget:?}");
    }

    #[test]
    fn neighbouring_mutexes_have_places_of_their_own() {
        for size in [40, 64, 128, 4096] {
            let mut places: Vec<usize> = (0..64)
                .map(|n| std::ptr::from_ref(Place::of(0x7f12_3456_7000 + n * size)).addr())
                .collect();
            places.sort_unstable();
            places.dedup();
            assert!(places.len() > 48, "{} of 64 at a distance of {size}", places.len());
        }
    }
}
