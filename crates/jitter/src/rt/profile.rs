//! Rules for known programs.

use unjank_host::Result;
use unjank_host::sched::{Policy, Priority};

use super::rule::{Pattern, Rule};

/// Rules under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// The name.
    pub name: &'static str,
    /// What it is for, in a sentence.
    pub about: &'static str,
    /// Patterns, what they are, and the real-time priority.
    pub patterns: &'static [(&'static str, &'static str, u8)],
}

/// Names as the kernel has them, at most 15 bytes: read from `/proc/PID/task`
/// of JDK 17.0.15 and 25.0.3 under each collector they have (Serial, Parallel,
/// G1, ZGC, Shenandoah).
///
/// Threads that work beside the program are not among them, nor those of
/// Shenandoah, which do both: with a real-time priority they take the CPU from
/// the threads that they collect for. `G1 Refine#0` of JDK 25 then spins for
/// one of those for ever, where there is one CPU.
const HOTSPOT: &[(&str, &str, u8)] = &[
    ("VM Thread", "safepoints; the collector itself under Serial", 70),
    ("GC Thread#*", "workers of Parallel and G1 while all threads are stopped", 70),
    ("RuntimeWorker#*", "ZGC: workers at safepoints", 70),
];

/// Threads in which `PipeWire` and its clients process sound, those that speak
/// JACK to it too: `data-loop.0` by its `src/pipewire/context.c`, `pw-data-loop`
/// where nobody names them. The priority is `rt.prio` of its `pipewire.conf`.
const AUDIO: &[(&str, &str, u8)] = &[
    ("data-loop*", "PipeWire, and programs that play through it", 88),
    ("pw-data-loop*", "the same, where they have no number", 88),
];

/// All profiles.
pub const PROFILES: &[Profile] = &[AWARE, SOUND];

const SOUND: Profile = Profile {
    name: "audio",
    about: "threads that process sound for PipeWire, as its own configuration has them where it is \
            allowed to",
    patterns: AUDIO,
};

const AWARE: Profile = Profile {
    name: "jvm-inversion-aware",
    about: "HotSpot's collector and virtual machine above all ordinary threads, and below your own: \
            a real-time thread waits for them at safepoints. Add --thread 'NAME=fifo:80' for it",
    patterns: HOTSPOT,
};

impl Profile {
    /// The profile `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// Whether a thread of this name, as the kernel has it, is one of those
    /// that the profile is about.
    pub fn covers(&self, thread: &str) -> bool {
        let matches = |&(pattern, _, _): &(&str, &str, u8)| {
            Pattern::new(pattern).is_ok_and(|pattern| pattern.matches(thread))
        };
        self.patterns.iter().any(matches)
    }

    /// Its rules.
    ///
    /// # Errors
    /// None for the profiles that there are.
    pub fn rules(&self) -> Result<Vec<Rule>> {
        let rule = |&(pattern, _, priority): &(&str, &str, u8)| {
            let policy = Policy::Fifo(Priority::new(priority)?);
            Ok(Rule { pattern: Pattern::new(pattern)?, policy, profile: Some(self.name) })
        };
        self.patterns.iter().map(rule).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::Rules;

    #[test]
    fn every_profile_has_rules_that_can_be_used() {
        for profile in PROFILES {
            assert_eq!(profile.rules().unwrap().len(), profile.patterns.len());
            assert_eq!(Profile::named(profile.name), Some(profile));
        }
        assert_eq!(Profile::named("jvm"), None);
    }

    /// As read from JDK 17 and 25.
    #[test]
    fn what_works_at_safepoints_is_raised_and_nothing_else() {
        let profile = Profile::named("jvm-inversion-aware").unwrap();
        let typed = vec!["meas*=fifo:80".parse().unwrap()];
        let rules = Rules::new(typed, None, Some(profile)).unwrap();
        let priority = |name: &str| rules.choose(name).map(|(_, policy)| policy.to_string());
        for name in ["VM Thread", "GC Thread#0", "RuntimeWorker#1"] {
            assert_eq!(priority(name).as_deref(), Some("fifo:70"), "{name}");
            assert!(profile.covers(name), "{name}");
        }
        for name in [
            "java",
            "load-0",
            "C2 CompilerThre",
            "Service Thread",
            "VM Periodic Tas",
            "G1 Main Marker",
            "G1 Conc#0",
            "G1 Refine#0",
            "G1 Service",
            "ZDirector",
            "ZDriverMinor",
            "ZWorkerYoung#0",
            "ZStat",
            "Shenandoah Cont",
            "Shenandoah GC T",
            "GC Monitor",
        ] {
            assert_eq!(priority(name), None, "{name}");
            assert!(!profile.covers(name), "{name}");
        }
        assert_eq!(priority("meas").as_deref(), Some("fifo:80"));
    }
}
