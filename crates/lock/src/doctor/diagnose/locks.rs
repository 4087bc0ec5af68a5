//! Diagnoses of locks that are no shared futex: from the runtime, the process
//! title, wake-ups and samples.

use unjank_host::language_runtime::LanguageRuntime;

use super::super::diagnosis::{Certainty, Diagnosis, DiagnosisKind};
use super::super::observed::{Futex, ObservedThread, Slept, Title, share_of};
use super::super::words::{counted, percent, threads};
use super::limits::SAMPLES;

/// The variable that contains CPython's global interpreter lock.
const PYTHON: &str = "_PyRuntime";
/// The least number of looks at a title, and the share of them from which the
/// diagnosis is certain.
const LOOKS: u64 = 3;
const HELD_UP: f64 = 0.2;
/// The share of samples in functions that wait for locks from which it is
/// contention.
const LOCK_CODE: f64 = 0.02;

/// A futex with its name, such as `futex 0x1000 in table_lock`.
pub(super) fn futex_words(futex: &Futex) -> String {
    match futex.name.as_deref() {
        Some(PYTHON) => format!("{} in {PYTHON} (the GIL of CPython)", futex.id),
        Some(name) => format!("{} in {name}", futex.id),
        None => futex.id.to_string(),
    }
}

/// The remedy, which differs for CPython's GIL.
pub(super) fn action(futex: &Futex, kind: DiagnosisKind) -> Option<&'static str> {
    match futex.name.as_deref() {
        Some(PYTHON) => Some(
            "work in several processes (multiprocessing), in code that releases the GIL, or with \
             free-threaded Python",
        ),
        _ => kind.action(),
    }
}

/// A process whose title says that it waits.
pub(super) fn titled(seen: &ObservedThread) -> Option<Diagnosis> {
    let Title { looks, waiting } = seen.owner.title?;
    let share = share_of(waiting, looks);
    let evidence = format!(
        "its title said in {waiting} of {looks} looks that it waits for a database lock (pg_locks \
         and pg_blocking_pids() name it)"
    );
    let sure = looks >= LOOKS && share >= HELD_UP;
    let certainty = if sure { Certainty::Certain } else { Certainty::Suspected };
    (waiting > 0).then(|| Diagnosis::bad(DiagnosisKind::LongWaits, certainty, 0.0, evidence))
}

/// Threads that wake each other.
pub(super) fn turns(seen: &ObservedThread) -> Option<Diagnosis> {
    let turns = seen.turns?;
    let monitors = seen.contended_monitors();
    let also = match monitors {
        Some(rate) => {
            format!("; the JVM counted {rate:.0} contended entries and exits of monitors a second")
        }
        None => "; workers of a pool that wake one another look the same".to_owned(),
    };
    let evidence = format!(
        "it waits for {} of its time and is woken {:.0} times a second, {} of these by {} that it \
         takes turns with{also}",
        percent(turns.waiting),
        turns.woken,
        percent(turns.by_members),
        threads(turns.members - 1),
    );
    let certainty = if monitors.is_some() { Certainty::Certain } else { Certainty::Suspected };
    Some(Diagnosis::bad(DiagnosisKind::TakesTurns, certainty, 0.0, evidence))
}

/// A wait for a lock that lasted for the whole watch.
pub(super) fn held(seen: &ObservedThread) -> Option<Diagnosis> {
    let (certainty, evidence) = match seen.slept? {
        Slept::Mutex { holder, polls, waiters } => {
            let held = if holder == seen.thread {
                "it holds itself".to_owned()
            } else {
                format!("thread {} holds", holder.0)
            };
            let beside = match waiters {
                0 | 1 => String::new(),
                _ => format!(", as {}", others(waiters)),
            };
            // The leader of a pool may wait for events with the mutex held.
            let (certainty, leads) = if polls {
                (Certainty::Suspected, ", which waits for events")
            } else {
                (Certainty::Certain, "")
            };
            let waits = "it waited through the whole watch for a mutex";
            (certainty, format!("{waits} that {held}{leads}{beside}"))
        }
        Slept::Lock { waiters } => (
            Certainty::Suspected,
            format!(
                "it slept through the whole watch on a futex with the value of a contended lock, \
                 as {}",
                others(waiters)
            ),
        ),
        Slept::Jvm { .. } => return None,
    };
    Some(Diagnosis::bad(DiagnosisKind::LongWaits, certainty, 0.0, evidence))
}

fn others(waiters: usize) -> String {
    counted((waiters as u64).saturating_sub(1), "other thread does", "other threads do")
}

/// Samples in functions that wait for locks.
pub(super) fn lock_code(seen: &ObservedThread) -> Option<Diagnosis> {
    let code = seen.code.as_ref().filter(|code| code.samples >= SAMPLES)?;
    let (function, share) = code.lock.as_ref().filter(|(_, share)| *share >= LOCK_CODE)?;
    let wasted = share * seen.cpu_share();
    let evidence = format!(
        "{} of {} samples in functions that find a lock taken, mostly {function}",
        percent(*share),
        code.samples,
    );
    Some(Diagnosis::bad(DiagnosisKind::LockCode, Certainty::Certain, wasted, evidence))
}

/// In a Go program, only the runtime calls `nanosleep`: `sysmon` and threads that
/// search for goroutines. A sleeping goroutine is a timer.
pub(super) fn sleeps_are_the_runtime_s(seen: &ObservedThread) -> bool {
    seen.is_of(LanguageRuntime::Go)
}
