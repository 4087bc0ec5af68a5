//! The computing of threads in critical sections of locks that the critical path waits for.

use std::collections::{BTreeMap, BTreeSet};

use unjank_host::Timestamp;
use unjank_units::Nanos;

use super::actors::{Actor, Actors, OfWindow};
use super::window::Window;
use crate::history::{Origin, State, Wait, Wake};
use crate::path::hands_over;

/// The critical sections of locks that the path waits for, as far as they are in the trace: those
/// that any thread waits for, because a thread on the path may hold such a lock, too. Every wait in
/// a futex that another thread ends counts as one for a lock, which is the futex's address.
#[derive(Debug)]
pub(super) struct Sections {
    by_holder: BTreeMap<Actor, Vec<Part>>,
}

/// A part in which the holder had a CPU. The parts of a holder are in order, without overlap.
#[derive(Debug, Clone, Copy)]
struct Part {
    from: Timestamp,
    to: Timestamp,
    /// The length of the parts before this one.
    before: Nanos,
}

/// A wait for a lock.
#[derive(Clone, Copy)]
struct LockWait {
    lock: u64,
    from: Timestamp,
    wake: Wake,
}

/// When a thread got a lock that it had waited for, and when it called the kernel to wake the
/// waiters of it. In order.
#[derive(Default)]
struct Uses {
    acquired: Vec<Timestamp>,
    released: Vec<Timestamp>,
}

impl Sections {
    pub(super) fn of(window: &Window<'_>, actors: &Actors<'_>) -> Self {
        let locks: BTreeSet<u64> = window.locks.iter().filter_map(|it| address(it.wait)).collect();
        let mut waits: BTreeMap<Actor, Vec<LockWait>> = BTreeMap::new();
        let all = actors.iter().flat_map(|(_, of)| lock_waits(of));
        for wait in all.filter(|wait| locks.contains(&wait.lock)) {
            let Origin::Thread(by) = wait.wake.by else { continue };
            if let Some(holder) = actors.find(by, wait.wake.at) {
                waits.entry(holder).or_default().push(wait);
            }
        }
        let parts = waits.into_iter().map(|(holder, waits)| {
            let holds = actors.life(holder);
            let uses = uses(holds);
            let section = |wait: LockWait| {
                let uses = uses.get(&wait.lock);
                let from = uses.map_or(wait.from, |uses| uses.section_before(wait));
                (from.max(window.from), wait.wake.at)
            };
            let mut sections: Vec<_> = waits.into_iter().map(section).collect();
            sections.sort_unstable();
            (holder, parts(holds, &sections))
        });
        Self { by_holder: parts.collect() }
    }

    /// The length of a holder's parts between two moments.
    pub(super) fn between(&self, holder: Actor, from: Timestamp, to: Timestamp) -> Nanos {
        let Some(parts) = self.by_holder.get(&holder) else { return Nanos::ZERO };
        let until = |moment: Timestamp| {
            let begun = parts.partition_point(|part| part.from < moment);
            let Some(last) = begun.checked_sub(1).and_then(|last| parts.get(last)) else {
                return Nanos::ZERO;
            };
            last.before + moment.min(last.to).since(last.from)
        };
        until(to) - until(from)
    }
}

impl Uses {
    /// The known beginning of the section whose end ended a wait.
    fn section_before(&self, wait: LockWait) -> Timestamp {
        let before = |all: &[Timestamp], skipped: usize| {
            let count = all.partition_point(|at| *at < wait.wake.at);
            count.checked_sub(1 + skipped).and_then(|last| all.get(last)).copied()
        };
        // The last call is the one that ended the wait.
        let (acquired, released) = (before(&self.acquired, 0), before(&self.released, 1));
        match (acquired, released) {
            (Some(acquired), released) if released.is_none_or(|it| it < acquired) => acquired,
            (_, Some(released)) => released.max(wait.from),
            (_, None) => wait.from,
        }
    }
}

/// The address of the futex in which a thread waits.
fn address(wait: Wait) -> Option<u64> {
    match wait {
        Wait::Call { arguments: [lock, _], .. } => Some(lock),
        _ => None,
    }
}

/// The waits of a thread for locks.
fn lock_waits(of: &OfWindow<'_>) -> impl Iterator<Item = LockWait> {
    let spans = of.spans.clone().filter_map(|number| of.life.spans.get(number));
    spans.filter_map(|span| {
        let State::Asleep { wait, wake: Some(wake) } = span.state else { return None };
        let lock = address(wait).filter(|_| hands_over(wait, &wake))?;
        Some(LockWait { lock, from: span.from, wake })
    })
}

/// The uses of locks by a thread.
fn uses(of: &OfWindow<'_>) -> BTreeMap<u64, Uses> {
    let mut uses: BTreeMap<u64, Uses> = BTreeMap::new();
    for wait in lock_waits(of) {
        uses.entry(wait.lock).or_default().acquired.push(wait.wake.at);
    }
    for &(at, lock) in &of.life.futex_wakes {
        uses.entry(lock).or_default().released.push(at);
    }
    uses
}

/// The parts of `sections`, which are in order, in which the holder had a CPU.
fn parts(holder: &OfWindow<'_>, sections: &[(Timestamp, Timestamp)]) -> Vec<Part> {
    let spans = &holder.life.spans;
    let mut parts: Vec<Part> = Vec::new();
    let mut done = Timestamp::default();
    for &(from, to) in sections {
        let from = from.max(done);
        let first = spans.begun_by(from).saturating_sub(1);
        let spans = (first..spans.len()).map_while(|number| spans.get(number));
        for span in spans.take_while(|span| span.from < to) {
            let (from, to) = (span.from.max(from), span.to.min(to));
            if matches!(span.state, State::Running { .. }) && from < to {
                let last = parts.last();
                let before = last.map_or(Nanos::ZERO, |it| it.before + it.to.since(it.from));
                parts.push(Part { from, to, before });
            }
        }
        done = done.max(to);
    }
    parts
}
