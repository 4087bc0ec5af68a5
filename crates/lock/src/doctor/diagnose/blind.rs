//! Blind spots: signs that a thread waits for a lock that no observation of the
//! watched processes shows.

use super::super::observed::{Calls, Futex, ObservedThread, Slept, share};
use super::super::words::{counted, percent};
use super::calls::is_contended;
use super::locks::futex_words;

/// Wake-ups a second by a thread's partner, or by processes that are not watched,
/// from which they may be hand-offs of a lock.
const WAKE_UPS: f64 = 10.0;

/// Why a thread that looks healthy may wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Blind<'a> {
    /// It waits on shared memory that only processes wake which are not watched.
    Outside(&'a Calls, &'a Futex),
    /// Unwatched processes of its own program wake it so often a second.
    Outsiders(f64),
    /// It and another thread wake each other so often a second.
    Partner(f64),
    /// It and others of its JVM, so many in all, slept through the watch.
    Slept(usize),
}

impl<'a> Blind<'a> {
    pub(crate) fn of(seen: &'a ObservedThread) -> Option<Self> {
        let outside = seen.calls.as_ref().and_then(|calls| Some((calls, calls.outside.as_ref()?)));
        if let Some((calls, futex)) = outside.filter(|(calls, futex)| is_contended(calls, futex)) {
            return Some(Self::Outside(calls, futex));
        }
        if let Some(Slept::Jvm { threads }) = seen.slept {
            return Some(Self::Slept(threads));
        }
        if seen.outsiders >= WAKE_UPS {
            return Some(Self::Outsiders(seen.outsiders));
        }
        // A lock in one futex is judged by its waits.
        let has_lock = seen.calls.as_ref().is_some_and(|calls| calls.lock.is_some());
        let partner = seen.partner.filter(|rate| *rate >= WAKE_UPS && !has_lock);
        partner.map(Self::Partner)
    }

    /// A clause about the thread.
    pub(super) fn evidence(self) -> String {
        match self {
            Self::Outside(calls, futex) => format!(
                "it waits for {} of its time on {}, which no other watched thread wakes",
                percent(share(futex.waited, calls.watched)),
                futex_words(futex),
            ),
            Self::Outsiders(rate) => format!(
                "processes of the same program that are not watched wake it {rate:.0} times a second"
            ),
            Self::Slept(threads) => format!(
                "it slept through the whole watch, as did {} of its JVM: idle, or behind a monitor \
                 that is held for long (jcmd PID Thread.print names it)",
                counted(threads as u64 - 1, "other thread", "other threads"),
            ),
            Self::Partner(rate) => format!(
                "it and another thread wake each other {rate:.0} times a second: they take turns at \
                 a lock, or are a client and its server"
            ),
        }
    }
}
