//! The plan of a boost: the knobs that it changes under each governor, with reasons.
//!
//! | method | governor or driver | knob | while boosted | why |
//! |---|---|---|---|---|
//! | `sampling-rate` | ondemand, conservative | `sampling_rate` | 50 ms | it evaluates the load twice as often (Jo & Suh) |
//! | `sampling-rate` | schedutil | `rate_limit_us` | 500 µs | it may change the clock more often |
//! | `sampling-rate` | interactive | `timer_rate` | 10 ms | it evaluates the load twice as often |
//! | `double-tap` | ondemand, conservative | `sampling_rate` | 50 ms, written twice | every write makes it evaluate the load at once (kernels from 4.6 on), and the second evaluation sees only load |
//! | `min-freq` | all but performance | `scaling_min_freq` | `scaling_max_freq` | the clock is up before the governor has seen anything |
//! | `preference` | `intel_pstate`, `amd-pstate` (active) | `energy_performance_preference` | performance | the processor raises its clock at once |
//! | `uclamp` | schedutil, with control groups named | `cpu.uclamp.min` | max | tasks of these groups count as large from their first moment |
//!
//! `auto` is `min-freq`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unjank_host::machine::FrequencyPolicy;
use unjank_host::{Nanos, Root};

/// How a clock is raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The method that gains most with the current governor.
    #[default]
    Auto,
    /// The governor evaluates the load more often.
    SamplingRate,
    /// The governor evaluates the load at once, and again a moment later.
    DoubleTap,
    /// The lower limit of the frequency is raised to the upper one.
    MinFreq,
    /// The processor's energy preference is performance.
    Preference,
    /// The scheduler treats tasks of some control groups as large.
    Uclamp,
}

/// The values of knobs while boosted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amounts {
    /// `sampling_rate` of ondemand and conservative.
    pub sampling_rate: Nanos,
    /// The same without a boost; `None` for its value when the service starts.
    pub normal_sampling_rate: Option<Nanos>,
    /// `rate_limit_us` of schedutil.
    pub rate_limit: Nanos,
    /// `timer_rate` of interactive.
    pub timer_rate: Nanos,
    /// Control groups whose `cpu.uclamp.min` is raised: directories.
    pub control_groups: Vec<PathBuf>,
}

/// One knob, and its values with and without a boost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnobChange {
    /// Path of the knob's file.
    pub path: PathBuf,
    /// Its value without a boost.
    pub normal: String,
    /// Its value with one.
    pub boosted: String,
    /// Whether it is written a second time a moment later.
    pub again: bool,
    /// Effect of the change, for the log.
    pub why: String,
}

/// What a boost changes on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The changes, in this order.
    pub moves: Vec<KnobChange>,
    /// Policies or control groups without a change, and why.
    pub left: Vec<(String, String)>,
}

impl Plan {
    /// The plan of `method` on a machine with these policies.
    pub fn new(
        method: Method,
        amounts: &Amounts,
        policies: &[FrequencyPolicy],
        root: &Root,
    ) -> Self {
        let mut plan = Self::default();
        if method == Method::Uclamp {
            plan.raise_control_groups(amounts, root);
            return plan;
        }
        if policies.is_empty() {
            plan.leave("cpufreq", "no clock of this machine can be changed: it has no cpufreq");
        }
        for policy in policies {
            match of_policy(method, amounts, policy) {
                // Policies may share their governor's tunables.
                Ok(step) if plan.moves.iter().any(|known| known.path == step.path) => {}
                Ok(step) => plan.moves.push(step),
                Err(reason) => plan.leave(&policy.name, reason),
            }
        }
        plan
    }

    /// Why nothing is changed where nothing is.
    pub fn reasons(&self) -> String {
        let mut reasons: Vec<String> =
            self.left.iter().map(|(what, why)| format!("{what}: {why}")).collect();
        reasons.dedup();
        if reasons.is_empty() {
            "no knob can be changed here".to_owned()
        } else {
            reasons.join("; ")
        }
    }

    fn raise_control_groups(&mut self, amounts: &Amounts, root: &Root) {
        if amounts.control_groups.is_empty() {
            self.leave("uclamp", "no control groups are named (boost.control_groups)");
        }
        for group in &amounts.control_groups {
            let path = group.join("cpu.uclamp.min");
            match root.read_if_there(&path) {
                Ok(Some(normal)) => self.moves.push(KnobChange {
                    path,
                    normal,
                    boosted: "max".to_owned(),
                    again: false,
                    why: "its tasks count as large from their first moment".to_owned(),
                }),
                Ok(None) => self.leave(&group.to_string_lossy(), "it has no cpu.uclamp.min"),
                Err(error) => self.leave(&group.to_string_lossy(), error.to_string()),
            }
        }
    }

    fn leave(&mut self, what: &str, reason: impl Into<String>) {
        self.left.push((what.to_owned(), reason.into()));
    }
}

