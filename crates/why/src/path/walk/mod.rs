//! The walk backwards through a history, from waits to the threads that ended them.
//!
//! Threads in a convoy wait for each other in chains of any length. So the walk keeps a list of the
//! [stretches](Stretch) of threads that it has not explained yet, instead of calling itself.

mod interrupts;

use std::collections::HashSet;

use unjank_host::Timestamp;
use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;

use super::at::At;
use super::classify::{Tie, Waker, is_by_exit_group, is_sleep, leaves_by};
use super::found::{LockWait, OwnWait, Path};
use super::is_for_addressed_lock;
use super::segment::{Activity, Certainty, Detail, Page, Segment, Way};
use super::series::Series;
use crate::history::{Carrier, History, Origin, State, Wait, Wake};

/// The most wake-ups at one moment that the path follows, as a wrong trace may have threads that
/// wake each other in a circle; the time beyond is unknown.
const MOST_AT_ONCE: u8 = 64;

/// Finds the critical path of `thread` from one moment to another.
pub fn critical_path(history: &History, thread: ThreadId, from: Timestamp, to: Timestamp) -> Path {
    path_of_program(history, (thread, thread), from, to, &Stop::default())
}

/// As `critical_path`, for a thread of a program whose first thread is `first`. The time of
/// `first`, and of the threads through which `thread` descends from it, is [`Way::Own`]. After a
/// stop request, the time that is not explained yet is unknown.
pub fn path_of_program(
    history: &History,
    (first, thread): (ThreadId, ThreadId),
    from: Timestamp,
    to: Timestamp,
    stop: &Stop,
) -> Path {
    let line = line(history, first, thread, to);
    let (segments, waits, locks) = (Vec::new(), Vec::new(), Vec::new());
    let (ahead, steps) = (Vec::new(), Vec::new());
    let mut walk = Walk { history, stop, line, segments, waits, locks, ahead, steps };
    walk.explain(thread, from, to, At::own(to));
    walk.go();
    walk.finish(thread)
}

/// The threads from `thread` up to `first`, each of which has started the one before. If `first` is
/// not among them: only `thread`, and `first` if both are known to be of one process.
fn line(history: &History, first: ThreadId, thread: ThreadId, to: Timestamp) -> HashSet<ThreadId> {
    let mut line = HashSet::new();
    let (mut member, mut at) = (thread, to);
    while line.insert(member) && member != first {
        let Some(birth) = history.life(member, at).and_then(|life| life.birth) else { break };
        (member, at) = (birth.parent, birth.at);
    }
    if line.contains(&first) {
        line
    } else if history.first_of_process(thread, to) == first {
        [thread, first].into()
    } else {
        [thread].into()
    }
}

struct Walk<'a> {
    history: &'a History,
    stop: &'a Stop,
    /// The threads whose time is the program's own.
    line: HashSet<ThreadId>,
    /// The last one first.
    segments: Vec<Segment>,
    waits: Vec<OwnWait>,
    locks: Vec<LockWait>,
    /// What to do after the present step, the next one last.
    ahead: Vec<Step>,
    /// What the present step adds to that, in order.
    steps: Vec<Step>,
}

/// A step of the walk.
#[derive(Debug)]
enum Step {
    Add(Segment),
    Explain(Stretch),
}

/// A time in which the path is on one thread, except for its waits.
#[derive(Debug)]
struct Stretch {
    thread: ThreadId,
    from: Timestamp,
    /// What comes later is explained.
    end: Timestamp,
    at: At,
    series: Series,
}

