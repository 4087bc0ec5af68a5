//! Decides from events which launches are boosted, and until when. Pure: no clock,
//! no machine; times come with the events.

mod end_reason;
mod launch;
mod pause;

use unjank_host::{Nanos, Timestamp};

use super::budget::Budget;
use super::learned::Learned;
use super::members::{Members, ProcessCounters};
use super::rules::Rejection;
use super::settle::{IdleRule, SettleDetector};
use launch::Launch;
use pause::Pauses;

pub use end_reason::EndReason;
pub use pause::PauseReason;

/// The most launches followed at a time.
const MOST_LAUNCHES: usize = 32;
/// The most programs examined in one second: more come from a script, and are
/// only counted.
const MOST_STARTS: u32 = 50;
/// The period of [`MOST_STARTS`].
const SECOND: Nanos = Nanos::from_millis(1_000);
/// The shortest boost. It limits writes when many programs end at once.
const SHORTEST: Nanos = Nanos::from_millis(20);

/// The limits of an engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The rule by which processes count as idle.
    pub idle: IdleRule,
    /// Interval between checks of processes.
    pub look: Nanos,
    /// The longest boost of one launch.
    pub longest: Nanos,
    /// Boosted time per minute.
    pub budget: Nanos,
    /// Whether a boost ends when launches of its program usually end.
    pub learn: bool,
}

/// A launch whose boost has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedBoost {
    /// Process id of its first process.
    pub process: u32,
    /// Executable or package name of its program.
    pub program: String,
    /// The length of its boost.
    pub boosted: Nanos,
    /// Why the boost ended.
    pub why: EndReason,
}

/// Decides which launches are boosted, and until when.
#[derive(Debug)]
pub struct Engine {
    limits: Limits,
    budget: Budget,
    learned: Learned,
    pauses: Pauses,
    launches: Vec<Launch>,
    boosted_since: Option<Timestamp>,
    next_look: Timestamp,
    second: Timestamp,
    starts: u32,
}

impl Engine {
    /// An engine without launches.
    pub fn new(limits: Limits, learned: Learned, now: Timestamp) -> Self {
        Self {
            limits,
            budget: Budget::new(limits.budget, now),
            learned,
            pauses: Pauses::default(),
            launches: Vec::new(),
            boosted_since: None,
            next_look: now,
            second: now,
            starts: 0,
        }
    }

    /// Why no launch would be boosted now.
    pub fn rejection(&mut self, now: Timestamp) -> Option<Rejection> {
        if let Some(reason) = self.pauses.first() {
            Some(match reason {
                PauseReason::Request => Rejection::Paused,
                PauseReason::PowerSaver => Rejection::PowerSaver,
            })
        } else if self.budget.left(now) < SHORTEST || self.launches.len() >= MOST_LAUNCHES {
            Some(Rejection::Budget)
        } else {
            None
        }
    }

    /// Counts a program that may be a launch, before it is examined. Returns
    /// whether there are too many in this second.
    pub fn too_many_starts(&mut self, now: Timestamp) -> bool {
        if now.since(self.second) >= SECOND {
            (self.second, self.starts) = (now, 0);
        }
        self.starts = self.starts.saturating_add(1);
        self.starts > MOST_STARTS
    }