/// The change for one policy, or why there is none.
fn of_policy(
    method: Method,
    amounts: &Amounts,
    policy: &FrequencyPolicy,
) -> Result<KnobChange, String> {
    let governor = policy.governor.as_str();
    let preference = policy.epp.as_deref();
    if governor == "performance" {
        return Err("its governor is performance: the clock is always up".to_owned());
    }
    match (method, governor) {
        (Method::Auto | Method::MinFreq, _) => raise_lowest(policy),
        (Method::SamplingRate | Method::DoubleTap, "ondemand" | "conservative") => {
            let again = method == Method::DoubleTap;
            let why = if again {
                "the governor evaluates the load at once, and again a moment later"
            } else {
                "the governor evaluates the load more often"
            };
            let mut policy = policy.clone();
            if let Some(normal) = amounts.normal_sampling_rate
                && let Some(present) = policy.tunables.get_mut("sampling_rate")
            {
                *present = (normal.get() / 1_000).to_string();
            }
            shorten(&policy, "sampling_rate", amounts.sampling_rate, again, why)
        }
        (Method::SamplingRate, "schedutil") => shorten(
            policy,
            "rate_limit_us",
            amounts.rate_limit,
            false,
            "the governor may change the clock more often",
        ),
        (Method::SamplingRate, "interactive") => shorten(
            policy,
            "timer_rate",
            amounts.timer_rate,
            false,
            "the governor evaluates the load more often",
        ),
        (Method::SamplingRate | Method::DoubleTap, _) => Err(format!(
            "its governor, {governor}, has no period to change; --method min-freq works with every \
             governor"
        )),
        (Method::Preference, _) => match preference {
            None => Err(format!("its driver, {}, has no energy preference", policy.driver)),
            Some("performance") => Err("its energy preference is performance already".to_owned()),
            Some(normal) => Ok(KnobChange {
                path: policy.path.join("energy_performance_preference"),
                normal: normal.to_owned(),
                boosted: "performance".to_owned(),
                again: false,
                why: "the processor raises its clock at once".to_owned(),
            }),
        },
        (Method::Uclamp, _) => Err("uclamp is for control groups".to_owned()),
    }
}

/// Raises the lower limit to the upper one, which heat or a user may have set
/// below the hardware's.
fn raise_lowest(policy: &FrequencyPolicy) -> Result<KnobChange, String> {
    if policy.min >= policy.max {
        return Err(format!("its limits allow only {}", policy.max));
    }
    let khz = |frequency: unjank_host::Hertz| (frequency.0 / 1_000).to_string();
    Ok(KnobChange {
        path: policy.path.join("scaling_min_freq"),
        normal: khz(policy.min),
        boosted: khz(policy.max),
        again: false,
        why: "the clock is up before the governor has seen anything".to_owned(),
    })
}

