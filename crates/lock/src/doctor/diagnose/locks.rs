//! Locks that are no futex which several threads share: what a runtime, a
//! process's title, wake-ups and samples tell.

use unjank_host::language_runtime::LanguageRuntime;

use super::super::diagnosis::{Certainty, Diagnosis, Kind};
use super::super::seen::{Futex, Seen, Title, share_of};
use super::super::words::{percent, threads};
use super::limits::SAMPLES;

/// The variable that holds CPython's lock of its interpreter.
const PYTHON: &str = "_PyRuntime";
/// A title is looked at so often at least, and says for this share of the looks
/// that the process is held up; for less, it may be.
const LOOKS: u64 = 3;
const HELD_UP: f64 = 0.2;
/// This share of samples in functions that wait for locks is contention.
const LOCK_CODE: f64 = 0.02;

/// What a futex is, with its name: `futex 0x1000 (table_lock)`.
pub(super) fn futex_words(futex: &Futex) -> String {
    match futex.name.as_deref() {
        Some(PYTHON) => format!("{} in {PYTHON} (the GIL of CPython)", futex.id),
        Some(name) => format!("{} in {name}", futex.id),
        None => futex.id.to_string(),
    }
}

/// What to do about a lock that has another remedy than most.
pub(super) fn action(futex: &Futex, kind: Kind) -> Option<&'static str> {
    match futex.name.as_deref() {
        Some(PYTHON) => Some(
            "work in several processes (multiprocessing), in code that lets go of the GIL, or \
             with free-threaded Python",
        ),
        _ => kind.action(),
    }
}

/// The process says by itself that it waits.
pub(super) fn titled(seen: &Seen) -> Option<Diagnosis> {
    let Title { looks, waiting } = seen.owner.title?;
    let share = share_of(waiting, looks);
    let evidence = format!(
        "its title said in {waiting} of {looks} looks that it waits for a lock of the database \
         (pg_locks and pg_blocking_pids() name it)"
    );
    let sure = looks >= LOOKS && share >= HELD_UP;
    let certainty = if sure { Certainty::Seen } else { Certainty::Suspected };
    (waiting > 0).then(|| Diagnosis::bad(Kind::LongWaits, certainty, 0.0, evidence))
}

/// Threads that wake each other.
pub(super) fn turns(seen: &Seen) -> Option<Diagnosis> {
    let turns = seen.turns?;
    let monitors = seen.contended_monitors();
    let also = match monitors {
        Some(rate) => {
            format!("; the JVM counted {rate:.0} contended entries and exits of monitors a second")
        }
        None => "; workers of a pool that wake one another look the same".to_owned(),
    };
    let evidence = format!(
        "{} of its time it waits, woken {:.0} times a second, {} of these by {} that it takes \
         turns with{also}",
        percent(turns.waiting),
        turns.woken,
        percent(turns.by_members),
        threads(turns.members - 1),
    );
    let certainty = if monitors.is_some() { Certainty::Seen } else { Certainty::Suspected };
    Some(Diagnosis::bad(Kind::TakesTurns, certainty, 0.0, evidence))
}

/// Samples in functions that wait for locks.
pub(super) fn lock_code(seen: &Seen) -> Option<Diagnosis> {
    let code = seen.code.as_ref().filter(|code| code.samples >= SAMPLES)?;
    let (function, share) = code.lock.as_ref().filter(|(_, share)| *share >= LOCK_CODE)?;
    let wasted = share * seen.cpu_share();
    let evidence = format!(
        "{} of {} samples in functions that find a lock taken, mostly {function}",
        percent(*share),
        code.samples,
    );
    Some(Diagnosis::bad(Kind::LockCode, Certainty::Seen, wasted, evidence))
}

/// Go's threads sleep in `nanosleep` for its runtime alone: `sysmon` looks
/// after the others, and those look for goroutines. A goroutine that sleeps is
/// a timer.
pub(super) fn sleeps_are_the_runtime_s(seen: &Seen) -> bool {
    seen.is_of(LanguageRuntime::Go)
}
