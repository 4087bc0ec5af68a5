//! The decisions of a waiter, case by case.

use super::*;
use std::vec::Vec;

/// A waiter with a fixed tick rate, so that tests that run meanwhile do not change
/// it.
fn arriving() -> Waiter {
    crate::rate::learn_rate(true);
    let mut waiter = Waiter::new(START);
    waiter.book(START.0 as u32, 1, START);
    waiter
}

fn micros(micros: u64) -> Ticks {
    crate::rate::learn_rate(true);
    Ticks::from_nanos(micros * 1_000)
}

fn expected(length: Ticks) -> Expected {
    Expected(length.0 as u32)
}

const FREE: Word = Word::FREE;
const PLAIN: Word = Word::PLAIN;

fn held() -> Word {
    FREE.locked()
}

/// Nothing learned, at a moment after `START`.
fn look(word: Word, now: Ticks) -> Observation {
    let learned = Learned {
        gap: Expected(0),
        held: Expected(0),
        age: Ticks::MAX,
        is_fresh: false,
        failures: 0,
        resting: 0,
    };
    Observation { word, now, learned, squeezed: false, park: micros(20) }
}

/// A lock with short sections, which its holder wants again after 5 µs.
fn shared(word: Word, now: Ticks) -> Observation {
    let mut look = look(word, now);
    look.learned.gap = expected(micros(5));
    look.learned.held = expected(micros(1));
    look.learned.age = Ticks::ZERO;
    look
}

/// A lock that its holder wants again at once.
fn busy(word: Word, now: Ticks) -> Observation {
    let mut look = shared(word, now);
    look.learned.gap = expected(Ticks::from_nanos(50));
    look
}

/// The first spin.
const SPIN: Action = Action::Look { looks: 8, pauses: 1 };

const START: Ticks = Ticks(1_000_000_000);

#[test]
fn a_free_lock_is_taken() {
    assert_eq!(arriving().next(&look(FREE, START)), Action::Take);
    let late = START + micros(5_000);
    assert_eq!(arriving().next(&look(FREE, late)), Action::Take);
}

#[test]
fn a_waiter_takes_a_ticket_after_a_millisecond() {
    let mut waiter = arriving();
    assert_eq!(waiter.next(&shared(held(), START + micros(999))), SPIN);
    assert_eq!(waiter.next(&shared(held(), START + micros(1_001))), Action::Queue);
    let full = (0..0x7ff).fold(held(), |word, _| word.with_overdue().unwrap());
    let late = START + micros(1_001);
    assert!(matches!(waiter.next(&shared(full, late)), Action::Sleep(_)));
}

#[test]
fn the_first_waiter_asks_and_then_spins() {
    let mut waiter = arriving();
    assert_eq!(waiter.next(&look(held(), START)), Action::Ask);
    waiter.own.asked = true;
    assert_eq!(waiter.next(&look(held().asked(), START)), SPIN);
    assert!(waiter.has_spun());
    let other = &mut arriving();
    assert_eq!(other.next(&look(held().asked(), START)), SPIN, "one asks");
}

#[test]
fn the_gap_is_asked_for_again_from_time_to_time() {
    let mut look = shared(held(), START);
    assert_eq!(arriving().next(&look), SPIN);
    look.learned.age = micros(101);
    assert_eq!(arriving().next(&look), Action::Ask);
    look.learned.is_fresh = true;
    assert_eq!(arriving().next(&look), SPIN);
}

#[test]
fn a_waiter_that_asked_spins_until_the_answer() {
    let mut waiter = arriving();
    let mut seen = look(held(), START);
    seen.learned.held = expected(micros(15));
    seen.learned.gap = expected(micros(15));
    waiter.own.asked = true;
    waiter.is_real_time = Some(false);
    assert_eq!(waiter.next(&seen), SPIN);
    for micro in 1..45 {
        seen.now = START + micros(micro);
        assert!(matches!(waiter.next(&seen), Action::Look { .. }), "{micro} µs");
    }
    seen.now = START + micros(46);
    assert!(matches!(waiter.next(&seen), Action::Sleep(_)));
}

