//! The sampling period of the governor: finding it, changing it for a time, and
//! detecting changes by other programs.

use std::path::PathBuf;

use unjank_host::journal::{Knob, Session};
use unjank_host::machine::frequency_policies;
use unjank_host::{Error, Nanos, Result, Root, Support};

/// The tunable, of `ondemand` and `conservative`: in microseconds.
const TUNABLE: &str = "sampling_rate";

/// The governors of this machine that have a sampling period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Governors {
    root: Root,
    /// Each policy's directory and governor.
    policies: Vec<(PathBuf, String)>,
    /// Each tunable, and its value.
    tunables: Vec<(PathBuf, String)>,
}

/// The sampling period, held at a value.
#[derive(Debug)]
pub struct HeldPeriod<'a> {
    governors: &'a Governors,
    knobs: Vec<Knob>,
}

impl Governors {
    /// The governors of the machine below `root`. Not supported if a policy's
    /// governor has no sampling period.
    ///
    /// # Errors
    /// The kernel's list of CPUs is invalid.
    pub fn find(root: &Root) -> Result<Support<Self>> {
        let found = frequency_policies(root)?;
        if found.is_empty() {
            return Ok(Support::no(
                "the kernel has no cpufreq files here, so no governor has a sampling period",
            ));
        }
        let (mut policies, mut tunables) = (Vec::new(), Vec::new());
        for policy in found {
            let fits = policy.tunables_path.zip(policy.tunables.get(TUNABLE).cloned());
            let Some((dir, value)) = fits else {
                return Ok(Support::No(format!(
                    "the governor of {} is {:?}, which has no {TUNABLE}; ondemand and \
                     conservative have one (unjank with {}/scaling_governor=ondemand -- …)",
                    policy.name,
                    policy.governor,
                    policy.path.display()
                )));
            };
            policies.push((policy.path, policy.governor));
            let tunable = (dir.join(TUNABLE), value);
            if !tunables.contains(&tunable) {
                tunables.push(tunable);
            }
        }
        Ok(Support::Yes(Self { root: root.clone(), policies, tunables }))
    }

    /// Takes the sampling periods into `session`, unchanged.
    ///
    /// # Errors
    /// Those of the session: `Permission`, above all.
    pub fn hold<'a>(&'a self, session: &Session) -> Result<HeldPeriod<'a>> {
        Ok(HeldPeriod { governors: self, knobs: session.change_all(&self.tunables)? })
    }
}

impl HeldPeriod<'_> {
    /// Sets all of them to `period`, and returns the kernel's value: it raises
    /// periods that are too short.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn set(&self, period: Nanos) -> Result<Nanos> {
        let micros = (period.get() / 1_000).to_string();
        for knob in &self.knobs {
            knob.set(&micros)?;
        }
        let value = self.knobs.first().map(Knob::value).unwrap_or_default();
        value.parse().map(Nanos::from_micros).map_err(|_| {
            Error::Invalid(format!("{TUNABLE} reads {value:?} after {micros} was written"))
        })
    }

    /// What another program has changed, as a sentence without a full stop.
    pub fn disturbed(&self) -> Option<String> {
        for (policy, governor) in &self.governors.policies {
            let name = policy.display();
            match self.governors.root.read(policy.join("scaling_governor")) {
                Ok(now) if now == *governor => {}
                Ok(now) => {
                    return Some(format!("the governor of {name} is {now} now, not {governor}"));
                }
                Err(_) => return Some(format!("{name} is gone")),
            }
        }
        self.knobs.iter().find_map(|knob| {
            let (now, ours) = (self.governors.root.read(knob.path()).ok()?, knob.value());
            (now != ours).then(|| format!("{} is {now} now, not {ours}", knob.path()))
        })
    }
}
