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
/// G1, ZGC, Shenandoah). `X…` are those of ZGC without generations in JDK 21 to
/// 23, from its source (`src/hotspot/share/gc/x`).
const HOTSPOT: &[(&str, &str, u8)] = &[
    ("VM Thread", "safepoints; the collector itself under Serial", 70),
    ("VM Periodic Tas*", "timers of the virtual machine", 70),
    ("GC Thread#*", "workers of Parallel and G1", 70),
    ("G1 *", "G1: marking, refinement, its service", 70),
    ("ZDirector*", "ZGC: when to collect", 70),
    ("ZDriver*", "ZGC: the collections", 70),
    ("ZWorker*", "ZGC: workers, of both generations", 70),
    ("RuntimeWorker#*", "ZGC: workers at safepoints", 70),
    ("ZUnmapper*", "ZGC: gives memory back that is being collected", 70),
    ("XDirector*", "ZGC of JDK 21 to 23", 70),
    ("XDriver*", "ZGC of JDK 21 to 23", 70),
    ("XWorker*", "ZGC of JDK 21 to 23", 70),
    ("XUnmapper*", "ZGC of JDK 21 to 23", 70),
    ("Shenandoah*", "Shenandoah: control and workers", 70),
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
    fn collectors_are_raised_and_the_app_is_not() {
        let profile = Profile::named("jvm-inversion-aware").unwrap();
        let typed = vec!["meas*=fifo:80".parse().unwrap()];
        let rules = Rules::new(typed, None, Some(profile)).unwrap();
        let priority = |name: &str| rules.choose(name).map(|(_, policy)| policy.to_string());
        for name in [
            "VM Thread",
            "VM Periodic Tas",
            "GC Thread#0",
            "G1 Main Marker",
            "G1 Conc#0",
            "G1 Refine#0",
            "G1 Service",
            "ZDirector",
            "ZDriver",
            "ZDriverMajor",
            "ZDriverMinor",
            "ZWorker#0",
            "ZWorkerOld#0",
            "ZWorkerYoung#0",
            "ZUnmapper",
            "RuntimeWorker#1",
            "Shenandoah Cont",
            "Shenandoah GC T",
        ] {
            assert_eq!(priority(name).as_deref(), Some("fifo:70"), "{name}");
            assert!(profile.covers(name), "{name}");
        }
        for name in ["java", "load-0", "C2 CompilerThre", "Service Thread", "ZStat", "GC Monitor"] {
            assert_eq!(priority(name), None, "{name}");
            assert!(!profile.covers(name), "{name}");
        }
        assert_eq!(priority("meas").as_deref(), Some("fifo:80"));
    }
}
