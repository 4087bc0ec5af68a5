//! From events to decisions: which launches are boosted, and until when. No
//! clock and no machine in here; times come with the events.

use std::collections::BTreeMap;

use unjank_host::pid::Waits;
use unjank_host::{Nanos, Timestamp};

use super::budget::Budget;
use super::learned::Learned;
use super::rules::Reason;
use super::settle::{Idle, Settle, Step};

/// Launches that are followed at a time; what starts beside so many is no
/// launch that anybody waits for.
const MOST_LAUNCHES: usize = 32;
/// Programs that are looked at in one second: a script that starts more is
/// nobody's launch, and costs no more than being heard.
const MOST_STARTS: u32 = 50;
/// The second of [`MOST_STARTS`].
const SECOND: Nanos = Nanos::from_millis(1_000);
/// Processes of one launch that are looked at.
const MOST_MEMBERS: usize = 64;
/// A boost lasts at least so long, so that a storm of programs that end at
/// once does not become a storm of writes.
const SHORTEST: Nanos = Nanos::from_millis(20);

/// What an engine goes by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// When processes count as idle.
    pub idle: Idle,
    /// How often they are looked at.
    pub look: Nanos,
    /// The longest boost of one launch.
    pub longest: Nanos,
    /// Boosted time per minute.
    pub budget: Nanos,
    /// Whether a boost ends when launches of its program usually have.
    pub learn: bool,
}

/// Why the boost of a launch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Its processes have become idle.
    Settled,
    /// Its processes have ended.
    Exited,
    /// It is on screen, as the system says.
    Displayed,
    /// Launches of this program are over after such a time.
    Learned,
    /// It lasted as long as any boost may.
    Longest,
    /// The budget was used up.
    Budget,
    /// Boosts were paused.
    Paused,
    /// The service ended.
    Stopped,
}

impl Why {
    /// In words that follow the length of a boost.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Exited => "exited",
            Self::Displayed => "on screen",
            Self::Learned => "as long as its launches take",
            Self::Longest => "the longest allowed",
            Self::Budget => "budget used up",
            Self::Paused => "paused",
            Self::Stopped => "service stopped",
        }
    }
}

/// A launch whose boost is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// Its first process.
    pub process: u32,
    /// Its program.
    pub program: String,
    /// How long it was boosted.
    pub boosted: Nanos,
    /// Why it is not any more.
    pub why: Why,
}

/// Decides which launches are boosted, and until when.
#[derive(Debug)]
pub struct Engine {
    limits: Limits,
    budget: Budget,
    learned: Learned,
    paused: bool,
    launches: Vec<Launch>,
    boosted_since: Option<Timestamp>,
    next_look: Timestamp,
    second: Timestamp,
    starts: u32,
}

#[derive(Debug)]
struct Launch {
    process: u32,
    program: String,
    begun: Timestamp,
    until: Timestamp,
    at_limit: Why,
    /// Its processes, and what they had done at the last look.
    members: BTreeMap<u32, Seen>,
    looked: Timestamp,
    settle: Settle,
}

/// What was seen of a process at the last look.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    ran: Nanos,
    /// `None` where it was not asked for: the launch was busy.
    waits: Option<Waits>,
}

/// How processes are looked at.
pub trait Look {
    /// CPU time that a process has used; `None` if there is none.
    fn ran(&self, process: u32) -> Option<Nanos>;

    /// What it has waited for; `None` if it has ended. Takes longer.
    fn waits(&self, process: u32) -> Option<Waits>;
}

impl Engine {
    /// An engine that knows of no launch yet.
    pub fn new(limits: Limits, learned: Learned, now: Timestamp) -> Self {
        Self {
            limits,
            budget: Budget::new(limits.budget, now),
            learned,
            paused: false,
            launches: Vec::new(),
            boosted_since: None,
            next_look: now,
            second: now,
            starts: 0,
        }
    }

