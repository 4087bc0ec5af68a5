//! What is wrong with a thread, and what to do about it.

use unjank_host::program_code::CodeLocation;

/// What a thread does with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A real-time thread waits without sleeping.
    Realtime,
    /// It calls `sched_yield` again and again.
    Yields,
    /// It spins on a memory location.
    Spins,
    /// It asks for events without waiting for them.
    Polls,
    /// It sleeps for a short time, looks, and sleeps again.
    Naps,
    /// It waits often and shortly for a lock.
    ShortWaits,
    /// It spends its time waiting for a lock.
    LongWaits,
    /// It and others wake each other, and run one after the other.
    TakesTurns,
    /// It is in functions that wait for a lock.
    LockCode,
    /// It hands something over so often that the wake-ups cost more.
    Handovers,
    /// It wakes nobody, again and again.
    WakesNobody,
    /// It is woken with others, for little or nothing.
    Herd,
    /// Nothing of all this.
    Fine,
    /// Too little was seen.
    CannotTell,
}

/// How sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// It was counted.
    Seen,
    /// It looks like it; only the program's source can tell.
    Suspected,
}

/// One thing that was found out about a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// What it does.
    pub kind: Kind,
    /// How sure that is.
    pub certainty: Certainty,
    /// The share of one CPU that goes to it, at most.
    pub wasted: f64,
    /// The figures that tell: a clause without a full stop.
    pub evidence: String,
    /// What to do: a clause without a full stop; nothing where nothing is wrong.
    pub action: Option<&'static str>,
}

impl Diagnosis {
    /// Something is wrong, and there may be something to do about it.
    pub(super) fn bad(kind: Kind, certainty: Certainty, wasted: f64, evidence: String) -> Self {
        Self { kind, certainty, wasted, evidence, action: kind.action() }
    }
}

impl Kind {
    /// In a word or two, for a table.
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
            Self::Handovers => "hand-over storm",
            Self::WakesNobody => "wakes nobody",
            Self::Herd => "thundering herd",
            Self::Fine => "healthy",
            Self::CannotTell => "cannot tell",
        }
    }

    /// Its name in a record.
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
            Self::Handovers => "hand_over_storm",
            Self::WakesNobody => "wakes_nobody",
            Self::Herd => "thundering_herd",
            Self::Fine => "healthy",
            Self::CannotTell => "cannot_tell",
        }
    }

    /// Whether it holds a thread up, whatever CPU time that takes.
    pub fn holds_up(self) -> bool {
        matches!(self, Self::LongWaits | Self::TakesTurns | Self::LockCode)
    }

    /// Whether something should be done about it.
    pub fn is_bad(self) -> bool {
        !matches!(self, Self::Fine | Self::CannotTell)
    }

    /// What to do about it.
    pub fn action(self) -> Option<&'static str> {
        Some(match self {
            Self::Realtime => {
                "let it sleep on a futex with priority inheritance, or take its real-time policy away: \
                 a thread of lower priority that it waits for may never run"
            }
            Self::Yields => {
                "wait on a futex, a condition variable or a channel, after a short spin with \
                 pause at most: sched_yield comes back at once if nobody else wants the CPU, and costs a switch if one does"
            }
            Self::Spins => {
                "spin for the break-even of `unjank lock probe` at most, then park on a futex or a \
                 condition variable"
            }
            Self::Polls => "give the poll a time limit, or let an eventfd or a signal end it",
            Self::Naps => {
                "let whoever makes the awaited true wake this thread (futex, condition variable, \
                 eventfd, semaphore)"
            }
            Self::ShortWaits => {
                "hold the lock for less, or spin shortly before parking; the waits are shorter \
                 than parking costs"
            }
            Self::LongWaits => {
                "move work out of the section that the lock guards, or split the lock; spinning \
                 would not help"
            }
            Self::TakesTurns => {
                "find what only one of these threads may use at a time, and hold it for less, or \
                 split it"
            }
            Self::LockCode => "hold the lock for less, split it, or let fewer threads use it",
            Self::Handovers => "hand over several at once, or let the receiver spin shortly first",
            Self::WakesNobody => {
                "count the waiters, or keep a flag beside the word, and wake only when one sleeps"
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
        (_, None) => format!("code made at run time, at {:#x}", place.offset),
    }
}