#[test]
fn a_waiter_for_a_busy_thread_rests() {
    let mut waiter = arriving();
    let look = busy(held(), START);
    assert_eq!(waiter.next(&look), Action::CheckPriority);
    waiter.is_real_time = Some(false);
    assert_eq!(waiter.next(&look), Action::Rest(micros(1_000)));
    waiter.is_real_time = Some(true);
    assert_eq!(waiter.next(&look), Action::Sleep(micros(1_000)), "a release wakes it");
}

#[test]
fn a_waiter_watches_before_it_changes_the_word_of_a_plain_section() {
    let mut waiter = arriving();
    assert_eq!(waiter.next(&look(PLAIN, START)), Action::Watch, "to ask");
    waiter.watches = true;
    assert_eq!(waiter.next(&look(PLAIN, START)), SPIN);
    assert_eq!(waiter.next(&look(held(), START)), Action::Ask);

    let late = START + micros(1_001);
    let mut waiter = arriving();
    waiter.is_real_time = Some(false);
    assert_eq!(waiter.next(&busy(PLAIN, late)), Action::Watch, "for a ticket");
    waiter.watches = true;
    assert_eq!(waiter.next(&busy(PLAIN, late)), SPIN);
    assert_eq!(waiter.next(&busy(held(), late)), Action::Queue);
}

#[test]
fn a_sleeper_beside_a_plain_section_sleeps_until_its_end() {
    let mut waiter = arriving();
    waiter.is_real_time = Some(true);
    assert_eq!(waiter.next(&shared(PLAIN, START)), Action::Watch);
    waiter.watches = true;
    assert_eq!(waiter.next(&shared(PLAIN, START)), Action::AwaitEnd);
    assert!(matches!(waiter.next(&shared(held(), START)), Action::Sleep(_)));

    let mut waiter = arriving();
    waiter.is_real_time = Some(false);
    assert_eq!(waiter.next(&shared(PLAIN, START)), SPIN);
    let later = START + micros(6);
    assert_eq!(waiter.next(&shared(PLAIN, later)), Action::Watch);
    waiter.watches = true;
    assert_eq!(waiter.next(&shared(PLAIN, later)), Action::AwaitEnd);
    waiter.look_again();
    assert_eq!(waiter.next(&shared(PLAIN, later)), SPIN);
}

#[test]
fn a_resting_waiter_does_not_need_the_word() {
    let mut waiter = arriving();
    waiter.is_real_time = Some(false);
    assert_eq!(waiter.next(&busy(PLAIN, START)), Action::Rest(micros(1_000)));
}

#[test]
fn a_gap_is_short_beside_a_long_section() {
    let mut look = busy(held(), START);
    look.learned.gap = expected(micros(2));
    look.learned.held = expected(micros(20));
    assert!(look.learned.is_busy());
    look.learned.gap = expected(micros(3));
    assert!(!look.learned.is_busy());
}

#[test]
fn a_gap_learned_long_ago_is_not_believed() {
    let mut look = busy(held(), START);
    look.learned.age = micros(10_001);
    assert!(!look.learned.is_busy());
    look.learned.is_fresh = true;
    assert!(look.learned.is_busy());
    look.learned.gap = Expected(0);
    assert!(!look.learned.is_busy(), "nothing was learned");
}

#[test]
fn if_some_sleep_one_searches() {
    let asleep = held().with_asleep().unwrap();
    let mut waiter = arriving();
    assert_eq!(waiter.next(&shared(asleep, START)), Action::Search);
    let searched = asleep.with_searcher();
    assert_eq!(waiter.next(&shared(searched, START)), Action::Sleep(micros(1_000)));
    waiter.woken();
    assert_eq!(waiter.next(&shared(searched, START)), SPIN);
}

#[test]
fn if_some_have_tickets_all_others_sleep() {
    let overdue = held().with_overdue().unwrap();
    let mut waiter = arriving();
    assert_eq!(waiter.next(&shared(overdue, START)), Action::Sleep(micros(1_000)));
}

