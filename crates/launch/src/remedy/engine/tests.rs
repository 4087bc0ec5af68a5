//! Launches that begin, run, settle and end, without a clock or a machine.

use unjank_host::process::pid::Waits;

use super::super::members::MOST_MEMBERS;
use super::*;

const LIMITS: Limits = Limits {
    idle: IdleRule { window: Nanos::from_millis(50), share: 0.1 },
    look: Nanos::from_millis(10),
    longest: Nanos::from_millis(1_000),
    budget: Nanos::from_millis(6_000),
    learn: true,
};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn engine() -> Engine {
    Engine::new(LIMITS, Learned::default(), at(0))
}

fn begin(engine: &mut Engine, process: u32, program: &str, at: Timestamp, now: Timestamp) -> bool {
    let first = engine.begin(process, at, now);
    engine.name(process, program, now);
    first
}

/// Processes with this CPU time, which wait for storage or not.
struct Busy {
    ran: Nanos,
    blocked: bool,
}

impl ProcessCounters for Busy {
    fn ran(&self, _: u32) -> Option<Nanos> {
        Some(self.ran)
    }

    fn waits(&self, _: u32) -> Option<Waits> {
        Some(Waits { blocked: self.blocked, ..Waits::default() })
    }
}

/// Checks processes that run until `busy_until`, whenever the engine requires it.
/// Returns the ended launches, and when the boost ended.
fn run(engine: &mut Engine, busy_until: u64) -> (Vec<(u64, EndReason)>, u64) {
    let mut over = Vec::new();
    let mut last = 0;
    while let Some(wake) = engine.wake_at() {
        let now = wake.as_nanos() / 1_000_000;
        let look = Busy { ran: ms(now.min(busy_until)), blocked: false };
        over.extend(engine.look(wake, &look).into_iter().map(|over| (now, over.why)));
        engine.ends(wake);
        assert!(now < 100_000, "it never ends");
        last = now;
    }
    (over, last)
}

#[test]
fn waiting_for_storage_is_not_idle() {
    let mut engine = engine();
    begin(&mut engine, 7, "/bin/a", at(0), at(0));
    let looks = |blocked| Busy { ran: ms(1), blocked };
    for look in 1..50 {
        assert_eq!(engine.look(at(look * 10), &looks(true)), []);
    }
    let over = (50..60).find_map(|look| engine.look(at(look * 10), &looks(false)).pop());
    assert_eq!(over.unwrap().why, EndReason::Settled);
}

#[test]
fn a_launch_that_settles_is_boosted_until_then_and_its_length_is_learned() {
    let mut engine = engine();
    assert!(begin(&mut engine, 7, "/bin/a", at(0), at(0)));
    assert_eq!(run(&mut engine, 200), (vec![(250, EndReason::Settled)], 250));
    assert_eq!(engine.budget_left(at(250)), ms(6_000) - ms(225));
    for launch in 1..=2 {
        begin(&mut engine, 7 + launch, "/bin/a", at(1_000), at(1_000));
        let idle = Busy { ran: Nanos::ZERO, blocked: false };
        let _steps: Vec<EndedBoost> =
            (101..).take(6).flat_map(|step| engine.look(at(step * 10), &idle)).collect();
        engine.ends(at(2_000));
    }
    assert!(engine.learned().length_of("/bin/a").is_some());
}

#[test]
fn a_launch_that_never_settles_ends_at_the_limit_and_later_at_the_learned_one() {
    let mut engine = engine();
    begin(&mut engine, 7, "/bin/a", at(0), at(0));
    assert_eq!(run(&mut engine, u64::MAX), (vec![(1_000, EndReason::Longest)], 1_000));
    for _ in 0..3 {
        engine.learned.note("/bin/b", Some(ms(100)));
    }
    begin(&mut engine, 8, "/bin/b", at(2_000), at(2_000));
    let (over, _) = run(&mut engine, u64::MAX);
    assert_eq!(over, [(2_130, EndReason::Learned)], "125 ms, seen at the next look");
}

#[test]
fn children_count_and_the_last_one_to_end_ends_it() {
    let mut engine = engine();
    begin(&mut engine, 7, "/bin/a", at(0), at(0));
    engine.forked(7, 8);
    engine.forked(8, 9);
    engine.forked(1, 10);
    assert_eq!(engine.exited(7, at(30)), []);
    assert_eq!(engine.exited(8, at(40)), []);
    assert!(engine.follows(9) && !engine.follows(10));
    assert_eq!(engine.exited(9, at(50))[0].why, EndReason::Exited);
    assert!(engine.ends(at(50)));
    assert_eq!(engine.wake_at(), None);
}

