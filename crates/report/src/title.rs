//! Titles of charts: what a record calls by a path, in words.

/// A title, and the path that it says in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Title {
    /// `Launch time, median`
    pub(crate) words: String,
    /// `launch/bench/total/median`, by which it is found in tables and in JSON; already
    /// made visible.
    pub(crate) path: String,
    /// `percentiles of launch/bench/total`: no other chart about it has the same.
    pub(crate) name: String,
}

/// Segments whose words are not their own.
const WORDS: [(&str, &str); 38] = [
    ("basic", "launch time without the load"),
    ("basic_change", "change of the launch time without the load"),
    ("break_even", "shortest wait for which parking is cheaper"),
    ("calls", "calls per second"),
    ("cpu_power", "power of the CPUs"),
    ("cpu_time", "CPU time"),
    ("cpus", "CPUs used"),
    ("culprit", "lateness by its cause"),
    ("deadline", "SCHED_DEADLINE"),
    ("energy_by_rate", "energy by sampling rate"),
    ("fifo", "SCHED_FIFO"),
    ("fig1", "Fig. 1"),
    ("fig2", "Fig. 2"),
    ("fig3", "Fig. 3"),
    ("fig5", "Fig. 5"),
    ("full_speed", "launch time at full speed"),
    ("jvm", "JVM"),
    ("late_share", "shares of late wake-ups"),
    ("launch", "launches"),
    ("lost_to_others", "time lost to other programs"),
    ("operations", "operations per second"),
    ("other", "SCHED_OTHER"),
    ("page_in", "time of a page-in"),
    ("pareto", "Pareto front"),
    ("park", "parking"),
    ("park_wake", "time until a parked thread runs"),
    ("pi", "pi-channel"),
    ("rr", "SCHED_RR"),
    ("run_delay", "time in run queues"),
    ("spawn_to_start", "time until work begins"),
    ("speed", "speed since the CPU woke"),
    ("storage_ios", "storage I/O"),
    ("tcp", "TCP"),
    ("time_to_full", "time until full speed"),
    ("total", "launch time"),
    ("volume", "storage I/O by its source"),
    ("wakeup", "wake-up latency"),
    ("worst_of_round", "worst wake-up of a round"),
];

/// Verbs of commands, which the page's title has already.
const VERBS: [&str; 15] = [
    "analyze", "bench", "doctor", "mrc", "native", "paper", "pool", "power", "probe", "prove",
    "ramp", "record", "simulate", "sweep", "tune",
];

impl Title {
    /// Of the numbers at a path, with which labels may stand behind a comma.
    pub(crate) fn of(path: &str) -> Self {
        let (name, labels) = path.split_once(", ").map_or((path, ""), |(name, it)| (name, it));
        let mut words = in_words(name);
        if !labels.is_empty() {
            words = format!("{words}, {labels}");
        }
        Self { words, path: path.to_owned(), name: path.to_owned() }
    }

    /// With words before and after.
    pub(crate) fn within(self, before: &str, after: &str) -> Self {
        let within = |text: &str| format!("{before}{text}{after}");
        Self { words: within(&self.words), name: within(&self.name), path: self.path }
    }

    /// As a heading: it begins with a capital letter.
    pub(crate) fn heading(&self) -> String {
        let mut letters = self.words.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }
}

/// The segments of a path in words. Its subject is left out, which the section's heading
/// names, and so are verbs and what several paths differ in.
fn in_words(path: &str) -> String {
    let mut segments: Vec<&str> = path.split('/').filter(|segment| *segment != "…").collect();
    if segments.len() > 1 {
        segments.remove(0);
    }
    if segments.len() > 1 && VERBS.contains(&segments[0]) {
        segments.remove(0);
    }
    let words: Vec<String> = segments.into_iter().map(word).collect();
    words.join(", ")
}

fn word(segment: &str) -> String {
    let known = WORDS.iter().find(|(name, _)| *name == segment);
    known.map_or_else(|| segment.replace('_', " "), |(_, words)| (*words).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_said_in_words() {
        for (path, words) in [
            ("launch/bench/total/median", "Launch time, median"),
            ("launch/bench/load-200ms/total", "Load-200ms, launch time"),
            ("jitter/native/other/late_share", "SCHED_OTHER, shares of late wake-ups"),
            ("jitter/native/…/wakeup", "Wake-up latency"),
            ("swap/page_in", "Time of a page-in"),
            ("launch/ramp", "Ramp"),
            ("swap/…", "Swap"),
            ("ipc/unix, one-cpu", "Unix, one-cpu"),
            ("strange_name", "Strange name"),
            ("", ""),
        ] {
            assert_eq!(Title::of(path).heading(), words, "{path}");
        }
        let title = Title::of("swap/page_in").within("percentiles of ", "");
        assert_eq!(title.heading(), "Percentiles of time of a page-in");
        assert_eq!(
            (title.path.as_str(), title.name.as_str()),
            ("swap/page_in", "percentiles of swap/page_in")
        );
    }

    #[test]
    fn segments_are_in_order() {
        assert!(WORDS.is_sorted_by_key(|(segment, _)| *segment) && VERBS.is_sorted());
    }
}