    /// Follows the launch that `process` began at `at`. Returns whether a boost
    /// begins with it. The program is named [later](Self::name), so that the clock
    /// need not wait for the lookup.
    ///
    /// A followed process that becomes another program (a script that ends in
    /// `exec`) stays with its launch. A process of another launch (of a shell, a
    /// desktop) leaves that launch for its own.
    pub fn begin(&mut self, process: u32, at: Timestamp, now: Timestamp) -> bool {
        if self.begins_with(process) {
            return false;
        }
        for other in &mut self.launches {
            other.members.remove(process);
        }
        self.launches.push(Launch {
            process,
            program: String::new(),
            begun: at,
            until: now + self.limits.longest,
            at_limit: EndReason::Longest,
            members: Members::new(process, now),
            settle: SettleDetector::new(self.limits.idle, at),
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

    /// Names the program of the launch that began with `process`, and limits its
    /// boost to the program's usual length from `now` on.
    pub fn name(&mut self, process: u32, program: &str, now: Timestamp) {
        let learned = self.learned.length_of(program).filter(|_| self.limits.learn);
        let Some(launch) = self.launches.iter_mut().find(|launch| launch.process == process) else {
            return;
        };
        program.clone_into(&mut launch.program);
        (launch.until, launch.at_limit) = match learned {
            Some(length) if length < self.limits.longest => {
                (now + length.max(self.limits.idle.window), EndReason::Learned)
            }
            _ => (launch.begun + self.limits.longest, EndReason::Longest),
        };
    }

    /// Whether a followed launch began with `process`.
    pub fn begins_with(&self, process: u32) -> bool {
        self.launches.iter().any(|launch| launch.process == process)
    }

    /// Whether `process` belongs to a followed launch.
    pub fn follows(&self, process: u32) -> bool {
        self.launches.iter().any(|launch| launch.members.contains(process))
    }

    /// `parent` has forked `child`.
    pub fn forked(&mut self, parent: u32, child: u32) {
        // The child's exec may be reported before its fork.
        if self.begins_with(child) {
            return;
        }
        for launch in &mut self.launches {
            if launch.members.contains(parent) {
                launch.members.add(child);
            }
        }
    }

    /// `process` has ended, and perhaps its launch.
    pub fn exited(&mut self, process: u32, now: Timestamp) -> Vec<EndedBoost> {
        for launch in &mut self.launches {
            launch.members.remove(process);
        }
        self.take_over(now, |launch| launch.members.is_empty().then_some((EndReason::Exited, now)))
    }

    /// `program` is on screen.
    pub fn displayed(&mut self, program: &str, now: Timestamp) -> Vec<EndedBoost> {
        let is_it = |launch: &mut Launch| launch.program == program;
        self.take_over(now, |launch| is_it(launch).then_some((EndReason::Displayed, now)))
    }

    /// Checks all followed processes, if it is time to.
    pub fn look(&mut self, now: Timestamp, look: &impl ProcessCounters) -> Vec<EndedBoost> {
        let mut over = Vec::new();
        if self.budget.empty_at().is_some_and(|empty| empty <= now) {
            over = self.take_over(now, |_| Some((EndReason::Budget, now)));
        }
        if self.launches.is_empty() || now < self.next_look {
            return over;
        }
        self.next_look = now + self.limits.look;
        let share = self.limits.idle.share;
        over.extend(self.take_over(now, |launch| {
            let step = launch.members.step(now, share, look);
            if launch.members.is_empty() {
                return Some((EndReason::Exited, now));
            }
            let settled = launch.settle.observe(now, step).map(|since| (EndReason::Settled, since));
            settled.or((launch.until <= now).then_some((launch.at_limit, now)))
        }));
        over
    }

    /// Ends the boost if no launch is followed any more; returns whether it ended.
    pub fn ends(&mut self, now: Timestamp) -> bool {
        let ends = self.launches.is_empty()
            && self.boosted_since.is_some_and(|since| now.since(since) >= SHORTEST);
        if ends {
            self.boosted_since = None;
            self.budget.spend(false, now);
        }
        ends
    }

    /// When [`look`](Self::look) and [`ends`](Self::ends) must be called next;
    /// `None` while nothing is boosted.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let since = self.boosted_since?;
        if self.launches.is_empty() {
            return Some(since + SHORTEST);
        }
        Some(self.budget.empty_at().map_or(self.next_look, |empty| empty.min(self.next_look)))
    }

    /// Begins a pause, which ends all boosts.
    pub fn pause(&mut self, reason: PauseReason, now: Timestamp) -> Vec<EndedBoost> {
        self.pauses.begin(reason);
        self.give_up(EndReason::Paused(reason), now)
    }

    /// Ends a pause. Launches are boosted again when no other one is left.
    pub fn resume(&mut self, reason: PauseReason) {
        self.pauses.end(reason);
    }

    /// Ends all boosts, with the next [`ends`](Self::ends).
    pub fn give_up(&mut self, why: EndReason, now: Timestamp) -> Vec<EndedBoost> {
        self.take_over(now, |_| Some((why, now)))
    }

    /// Whether boosts are paused for a reason.
    pub fn is_paused(&self, reason: PauseReason) -> bool {
        self.pauses.contains(reason)
    }

    /// Start of the current boost.
    pub fn boosted_since(&self) -> Option<Timestamp> {
        self.boosted_since
    }

    /// The launches that are boosted now: process and program.
    pub fn launches(&self) -> impl Iterator<Item = (u32, &str)> {
        self.launches.iter().map(|launch| (launch.process, launch.program.as_str()))
    }

    /// Boosted time that the budget still allows.
    pub fn budget_left(&mut self, now: Timestamp) -> Nanos {
        self.budget.left(now)
    }

    /// The learned lengths of launches.
    pub fn learned(&self) -> &Learned {
        &self.learned
    }

    /// Removes the launches that are over. `is_over` returns why, and since when
    /// there was nothing to boost.
    fn take_over(
        &mut self,
        now: Timestamp,
        mut is_over: impl FnMut(&mut Launch) -> Option<(EndReason, Timestamp)>,
    ) -> Vec<EndedBoost> {
        let mut over = Vec::new();
        let learned = &mut self.learned;
        self.launches.retain_mut(|launch| {
            let Some((why, since)) = is_over(launch) else { return true };
            match why {
                // It ended before its program was known.
                _ if launch.program.is_empty() => {}
                EndReason::Settled | EndReason::Exited | EndReason::Displayed => {
                    learned.note(&launch.program, Some(since.since(launch.begun)));
                }
                // Its length is unknown, except that it is longer than the limit.
                EndReason::Learned | EndReason::Longest => learned.note(&launch.program, None),
                EndReason::Budget | EndReason::Paused(_) | EndReason::Stopped => {}
            }
            over.push(EndedBoost {
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
