//! The diagnoses of a thread, with a remedy for each.

use unjank_host::program_code::CodeLocation;

/// How a thread spends its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiagnosisKind {
    /// A real-time thread waits without sleeping.
    Realtime,
    /// It calls `sched_yield` again and again.
    Yields,
    /// It spins on a memory location.
    Spins,
    /// It polls for events without waiting for them.
    Polls,
    /// It sleeps for a short time, checks a condition, and sleeps again.
    Naps,
    /// It waits for a lock often, and for a short time.
    ShortWaits,
    /// It spends its time waiting for a lock.
    LongWaits,
    /// It and others wake each other and run one after the other.
    TakesTurns,
    /// It is in functions that wait for a lock.
    LockCode,
    /// It hands over so often that the wake-ups cost more than the work.
    Handoffs,
    /// Its wake-up calls find no sleeper.
    WakesNobody,
    /// It is woken together with others, and finds little or no work.
    Herd,
    /// None of these.
    Fine,
    /// Too little was observed.
    CannotTell,
}

/// How certain a diagnosis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The evidence was counted.
    Certain,
    /// The evidence fits, but the program's source is needed to confirm it.
    Suspected,
}

/// One diagnosis of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// How the thread spends its time.
    pub kind: DiagnosisKind,
    /// How certain that is.
    pub certainty: Certainty,
    /// The share of one CPU that it wastes, at most.
    pub wasted: f64,
    /// The figures behind it: a clause without a full stop.
    pub evidence: String,
    /// The remedy: a clause without a full stop; `None` if nothing is wrong.
    pub action: Option<&'static str>,
}

impl Diagnosis {
    /// A problem, with the remedy of its kind.
    pub(super) fn bad(
        kind: DiagnosisKind,
        certainty: Certainty,
        wasted: f64,
        evidence: String,
    ) -> Self {
        Self { kind, certainty, wasted, evidence, action: kind.action() }
    }
}

impl DiagnosisKind {
    /// A short name for tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::Realtime => "REAL-TIME BUSY WAIT",
            Self::Yields => "yield storm",
            Self::Spins => "busy wait",
            Self::Polls => "empty polls",
            Self::Naps => "sleep loop",
            Self::ShortWaits => "contended lock, short",
            Self::LongWaits => "contended lock, long",
            Self::TakesTurns => "take turns",
            Self::LockCode => "contended lock",
            Self::Handoffs => "hand-off storm",
            Self::WakesNobody => "wakes nobody",
            Self::Herd => "thundering herd",
            Self::Fine => "healthy",
            Self::CannotTell => "cannot tell",
        }
    }

    /// The name in a record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Realtime => "realtime_busy_wait",
            Self::Yields => "yield_storm",
            Self::Spins => "busy_wait",
            Self::Polls => "empty_polls",
            Self::Naps => "sleep_loop",
            Self::ShortWaits => "lock_short_waits",
            Self::LongWaits => "lock_long_waits",
            Self::TakesTurns => "take_turns",
            Self::LockCode => "lock_code",
            Self::Handoffs => "handoff_storm",
            Self::WakesNobody => "wakes_nobody",
            Self::Herd => "thundering_herd",
            Self::Fine => "healthy",
            Self::CannotTell => "cannot_tell",
        }
    }

    /// Whether it delays the thread, even if it takes no CPU time.
    pub fn holds_up(self) -> bool {
        matches!(self, Self::LongWaits | Self::TakesTurns | Self::LockCode)
    }

    /// Whether it is a problem.
    pub fn is_bad(self) -> bool {
        !matches!(self, Self::Fine | Self::CannotTell)
    }

    /// Advice for the program's author; `None` for [`Fine`](Self::Fine) and
    /// [`CannotTell`](Self::CannotTell).
    pub fn action(self) -> Option<&'static str> {
        Some(match self {
            Self::Realtime => {
                "let it sleep on a futex with priority inheritance, or take away its real-time \
                 policy: a thread of lower priority that it waits for may never run"
            }
            Self::Yields => {
                "wait on a futex, a condition variable or a channel, after a short spin with \
                 pause at most: sched_yield returns at once if no other thread wants the CPU, and \
                 costs a context switch otherwise"
            }
            Self::Spins => {
                "spin for at most the break-even of `unjank lock probe`, then park on a futex or a \
                 condition variable"
            }
            Self::Polls => "give the poll a time limit, or let an eventfd or a signal end it",
            Self::Naps => {
                "let the thread that makes the condition true wake this one (futex, condition \
                 variable, eventfd, semaphore)"
            }
            Self::ShortWaits => {
                "hold the lock for less time, or spin briefly before parking: the waits are \
                 shorter than parking takes"
            }
            Self::LongWaits => {
                "move work out of the critical section, or split the lock; spinning would not help"
            }
            Self::TakesTurns => {
                "find the resource that only one of these threads may use at a time, and hold it \
                 for less time, or split it"
            }
            Self::LockCode => "hold the lock for less time, split it, or let fewer threads use it",
            Self::Handoffs => {
                "hand over several items at once, or let the receiver spin briefly first"
            }
            Self::WakesNobody => {
                "count the waiters, or keep a flag beside the futex, and wake only if one sleeps"
            }
            Self::Herd => "wake as many threads as there is work for (notify_one)",
            Self::Fine | Self::CannotTell => return None,
        })
    }
}

/// `reader::poll_once in /usr/bin/reader`, as far as it is known.
pub(crate) fn place_words(place: &CodeLocation) -> String {
    match (&place.function, &place.file) {
        (Some(function), Some(file)) => format!("{function} in {file}"),
        (_, Some(file)) => format!("{file} at {:#x}", place.offset),
        (_, None) => format!("code generated at run time, at {:#x}", place.offset),
    }
}