impl Walk<'_> {
    /// Does all steps.
    fn go(&mut self) {
        loop {
            self.ahead.extend(self.steps.drain(..).rev());
            match self.ahead.pop() {
                Some(Step::Add(segment)) => self.add(segment),
                Some(Step::Explain(stretch)) => self.step(stretch),
                None => return,
            }
        }
    }

    /// The path, with waits in order of time. A wait without a segment is left out. A wait within
    /// which the path came back to the program's own threads becomes several.
    fn finish(self, thread: ThreadId) -> Path {
        let Self { mut segments, waits: found, locks, .. } = self;
        segments.reverse();
        let (mut waits, mut before) = (Vec::<OwnWait>::new(), None);
        for segment in &mut segments {
            let of = segment.wait.take();
            if let Some(wait) = of.and_then(|of| found.get(of as usize)) {
                match waits.last_mut().filter(|_| of == before) {
                    Some(last) => last.to = segment.to,
                    None => {
                        waits.push(OwnWait { from: segment.from, to: segment.to, ..*wait });
                    }
                }
                segment.wait = Some(waits.len() as u32 - 1);
            }
            before = of;
        }
        Path { thread, segments, waits, locks }
    }

    /// Explains the time of `thread` from one moment to another, beginning at the end.
    fn explain(&mut self, thread: ThreadId, from: Timestamp, to: Timestamp, at: At) {
        // Whether it is back on one of the program's own threads.
        let is_back = at.way != Way::Own && self.line.contains(&thread);
        let at = if is_back { at.back() } else { at };
        self.go_on(Stretch { thread, from, end: to, at, series: Series::default() });
    }

    fn go_on(&mut self, stretch: Stretch) {
        if stretch.from < stretch.end {
            self.steps.push(Step::Explain(stretch));
        }
    }

    /// Explains the last part of a stretch.
    fn step(&mut self, stretch: Stretch) {
        let Stretch { thread, from, end, at, mut series } = stretch;
        if at.repeated > MOST_AT_ONCE || self.stop.is_requested() {
            self.push(thread, from, end, at, Activity::Unknown, Detail::None);
            return;
        }
        let life = self.history.life(thread, end);
        let Some(span) = life.and_then(|life| life.before(end)) else {
            // After its last event, it is not known what it did.
            let last = life.and_then(|life| life.spans.end());
            if let Some(last) = last.filter(|last| from < *last && *last < end) {
                self.push(thread, last, end, at, Activity::Unknown, Detail::None);
                self.go_on(Stretch { end: last, series, ..stretch });
                return;
            }
            // Before its birth, the path is on its parent.
            match life.and_then(|life| life.birth).filter(|birth| birth.at <= end) {
                Some(birth) if birth.parent != thread => {
                    let born = birth.at.max(from);
                    self.push(thread, born, end, at, Activity::Unknown, Detail::None);
                    let until = birth.at.min(end);
                    self.explain(birth.parent, from, until, at.deeper(until));
                }
                _ => self.push(thread, from, end, at, Activity::Unknown, Detail::None),
            }
            return;
        };
        let begin = span.from.max(from);
        match span.state {
            State::Running { cpu } => {
                let item = self
                    .history
                    .work_begun(thread, begin, end)
                    .filter(|item| at.follows_work && item.queued.is_some());
                let since = item.map_or(begin, |item| item.begun);
                self.runs(thread, (since, end), at, cpu);
                series.computes(end.since(since));
                if let Some(queued) = item.and_then(|item| item.queued) {
                    // Until it began, the worker was busy, or was being woken.
                    let queued_at = queued.at.clamp(from, since);
                    let busy = At { follows_work: false, ..at };
                    self.explain(thread, queued_at, since, busy);
                    let inferred = At { certainty: Certainty::Inferred, ..at };
                    self.follow(queued.by, thread, from, queued_at, inferred);
                    return;
                }
            }
            State::Woken { cpu } => {
                self.push(thread, begin, end, at, Activity::Waking, Detail::Cpu(cpu));
            }
            State::Ready { cpu } => {
                self.push(thread, begin, end, at, Activity::RunQueue, Detail::Cpu(cpu));
            }
            State::Asleep { wait: Wait::Lost, .. } => {
                self.push(thread, begin, end, at, Activity::Unknown, Detail::None);
            }
            State::Asleep { wait, wake } => {
                // A wake-up after `end` is not what the path waited for.
                let ended = wake.filter(|wake| wake.at <= end);
                let cause = series.cause(thread, (begin, end), wait, ended);
                self.wait(thread, (begin, end), at, wait, (ended, cause));
            }
        }
        self.go_on(Stretch { end: begin, series, ..stretch });
    }

    /// Adds a time in which `thread` had a CPU.
    fn runs(&mut self, thread: ThreadId, (from, to): (Timestamp, Timestamp), at: At, cpu: usize) {
        let (mut end, cpu) = (to, Detail::Cpu(cpu));
        let life = self.history.life(thread, to);
        for (begun, ended) in life.into_iter().flat_map(|life| life.reclaims_in(from, to)).rev() {
            self.push(thread, ended, end, at, Activity::Computing, cpu);
            self.push(thread, begun, ended, at, Activity::Reclaim, cpu);
            end = begun;
        }
        self.push(thread, from, end, at, Activity::Computing, cpu);
    }

    /// Explains a wait of `thread`, or a part of one. `ended` is the wake-up that ended it,
    /// `cause` the one that the path follows.
    fn wait(
        &mut self,
        thread: ThreadId,
        (from, to): (Timestamp, Timestamp),
        at: At,
        wait: Wait,
        (ended, cause): (Option<Wake>, Option<Wake>),
    ) {
        let leaves = cause.and_then(|wake| self.leaves(thread, wait, &wake, (from, to)));
        let (leaves, certainty) = leaves.unwrap_or((at.way, at.certainty));
        let way = if at.way == Way::Own { leaves } else { at.way };
        let page = match wait {
            Wait::Fault { file, .. } => Some(Page { thread, file }),
            Wait::Call { .. } | Wait::Stopped => None,
            // It may be a kernel thread that works for the thread with the page fault.
            Wait::KernelLock { .. } | Wait::Unknown | Wait::Lost => at.page,
        };
        let mut inner = At { way, certainty: certainty.min(at.certainty), page, ..at };
        if at.way == Way::Own {
            inner.wait = Some(self.waits.len() as u32);
            self.waits.push(OwnWait { from, to, thread, wait, wake: ended, way });
        }
        match cause {
            Some(wake) => match wake.by {
                Origin::Thread(waker) if waker != thread => {
                    if leaves == Way::Lock && is_for_addressed_lock(wait) {
                        inner.lock = Some(self.locks.len() as u32);
                        self.locks.push(LockWait {
                            from,
                            to,
                            thread,
                            wait,
                            wake,
                            waker,
                            certainty,
                        });
                    }
                    let sent = self.carried(wake.carrier, waker, from, to, inner);
                    self.explain(waker, from, sent, inner.deeper(sent));
                }
                Origin::Thread(_) => {
                    // A packet that it sent to itself, if another thread delivers it.
                    let carrier = wake.carrier.filter(|carrier| carrier.thread != thread);
                    let sent = self.carried(carrier, thread, from, to, inner);
                    self.push(thread, from, sent, inner, Activity::Unknown, Detail::None);
                }
                Origin::Interrupt(cause) => self.interrupt(cause, thread, from, to, inner),
            },
            // Only the timer, or a signal, can end it.
            None if is_sleep(wait) => {
                self.push(thread, from, to, inner, Activity::Timer, Detail::None);
            }
            None => self.push(thread, from, to, inner, Activity::Unknown, Detail::None),
        }
    }

    /// How the path leaves `thread`, which waited from one moment to another;
    /// `None` if no thread ended the wait.
    fn leaves(
        &self,
        thread: ThreadId,
        wait: Wait,
        wake: &Wake,
        (from, to): (Timestamp, Timestamp),
    ) -> Option<(Way, Certainty)> {
        let Origin::Thread(waker) = wake.by else { return None };
        let life = self.history.life(waker, to);
        let sleeper = self.history.life(thread, to);
        let received = sleeper.is_some_and(|life| life.received_at(wake.at));
        let process = |of| self.history.first_of_process(of, to);
        let waker = Waker {
            is_kernel: self.history.is_kernel(waker),
            kills: is_by_exit_group(wake) && process(waker) == process(thread),
            tie: if received {
                Tie::Sent
            } else if life.is_some_and(|life| life.inherited_from(thread, from, to)) {
                Tie::Inherited
            } else {
                Tie::None
            },
        };
        Some(leaves_by(wait, wake, waker))
    }

    /// Explains the delivery of the packet with which `waker` ended a wait. Returns when the packet
    /// was sent, or `to` without a packet.
    fn carried(
        &mut self,
        carrier: Option<Carrier>,
        waker: ThreadId,
        from: Timestamp,
        to: Timestamp,
        at: At,
    ) -> Timestamp {
        let Some(carrier) = carrier else { return to };
        let sent = carrier.sent.clamp(from, to);
        if carrier.thread == waker || self.history.is_kernel(carrier.thread) {
            let delivers = At { follows_work: false, ..at.deeper(to) };
            self.explain(carrier.thread, sent, to, delivers);
        } else {
            self.push(waker, sent, to, at, Activity::Network, Detail::None);
        }
        sent
    }

    /// Explains the time before an event by the event's origin.
    fn follow(&mut self, by: Origin, thread: ThreadId, from: Timestamp, to: Timestamp, at: At) {
        match by {
            Origin::Thread(origin) => self.explain(origin, from, to, at.deeper(to)),
            Origin::Interrupt(cause) => self.interrupt(cause, thread, from, to, at),
        }
    }

    /// Adds a segment, after the steps of this step so far.
    fn push(
        &mut self,
        thread: ThreadId,
        from: Timestamp,
        to: Timestamp,
        at: At,
        activity: Activity,
        detail: Detail,
    ) {
        if from >= to {
            return;
        }
        let At { way, certainty, wait, lock, depth, .. } = at;
        let certainty = match activity {
            Activity::Unknown => Certainty::Inferred,
            _ => certainty,
        };
        let page = at.page.filter(|_| activity == Activity::PageIn);
        let segment =
            Segment { from, to, thread, way, activity, detail, page, certainty, wait, lock, depth };
        self.steps.push(Step::Add(segment));
    }

    /// Adds a segment before those that are there.
    fn add(&mut self, segment: Segment) {
        let from = segment.from;
        match self.segments.last_mut() {
            Some(next)
                if (Segment { from, to: next.to, ..segment }) == (Segment { from, ..*next }) =>
            {
                next.from = from;
            }
            _ => self.segments.push(segment),
        }
    }
}