    /// Why no launch would be boosted now, whatever it was.
    pub fn objection(&mut self, now: Timestamp) -> Option<Reason> {
        if self.paused {
            Some(Reason::Paused)
        } else if self.budget.left(now) < SHORTEST || self.launches.len() >= MOST_LAUNCHES {
            Some(Reason::Budget)
        } else {
            None
        }
    }

    /// Counts a program that might be a launch, before it is looked at. Whether
    /// there are too many in this second.
    pub fn crowded(&mut self, now: Timestamp) -> bool {
        if now.since(self.second) >= SECOND {
            (self.second, self.starts) = (now, 0);
        }
        self.starts = self.starts.saturating_add(1);
        self.starts > MOST_STARTS
    }

    /// `process` has begun, at `at`, to run `program`, and that is a launch.
    /// Whether a boost begins with it.
    ///
    /// A process that is followed already and becomes another program (a
    /// script that ends in `exec`) goes on with its launch. One that belongs to
    /// the launch of another (a shell, a desktop) leaves it for its own.
    pub fn begin(&mut self, process: u32, program: &str, at: Timestamp, now: Timestamp) -> bool {
        if let Some(known) = self.launches.iter_mut().find(|known| known.process == process) {
            program.clone_into(&mut known.program);
            return false;
        }
        for other in &mut self.launches {
            other.members.remove(&process);
        }
        let learned = self.learned.length_of(program).filter(|_| self.limits.learn);
        let (length, at_limit) = match learned {
            Some(length) if length < self.limits.longest => {
                (length.max(self.limits.idle.window), Why::Learned)
            }
            _ => (self.limits.longest, Why::Longest),
        };
        self.launches.push(Launch {
            process,
            program: program.to_owned(),
            begun: at,
            until: now + length,
            at_limit,
            members: [(process, Seen::default())].into(),
            looked: now,
            settle: Settle::new(self.limits.idle, at),
        });
        if self.launches.len() == 1 {
            self.next_look = now + self.limits.look;
        }
        let first = self.boosted_since.is_none();
        if first {
            self.boosted_since = Some(now);
            self.budget.spend(true, now);
        }
        first
    }

    /// Whether a launch that is followed began with `process`.
    pub fn begins_with(&self, process: u32) -> bool {
        self.launches.iter().any(|launch| launch.process == process)
    }

    /// Whether `process` belongs to a launch that is followed.
    pub fn follows(&self, process: u32) -> bool {
        self.launches.iter().any(|launch| launch.members.contains_key(&process))
    }

    /// `parent` has made the process `child`.
    pub fn forked(&mut self, parent: u32, child: u32) {
        // That may be heard after what became of it.
        if self.begins_with(child) {
            return;
        }
        for launch in &mut self.launches {
            if launch.members.contains_key(&parent) && launch.members.len() < MOST_MEMBERS {
                launch.members.insert(child, Seen::default());
            }
        }
    }

    /// `process` has ended, and perhaps a launch with it.
    pub fn exited(&mut self, process: u32, now: Timestamp) -> Vec<Over> {
        for launch in &mut self.launches {
            launch.members.remove(&process);
        }
        self.take_over(now, |launch| launch.members.is_empty().then_some((Why::Exited, now)))
    }

    /// `program` is on screen.
    pub fn displayed(&mut self, program: &str, now: Timestamp) -> Vec<Over> {
        let is_it = |launch: &mut Launch| launch.program == program;
        self.take_over(now, |launch| is_it(launch).then_some((Why::Displayed, now)))
    }

    /// Looks at all processes that are followed, if it is time to.
    pub fn look(&mut self, now: Timestamp, look: &impl Look) -> Vec<Over> {
        let mut over = Vec::new();
        if self.budget.empty_at().is_some_and(|empty| empty <= now) {
            over = self.take_over(now, |_| Some((Why::Budget, now)));
        }
        if self.launches.is_empty() || now < self.next_look {
            return over;
        }
        self.next_look = now + self.limits.look;
        let share = self.limits.idle.share;
        over.extend(self.take_over(now, |launch| {
            let step = launch.step(now, share, look);
            if launch.members.is_empty() {
                return Some((Why::Exited, now));
            }
            let settled = launch.settle.observe(now, step).map(|since| (Why::Settled, since));
            settled.or((launch.until <= now).then_some((launch.at_limit, now)))
        }));
        over
    }

