//! The activities of a path, and how they look.

/// An activity of a thread, or its wait: an index of [`ACTIVITIES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Activity(pub(crate) usize);

/// How an activity looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Its name in records; also its class in the style sheet, after `a-`.
    name: &'static str,
    /// Its character on a terminal.
    letter: char,
    meaning: &'static str,
}

/// All activities, in the order of legends.
pub(crate) const ACTIVITIES: [Look; 11] = [
    look("computing", '█', "it had a CPU"),
    look("slow-clock", '▓', "computing that the highest clock would have saved"),
    look("reclaim", 'r', "it looked for pages to evict, because it needed memory"),
    look("waking", 'w', "it was woken, and was on its way to a run queue"),
    look("run-queue", '░', "it was ready to run and had no CPU"),
    look("page-in", 'p', "a page that it touched came from storage"),
    look("storage", 's', "it waited for a block device"),
    look("timer", 't', "it slept"),
    look("network", 'n', "it waited for a packet"),
    look("device", 'd', "it waited for another device"),
    look("unknown", '?', "not in the trace"),
];

const fn look(name: &'static str, letter: char, meaning: &'static str) -> Look {
    Look { name, letter, meaning }
}

/// The activity of this name; the last one for others.
pub(crate) fn activity(name: &str) -> Activity {
    let known = ACTIVITIES.iter().position(|look| look.name == name);
    Activity(known.unwrap_or(ACTIVITIES.len() - 1))
}

impl Activity {
    fn look(self) -> Look {
        ACTIVITIES[self.0.min(ACTIVITIES.len() - 1)]
    }

    pub(crate) fn name(self) -> &'static str {
        self.look().name
    }

    pub(crate) fn letter(self) -> char {
        self.look().letter
    }

    pub(crate) fn meaning(self) -> &'static str {
        self.look().meaning
    }

    pub(crate) fn is_slow_clock(self) -> bool {
        self.0 == 1
    }

    /// Whether the clock of the CPU counts for it.
    pub(crate) fn computes(self) -> bool {
        self.0 < 2
    }

    /// Whether the thread had a CPU.
    pub(crate) fn has_cpu(self) -> bool {
        self.0 < 3
    }
}