/// Shortens a period of the governor, in microseconds, to `wanted`.
fn shorten(
    policy: &FrequencyPolicy,
    name: &str,
    wanted: Nanos,
    again: bool,
    why: &str,
) -> Result<KnobChange, String> {
    let governor = &policy.governor;
    let (Some(path), Some(normal)) = (&policy.tunables_path, policy.tunables.get(name)) else {
        return Err(format!("its governor, {governor}, has no {name} here"));
    };
    let present: u64 =
        normal.parse().map_err(|_| format!("{name} of {governor} is not a number: {normal:?}"))?;
    let wanted = wanted.get() / 1_000;
    // A double tap needs no shorter period.
    let boosted = if again { wanted.min(present) } else { wanted };
    if boosted >= present && !again {
        return Err(format!("{name} of {governor} is {present} µs already"));
    }
    Ok(KnobChange {
        path: Path::new(path).join(name),
        normal: normal.clone(),
        boosted: boosted.to_string(),
        again,
        why: why.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use unjank_host::Hertz;

    use super::*;

    fn amounts() -> Amounts {
        Amounts {
            sampling_rate: Nanos::from_millis(50),
            normal_sampling_rate: None,
            rate_limit: Nanos::from_micros(500),
            timer_rate: Nanos::from_millis(10),
            control_groups: vec![PathBuf::from("/sys/fs/cgroup/user.slice")],
        }
    }

    fn policy(governor: &str, tunables: &[(&str, &str)]) -> FrequencyPolicy {
        let path = PathBuf::from("/sys/devices/system/cpu/cpufreq/policy0");
        FrequencyPolicy {
            name: "policy0".to_owned(),
            tunables_path: (!tunables.is_empty()).then(|| path.join(governor)),
            path,
            governor: governor.to_owned(),
            driver: "acpi-cpufreq".to_owned(),
            min: Hertz::from_khz(200_000),
            max: Hertz::from_khz(1_200_000),
            tunables: tunables.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect(),
            ..FrequencyPolicy::default()
        }
    }

    fn plan(method: Method, policy: FrequencyPolicy) -> Result<(String, String, bool), String> {
        let mut plan = Plan::new(method, &amounts(), &[policy], &Root::at("/nowhere"));
        match plan.moves.pop() {
            Some(step) => {
                let name = step.path.file_name().unwrap().to_string_lossy().into_owned();
                Ok((name, step.boosted, step.again))
            }
            None => Err(plan.left.pop().unwrap().1),
        }
    }

    fn changed(name: &str, boosted: &str, again: bool) -> (String, String, bool) {
        (name.to_owned(), boosted.to_owned(), again)
    }

    #[test]
    fn the_period_without_a_boost_can_be_another_one() {
        let policies = [policy("ondemand", &[("sampling_rate", "8000")])];
        let normal = Some(Nanos::from_millis(100));
        let amounts = Amounts { normal_sampling_rate: normal, ..amounts() };
        let plan = Plan::new(Method::SamplingRate, &amounts, &policies, &Root::at("/nonexistent"));
        let values: Vec<_> =
            plan.moves.iter().map(|step| (&*step.normal, &*step.boosted)).collect();
        assert_eq!(values, [("100000", "50000")]);
    }

    #[test]
    fn every_governor_has_a_period_of_its_own() {
        let shorter =
            |governor, name, value| plan(Method::SamplingRate, policy(governor, &[(name, value)]));
        let ondemand = Ok(changed("sampling_rate", "50000", false));
        assert_eq!(shorter("ondemand", "sampling_rate", "100000"), ondemand);
        assert_eq!(shorter("conservative", "sampling_rate", "100000"), ondemand);
        let schedutil = Ok(changed("rate_limit_us", "500", false));
        assert_eq!(shorter("schedutil", "rate_limit_us", "2000"), schedutil);
        let interactive = Ok(changed("timer_rate", "10000", false));
        assert_eq!(shorter("interactive", "timer_rate", "20000"), interactive);
        let short = shorter("ondemand", "sampling_rate", "40000").unwrap_err();
        assert_eq!(short, "sampling_rate of ondemand is 40000 µs already");
        let none = plan(Method::SamplingRate, policy("walt", &[])).unwrap_err();
        assert!(none.contains("walt, has no period to change"), "{none}");
    }

    #[test]
    fn a_second_tap_lengthens_no_period() {
        let tap =
            |present| plan(Method::DoubleTap, policy("ondemand", &[("sampling_rate", present)]));
        assert_eq!(tap("100000"), Ok(changed("sampling_rate", "50000", true)));
        assert_eq!(tap("20000"), Ok(changed("sampling_rate", "20000", true)));
    }

    #[test]
    fn the_lower_limit_is_raised_to_the_upper_one() {
        let raised = Ok(changed("scaling_min_freq", "1200000", false));
        assert_eq!(plan(Method::MinFreq, policy("ondemand", &[])), raised);
        assert_eq!(plan(Method::Auto, policy("schedutil", &[])), raised);
        let always = plan(Method::Auto, policy("performance", &[])).unwrap_err();
        assert!(always.contains("always up"));
        let mut capped = policy("ondemand", &[]);
        capped.max = capped.min;
        assert_eq!(plan(Method::Auto, capped).unwrap_err(), "its limits allow only 200 MHz");
    }

    #[test]
    fn a_preference_is_for_drivers_that_have_one() {
        let mut active = policy("powersave", &[]);
        assert!(
            plan(Method::Preference, active.clone()).unwrap_err().contains("no energy preference")
        );
        active.epp = Some("balance_performance".to_owned());
        let expected = Ok(changed("energy_performance_preference", "performance", false));
        assert_eq!(plan(Method::Preference, active), expected);
    }

    #[test]
    fn control_groups_are_raised_where_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let plan = || Plan::new(Method::Uclamp, &amounts(), &[], &root);
        assert!(plan().left[0].1.contains("no cpu.uclamp.min"));
        let group = dir.path().join("sys/fs/cgroup/user.slice");
        std::fs::create_dir_all(&group).unwrap();
        std::fs::write(group.join("cpu.uclamp.min"), "0.00\n").unwrap();
        assert_eq!(plan().moves[0].normal, "0.00");
    }

    #[test]
    fn shared_tunables_are_changed_once_and_a_missing_clock_is_reported() {
        let mut both = [policy("ondemand", &[("sampling_rate", "100000")]); 1].to_vec();
        both.push(both[0].clone());
        let root = Root::at("/nowhere");
        let plan = Plan::new(Method::SamplingRate, &amounts(), &both, &root);
        assert_eq!(plan.moves.len(), 1);
        let none = Plan::new(Method::Auto, &amounts(), &[], &root);
        assert!(none.moves.is_empty() && none.left[0].1.contains("no cpufreq"));
        assert_eq!(none.reasons(), format!("cpufreq: {}", none.left[0].1));
        assert_eq!(Plan::default().reasons(), "no knob can be changed here");
    }
}