    /// Whether the boost has to end now: no launch is followed any more.
    pub fn ends(&mut self, now: Timestamp) -> bool {
        let ends = self.launches.is_empty()
            && self.boosted_since.is_some_and(|since| now.since(since) >= SHORTEST);
        if ends {
            self.boosted_since = None;
            self.budget.spend(false, now);
        }
        ends
    }

    /// When [`look`](Self::look) and [`ends`](Self::ends) have something to
    /// see next; `None` while nothing is boosted.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let since = self.boosted_since?;
        if self.launches.is_empty() {
            return Some(since + SHORTEST);
        }
        Some(self.budget.empty_at().map_or(self.next_look, |empty| empty.min(self.next_look)))
    }

    /// Begins or ends a pause. A pause ends all boosts.
    pub fn pause(&mut self, paused: bool, now: Timestamp) -> Vec<Over> {
        self.paused = paused;
        if paused { self.give_up(Why::Paused, now) } else { Vec::new() }
    }

    /// Ends all boosts, with the next [`ends`](Self::ends).
    pub fn give_up(&mut self, why: Why, now: Timestamp) -> Vec<Over> {
        self.take_over(now, |_| Some((why, now)))
    }

    /// Whether boosts are paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Since when there is a boost.
    pub fn boosted_since(&self) -> Option<Timestamp> {
        self.boosted_since
    }

    /// The programs whose launches are boosted now, with their processes.
    pub fn launches(&self) -> impl Iterator<Item = (u32, &str)> {
        self.launches.iter().map(|launch| (launch.process, launch.program.as_str()))
    }

    /// What is left of the budget.
    pub fn budget_left(&mut self, now: Timestamp) -> Nanos {
        self.budget.left(now)
    }

    /// What was learned so far.
    pub fn learned(&self) -> &Learned {
        &self.learned
    }

    /// Takes out the launches that are over according to `is_over`, which says
    /// why, and since when there was nothing to boost.
    fn take_over(
        &mut self,
        now: Timestamp,
        mut is_over: impl FnMut(&mut Launch) -> Option<(Why, Timestamp)>,
    ) -> Vec<Over> {
        let mut over = Vec::new();
        let learned = &mut self.learned;
        self.launches.retain_mut(|launch| {
            let Some((why, since)) = is_over(launch) else { return true };
            match why {
                Why::Settled | Why::Exited | Why::Displayed => {
                    learned.note(&launch.program, Some(since.since(launch.begun)));
                }
                // What is cut off at the length that was learned tells nothing
                // about it but that it can be longer.
                Why::Learned | Why::Longest => learned.note(&launch.program, None),
                Why::Budget | Why::Paused | Why::Stopped => {}
            }
            over.push(Over {
                process: launch.process,
                program: std::mem::take(&mut launch.program),
                boosted: now.since(launch.begun),
                why,
            });
            false
        });
        over
    }
}