#[test]
fn a_process_that_becomes_another_program_goes_on_with_its_launch() {
    let mut engine = engine();
    assert!(begin(&mut engine, 7, "/bin/sh", at(0), at(0)));
    assert!(!begin(&mut engine, 7, "/bin/a", at(3), at(3)));
    assert_eq!(engine.launches().collect::<Vec<_>>(), [(7, "/bin/a")]);
    assert_eq!(engine.exited(7, at(30))[0].program, "/bin/a");
}

#[test]
fn a_child_that_begins_a_launch_of_its_own_leaves_that_of_its_parent() {
    let mut engine = engine();
    begin(&mut engine, 7, "/bin/terminal", at(0), at(0));
    engine.forked(7, 8);
    assert!(engine.follows(8) && !engine.begins_with(8));
    assert!(!begin(&mut engine, 8, "/bin/a", at(5), at(5)), "the clock is up");
    // A late fork event changes nothing.
    engine.forked(7, 8);
    let over = |over: Vec<EndedBoost>| over.into_iter().map(|one| one.process).collect::<Vec<_>>();
    assert_eq!(over(engine.exited(7, at(30))), [7]);
    assert_eq!(over(engine.exited(8, at(40))), [8]);
}

#[test]
fn a_program_on_screen_ends_its_launch() {
    let mut engine = engine();
    begin(&mut engine, 7, "com.example.mail", at(0), at(0));
    assert_eq!(engine.displayed("com.example.camera", at(100)), []);
    assert_eq!(engine.displayed("com.example.mail", at(300))[0].why, EndReason::Displayed);
    assert!(engine.ends(at(300)));
}

#[test]
fn two_launches_are_one_boost() {
    let mut engine = engine();
    assert!(begin(&mut engine, 7, "/bin/a", at(0), at(0)));
    assert!(!begin(&mut engine, 8, "/bin/b", at(5), at(5)));
    engine.exited(7, at(30));
    assert!(!engine.ends(at(30)));
    engine.exited(8, at(40));
    assert!(engine.ends(at(40)));
}

#[test]
fn programs_that_end_at_once_share_a_boost() {
    let mut engine = engine();
    assert!(begin(&mut engine, 7, "/bin/a", at(0), at(0)));
    engine.exited(7, at(1));
    assert!(!engine.ends(at(1)));
    assert!(!begin(&mut engine, 8, "/bin/a", at(2), at(2)), "it is still boosted");
    engine.exited(8, at(3));
    assert_eq!(engine.wake_at(), Some(at(20)));
    assert!(engine.ends(at(20)));
}

#[test]
fn a_used_up_budget_ends_boosts_and_lets_none_begin() {
    let mut engine = Engine::new(Limits { budget: ms(90), ..LIMITS }, Learned::default(), at(0));
    begin(&mut engine, 7, "/bin/a", at(0), at(0));
    let (over, end) = run(&mut engine, u64::MAX);
    assert_eq!((over, end), (vec![(90, EndReason::Budget)], 90));
    assert_eq!(engine.rejection(at(100)), Some(Rejection::Budget));
    assert_eq!(engine.rejection(at(30_000)), None);
    assert!(engine.learned().is_empty(), "a boost that was cut off teaches nothing");
}

#[test]
fn a_pause_ends_boosts_and_lets_none_begin() {
    let mut engine = engine();
    begin(&mut engine, 7, "/bin/a", at(0), at(0));
    let ended = EndReason::Paused(PauseReason::Request);
    assert_eq!(engine.pause(PauseReason::Request, at(30))[0].why, ended);
    assert!(engine.ends(at(30)));
    assert_eq!(engine.rejection(at(40)), Some(Rejection::Paused));
    assert_eq!(engine.pause(PauseReason::PowerSaver, at(45)), []);
    engine.resume(PauseReason::Request);
    assert_eq!(engine.rejection(at(50)), Some(Rejection::PowerSaver));
    engine.resume(PauseReason::PowerSaver);
    assert_eq!(engine.rejection(at(50)), None);
}

#[test]
fn too_many_programs_are_not_examined_until_the_next_second() {
    let mut engine = engine();
    let looked_at = (0..1_000).filter(|&now| !engine.too_many_starts(at(now))).count();
    assert_eq!(looked_at, MOST_STARTS as usize);
    assert!(!engine.too_many_starts(at(1_000)));
}

#[test]
fn the_lists_of_launches_and_members_are_bounded() {
    let mut engine = engine();
    for process in 0..MOST_LAUNCHES as u32 {
        assert_eq!(engine.rejection(at(0)), None);
        begin(&mut engine, process, "/bin/a", at(0), at(0));
    }
    assert_eq!(engine.rejection(at(0)), Some(Rejection::Budget));
    (100..1_000).for_each(|child| engine.forked(0, child));
    assert_eq!(engine.launches[0].members.len(), MOST_MEMBERS);
}
