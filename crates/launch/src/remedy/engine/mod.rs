//! From events to decisions: which launches are boosted, and until when. No
//! clock and no machine in here; times come with the events.

mod launch;
mod why;

use unjank_host::{Nanos, Timestamp};

use super::budget::Budget;
use super::learned::Learned;
use super::rules::Reason;
use super::settle::{Idle, Settle};
use launch::{Launch, Seen};

pub use launch::Look;
pub use why::Why;

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

    /// `process` has begun, at `at`, to run a program, and that is a launch.
    /// Whether a boost begins with it. Which program it is can be told
    /// [later](Self::name), so that the clock need not wait for it.
    ///
    /// A process that is followed already and becomes another program (a
    /// script that ends in `exec`) goes on with its launch. One that belongs to
    /// the launch of another (a shell, a desktop) leaves it for its own.
    pub fn begin(&mut self, process: u32, at: Timestamp, now: Timestamp) -> bool {
        if self.begins_with(process) {
            return false;
        }
        for other in &mut self.launches {
            other.members.remove(&process);
        }
        self.launches.push(Launch {
            process,
            program: String::new(),
            begun: at,
            until: now + self.limits.longest,
            at_limit: Why::Longest,
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

    /// The launch that began with `process` is one of `program`, and is
    /// boosted for as long as those take from `now` on.
    pub fn name(&mut self, process: u32, program: &str, now: Timestamp) {
        let learned = self.learned.length_of(program).filter(|_| self.limits.learn);
        let Some(launch) = self.launches.iter_mut().find(|launch| launch.process == process) else {
            return;
        };
        program.clone_into(&mut launch.program);
        (launch.until, launch.at_limit) = match learned {
            Some(length) if length < self.limits.longest => {
                (now + length.max(self.limits.idle.window), Why::Learned)
            }
            _ => (launch.begun + self.limits.longest, Why::Longest),
        };
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
                // It ended before anybody could see what it was.
                _ if launch.program.is_empty() => {}
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

#[cfg(test)]
mod tests;