impl Launch {
    /// What its processes did since the last look. Those that have ended are
    /// followed no longer. A launch that runs is not idle whatever it waits
    /// for besides, so that is not asked.
    fn step(&mut self, now: Timestamp, share: f64, look: &impl Look) -> Step {
        let mut step = Step::default();
        self.members.retain(|&process, seen| {
            let Some(ran) = look.ran(process) else { return false };
            step.ran = step.ran + (ran - seen.ran);
            seen.ran = ran;
            true
        });
        let passed = now.since(self.looked).get() as f64;
        self.looked = now;
        if step.ran.get() as f64 > passed * share {
            self.members.values_mut().for_each(|seen| seen.waits = None);
            return step;
        }
        self.members.retain(|&process, seen| {
            let Some(waits) = look.waits(process) else { return false };
            let before = seen.waits.replace(waits).unwrap_or(waits);
            step.waited = step.waited + (waits.ready - before.ready);
            step.major_faults += waits.major_faults.saturating_sub(before.major_faults);
            step.blocked |= waits.blocked;
            true
        });
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        idle: Idle { window: Nanos::from_millis(50), share: 0.1 },
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

    /// Processes that have run for so long, and wait for storage or not.
    struct Busy {
        ran: Nanos,
        blocked: bool,
    }

    impl Look for Busy {
        fn ran(&self, _: u32) -> Option<Nanos> {
            Some(self.ran)
        }

        fn waits(&self, _: u32) -> Option<Waits> {
            Some(Waits { blocked: self.blocked, ..Waits::default() })
        }
    }

    /// Looks whenever the engine wants to, at processes that run until
    /// `busy_until`. What is over, and when the boost ended.
    fn run(engine: &mut Engine, busy_until: u64) -> (Vec<(u64, Why)>, u64) {
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
    fn who_waits_for_storage_is_not_idle() {
        let mut engine = engine();
        engine.begin(7, "/bin/a", at(0), at(0));
        let looks = |blocked| Busy { ran: ms(1), blocked };
        for look in 1..50 {
            assert_eq!(engine.look(at(look * 10), &looks(true)), []);
        }
        let over = (50..60).find_map(|look| engine.look(at(look * 10), &looks(false)).pop());
        assert_eq!(over.unwrap().why, Why::Settled);
    }

    #[test]
    fn a_launch_that_settles_is_boosted_until_then_and_its_length_is_learned() {
        let mut engine = engine();
        assert!(engine.begin(7, "/bin/a", at(0), at(0)));
        assert_eq!(run(&mut engine, 200), (vec![(250, Why::Settled)], 250));
        assert_eq!(engine.budget_left(at(250)), ms(6_000) - ms(225));
        for launch in 1..=2 {
            engine.begin(7 + launch, "/bin/a", at(1_000), at(1_000));
            let idle = Busy { ran: Nanos::ZERO, blocked: false };
            let _steps: Vec<Over> =
                (101..).take(6).flat_map(|step| engine.look(at(step * 10), &idle)).collect();
            engine.ends(at(2_000));
        }
        assert!(engine.learned().length_of("/bin/a").is_some());
    }

    #[test]
    fn one_that_never_settles_ends_at_the_limit_and_later_at_the_learned_one() {
        let mut engine = engine();
        engine.begin(7, "/bin/a", at(0), at(0));
        assert_eq!(run(&mut engine, u64::MAX), (vec![(1_000, Why::Longest)], 1_000));
        for _ in 0..3 {
            engine.learned.note("/bin/b", Some(ms(100)));
        }
        engine.begin(8, "/bin/b", at(2_000), at(2_000));
        let (over, _) = run(&mut engine, u64::MAX);
        assert_eq!(over, [(2_130, Why::Learned)], "125 ms, seen at the next look");
    }

    #[test]
    fn children_count_and_the_last_one_to_end_ends_it() {
        let mut engine = engine();
        engine.begin(7, "/bin/a", at(0), at(0));
        engine.forked(7, 8);
        engine.forked(8, 9);
        engine.forked(1, 10);
        assert_eq!(engine.exited(7, at(30)), []);
        assert_eq!(engine.exited(8, at(40)), []);
        assert!(engine.follows(9) && !engine.follows(10));
        assert_eq!(engine.exited(9, at(50))[0].why, Why::Exited);
        assert!(engine.ends(at(50)));
        assert_eq!(engine.wake_at(), None);
    }

    #[test]
    fn a_process_that_becomes_another_program_goes_on_with_its_launch() {
        let mut engine = engine();
        assert!(engine.begin(7, "/bin/sh", at(0), at(0)));
        assert!(!engine.begin(7, "/bin/a", at(3), at(3)));
        assert_eq!(engine.launches().collect::<Vec<_>>(), [(7, "/bin/a")]);
        assert_eq!(engine.exited(7, at(30))[0].program, "/bin/a");
    }

    #[test]
    fn a_child_that_begins_a_launch_of_its_own_leaves_that_of_its_parent() {
        let mut engine = engine();
        engine.begin(7, "/bin/terminal", at(0), at(0));
        engine.forked(7, 8);
        assert!(engine.follows(8) && !engine.begins_with(8));
        assert!(!engine.begin(8, "/bin/a", at(5), at(5)), "the clock is up");
        // Told late, it changes nothing.
        engine.forked(7, 8);
        let over = |over: Vec<Over>| over.into_iter().map(|one| one.process).collect::<Vec<_>>();
        assert_eq!(over(engine.exited(7, at(30))), [7]);
        assert_eq!(over(engine.exited(8, at(40))), [8]);
    }

    #[test]
    fn what_is_on_screen_has_been_launched() {
        let mut engine = engine();
        engine.begin(7, "com.example.mail", at(0), at(0));
        assert_eq!(engine.displayed("com.example.camera", at(100)), []);
        assert_eq!(engine.displayed("com.example.mail", at(300))[0].why, Why::Displayed);
        assert!(engine.ends(at(300)));
    }

    #[test]
    fn two_launches_are_one_boost() {
        let mut engine = engine();
        assert!(engine.begin(7, "/bin/a", at(0), at(0)));
        assert!(!engine.begin(8, "/bin/b", at(5), at(5)));
        engine.exited(7, at(30));
        assert!(!engine.ends(at(30)));
        engine.exited(8, at(40));
        assert!(engine.ends(at(40)));
    }

    #[test]
    fn programs_that_end_at_once_share_a_boost() {
        let mut engine = engine();
        assert!(engine.begin(7, "/bin/a", at(0), at(0)));
        engine.exited(7, at(1));
        assert!(!engine.ends(at(1)));
        assert!(!engine.begin(8, "/bin/a", at(2), at(2)), "it is still boosted");
        engine.exited(8, at(3));
        assert_eq!(engine.wake_at(), Some(at(20)));
        assert!(engine.ends(at(20)));
    }

    #[test]
    fn a_used_up_budget_ends_boosts_and_lets_none_begin() {
        let mut engine =
            Engine::new(Limits { budget: ms(90), ..LIMITS }, Learned::default(), at(0));
        engine.begin(7, "/bin/a", at(0), at(0));
        let (over, end) = run(&mut engine, u64::MAX);
        assert_eq!((over, end), (vec![(90, Why::Budget)], 90));
        assert_eq!(engine.objection(at(100)), Some(Reason::Budget));
        assert_eq!(engine.objection(at(30_000)), None);
        assert!(engine.learned().is_empty(), "a boost that was cut off teaches nothing");
    }

    #[test]
    fn a_pause_ends_boosts_and_lets_none_begin() {
        let mut engine = engine();
        engine.begin(7, "/bin/a", at(0), at(0));
        assert_eq!(engine.pause(true, at(30))[0].why, Why::Paused);
        assert!(engine.ends(at(30)));
        assert_eq!(engine.objection(at(40)), Some(Reason::Paused));
        assert_eq!(engine.pause(false, at(50)), []);
        assert_eq!(engine.objection(at(50)), None);
    }

    #[test]
    fn a_crowd_is_not_looked_at_until_the_next_second() {
        let mut engine = engine();
        let looked_at = (0..1_000).filter(|&now| !engine.crowded(at(now))).count();
        assert_eq!(looked_at, MOST_STARTS as usize);
        assert!(!engine.crowded(at(1_000)));
    }

    #[test]
    fn a_storm_fills_no_list_without_end() {
        let mut engine = engine();
        for process in 0..MOST_LAUNCHES as u32 {
            assert_eq!(engine.objection(at(0)), None);
            engine.begin(process, "/bin/a", at(0), at(0));
        }
        assert_eq!(engine.objection(at(0)), Some(Reason::Budget));
        (100..1_000).for_each(|child| engine.forked(0, child));
        assert_eq!(engine.launches[0].members.len(), MOST_MEMBERS);
    }
}
