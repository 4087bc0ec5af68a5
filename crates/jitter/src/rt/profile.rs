//! Rules for known programs.

use unjank_host::Result;
use unjank_host::sched::Policy;
use unjank_host::thread_pattern::ThreadPattern;

use super::rule::Rule;

/// A named set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// The value of `--profile`.
    pub name: &'static str,
    /// Its purpose, in a sentence.
    pub about: &'static str,
    /// Pattern, description and policy of each rule.
    pub patterns: &'static [(&'static str, &'static str, &'static str)],
}

/// Names as the kernel keeps them, at most 15 bytes: read from `/proc/PID/task`
/// of JDK 17.0.15 and 25.0.3 with each collector they have (Serial, Parallel,
/// G1, ZGC, Shenandoah).
///
/// The VM thread naps for 10 µs at a time until the last Java thread has stopped,
/// and after a millisecond for 1 ms (`back_off` in `safepoint.cpp`). With a
/// real-time policy it has no timer slack, and its naps leave so little of a CPU
/// to the threads that it waits for that stopping them takes 2 ms. A short slice
/// and the best nice value let it run as soon as it wakes, and it keeps its slack.
///
/// Threads that work beside the program are left out, and so are those of
/// Shenandoah, which do both: with a real-time priority they take the CPU from
/// the threads that they collect for. On a single CPU, `G1 Refine#0` of JDK 25
/// then spins for ever, waiting for one of those.
const HOTSPOT: &[(&str, &str, &str)] = &[
    ("VM Thread", "safepoints; the collector itself under Serial", "other:-20/100us"),
    ("GC Thread#*", "workers of Parallel and G1 while all threads are stopped", "fifo:70"),
    ("RuntimeWorker#*", "ZGC: workers at safepoints", "fifo:70"),
];

/// Threads in which `PipeWire` and its clients, JACK clients included, process
/// sound: `data-loop.0` in its `src/pipewire/context.c`, `pw-data-loop` by
/// default. The priority is `rt.prio` of its `pipewire.conf`.
const AUDIO: &[(&str, &str, &str)] = &[
    ("data-loop*", "PipeWire, and programs that play through it", "fifo:88"),
    ("pw-data-loop*", "the same, without a number", "fifo:88"),
];

/// All profiles.
pub const PROFILES: &[Profile] = &[AWARE, SOUND];

const SOUND: Profile = Profile {
    name: "audio",
    about: "threads that process sound for PipeWire, at the priority of its own configuration",
    patterns: AUDIO,
};

const AWARE: Profile = Profile {
    name: "jvm-inversion-aware",
    about: "HotSpot's collector and VM, for which a real-time thread waits at safepoints: above \
            ordinary threads, below your own. Add --thread 'NAME=fifo:80' for your thread",
    patterns: HOTSPOT,
};

impl Profile {
    /// The profile `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// The policy of a thread of this name, as the kernel keeps it; `None` if no
    /// rule matches.
    ///
    /// # Errors
    /// A rule that cannot be parsed; there is none in [`PROFILES`].
    pub fn policy_of(&self, thread: &str) -> Result<Option<Policy>> {
        let mut rules = self.rules()?.into_iter();
        Ok(rules.find(|rule| rule.pattern.matches(thread)).map(|rule| rule.policy))
    }

    /// Parses the rules.
    ///
    /// # Errors
    /// A rule that cannot be parsed; there is none in [`PROFILES`].
    pub fn rules(&self) -> Result<Vec<Rule>> {
        let rule = |&(pattern, _, policy): &(&str, &str, &str)| {
            let (pattern, policy) = (ThreadPattern::new(pattern)?, policy.parse()?);
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
    fn only_threads_that_work_at_safepoints_are_raised() {
        let profile = Profile::named("jvm-inversion-aware").unwrap();
        let typed = vec!["meas*=fifo:80".parse().unwrap()];
        let rules = Rules::new(typed, None, Some(profile)).unwrap();
        let priority = |name: &str| rules.choose(name).map(|(_, policy)| policy.to_string());
        for (name, policy) in [
            ("VM Thread", "other:-20/100us"),
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
