//! Rules for known programs.

use unjank_host::Result;
use unjank_host::sched::Policy;

use super::rule::{Pattern, Rule};

/// Rules under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// The name.
    pub name: &'static str,
    /// What it is for, in a sentence.
    pub about: &'static str,
    /// Patterns, what they are, and their policy.
    pub patterns: &'static [(&'static str, &'static str, &'static str)],
}

/// Names as the kernel has them, at most 15 bytes: read from `/proc/PID/task`
/// of JDK 17.0.15 and 25.0.3 under each collector they have (Serial, Parallel,
/// G1, ZGC, Shenandoah).
///
/// The VM thread naps for 10 µs at a time until the last Java thread has stopped,
/// and after a millisecond for a whole one (`back_off` in `safepoint.cpp`). With
/// a real-time policy it has no timer slack, and its naps leave the threads that
/// it waits for so little of a CPU that this takes 2 ms. A short slice and the
/// best nice value let it run as soon as it wakes, and it keeps its slack.
///
/// Threads that work beside the program are not among them, nor those of
/// Shenandoah, which do both: with a real-time priority they take the CPU from
/// the threads that they collect for. `G1 Refine#0` of JDK 25 then spins for
/// one of those for ever, where there is one CPU.
const HOTSPOT: &[(&str, &str, &str)] = &[
    ("VM Thread", "safepoints; the collector itself under Serial", "other:-20/100us"),
    ("GC Thread#*", "workers of Parallel and G1 while all threads are stopped", "fifo:70"),
    ("RuntimeWorker#*", "ZGC: workers at safepoints", "fifo:70"),
];

/// Threads in which `PipeWire` and its clients process sound, those that speak
/// JACK to it too: `data-loop.0` by its `src/pipewire/context.c`, `pw-data-loop`
/// where nobody names them. The priority is `rt.prio` of its `pipewire.conf`.
const AUDIO: &[(&str, &str, &str)] = &[
    ("data-loop*", "PipeWire, and programs that play through it", "fifo:88"),
    ("pw-data-loop*", "the same, where they have no number", "fifo:88"),
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
    about: "HotSpot's collector and virtual machine before all ordinary threads, and below your own: \
            a real-time thread waits for them at safepoints. Add --thread 'NAME=fifo:80' for it",
    patterns: HOTSPOT,
};

impl Profile {
    /// The profile `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// The policy of a thread of this name, as the kernel has it; `None` if the
    /// profile is not about it.
    ///
    /// # Errors
    /// None for the profiles that there are.
    pub fn policy_of(&self, thread: &str) -> Result<Option<Policy>> {
        let mut rules = self.rules()?.into_iter();
        Ok(rules.find(|rule| rule.pattern.matches(thread)).map(|rule| rule.policy))
    }

    /// Its rules.
    ///
    /// # Errors
    /// None for the profiles that there are.
    pub fn rules(&self) -> Result<Vec<Rule>> {
        let rule = |&(pattern, _, policy): &(&str, &str, &str)| {
            let (pattern, policy) = (Pattern::new(pattern)?, policy.parse()?);
            Ok(Rule { pattern, policy, profile: Some(self.name) })
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
        for (name, policy) in [
            ("VM Thread", "other:nice-20/100us"),
            ("GC Thread#0", "fifo:70"),
            ("RuntimeWorker#1", "fifo:70"),
        ] {
            assert_eq!(priority(name).as_deref(), Some(policy));
            let of_profile = profile.policy_of(name).unwrap().unwrap();
            assert_eq!(of_profile.to_string(), policy);
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
            assert_eq!(profile.policy_of(name).unwrap(), None, "{name}");
        }
        assert_eq!(priority("meas").as_deref(), Some("fifo:80"));
    }
}