#[test]
fn a_real_time_thread_sleeps_at_once() {
    let mut waiter = arriving();
    waiter.is_real_time = Some(true);
    assert_eq!(waiter.next(&shared(held(), START)), Action::Sleep(micros(1_000)));
    waiter.woken();
    let searched = held().with_searcher();
    assert_eq!(waiter.next(&shared(searched, START)), Action::Sleep(micros(1_000)));
}

#[test]
fn the_kernel_is_asked_once_a_spin_gets_long() {
    let mut waiter = arriving();
    assert_eq!(waiter.next(&shared(held(), START)), SPIN);
    let later = START + micros(3);
    assert_eq!(waiter.next(&shared(held(), later)), Action::CheckPriority);
    waiter.is_real_time = Some(false);
    assert_eq!(waiter.next(&shared(held(), later)), SPIN);
}

#[test]
fn a_spin_ends_with_its_budget_or_its_cpu() {
    let spun = |last: u64, seen: fn(&mut Observation)| {
        let mut waiter = arriving();
        waiter.is_real_time = Some(false);
        let mut action = Action::Take;
        for now in [0, last - 1, last] {
            let mut look = shared(held(), START + micros(now));
            seen(&mut look);
            action = waiter.next(&look);
        }
        action
    };
    // Twice a section of 1 µs, and 2 µs.
    assert!(matches!(spun(3, |_| ()), Action::Look { .. }));
    assert!(matches!(spun(5, |_| ()), Action::Sleep(_)));
    assert!(matches!(spun(3, |look| look.learned.failures = 9), Action::Sleep(_)));
    assert!(matches!(spun(3, |look| look.squeezed = true), Action::Sleep(_)));
    let unknown = |look: &mut Observation| look.learned.held = Expected(0);
    assert!(matches!(spun(19, unknown), Action::Look { .. }));
    let mut waiter = arriving();
    waiter.is_real_time = Some(false);
    let mut look = shared(held(), START);
    look.learned.held = Expected(0);
    look.park = micros(100);
    assert_eq!(waiter.next(&look), SPIN);
    look.now = START + micros(21);
    assert!(matches!(waiter.next(&look), Action::Sleep(_)), "it was switched out");
}

#[test]
fn a_waiter_books_before_it_sleeps() {
    crate::rate::learn_rate(true);
    for real_time in [true, false] {
        let mut waiter = Waiter::new(START);
        waiter.is_real_time = Some(real_time);
        assert_eq!(waiter.next(&busy(held(), START)), Action::Book);
        waiter.book(START.0 as u32, 1, START);
        assert_ne!(waiter.next(&busy(held(), START)), Action::Book);
    }
}

/// The times left of this many waiters that come at once.
fn booked(waiters: u32) -> Vec<Ticks> {
    let mut last = (START.0 as u32).wrapping_sub(77);
    (0..waiters)
        .map(|_| {
            let mut waiter = Waiter::new(START);
            last = waiter.book(last, waiters, START);
            waiter.left(START)
        })
        .collect()
}

#[test]
fn if_many_wait_their_tickets_are_spread() {
    let turn = micros(300);
    assert_eq!(booked(2), [micros(1_000), micros(1_000) + turn]);
    for waiters in [7, 30] {
        let many = booked(waiters);
        assert!(many.windows(2).all(|two| two[1] == two[0] + turn), "{many:?}");
        assert_eq!(*many.last().unwrap(), micros(1_000) + turn * u64::from(waiters - 1));
    }
}

#[test]
fn a_booking_of_long_ago_does_not_count() {
    let left = |last: u32| {
        let mut waiter = arriving();
        waiter.overdue_at = START + micros(1_000);
        waiter.book(last, 5, START);
        waiter.left(START)
    };
    let start = START.0 as u32;
    let second = Ticks::from_nanos(1_000_000_000).0 as u32;
    assert_eq!(left(start.wrapping_sub(second)), micros(1_000));
    assert_eq!(left(start.wrapping_sub(1)), micros(1_000));
    assert_eq!(left(start.wrapping_add(micros(2_000).0 as u32)), micros(2_000) + micros(300));
    assert_eq!(left(start.wrapping_add(micros(2_600).0 as u32)), micros(1_000), "past");
}
