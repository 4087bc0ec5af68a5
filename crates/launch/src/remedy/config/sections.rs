//! The sections of the file, and their defaults.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unjank_host::{Nanos, Root};

use super::time::Time;
use crate::remedy::plan::Method;

/// `[launch]`: which new programs count as launches. Patterns match the whole text,
/// with `*` and `?`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Launch {
    /// Whether only leaders of process groups count.
    pub leaders_only: bool,
    /// Executables that count; all if empty.
    pub executables: Vec<String>,
    /// Executables that do not count.
    pub not_executables: Vec<String>,
    /// Control groups that count; all if empty.
    pub control_groups: Vec<String>,
    /// Control groups that do not count.
    pub not_control_groups: Vec<String>,
    /// Users that count, by name or number; all if empty.
    pub users: Vec<String>,
    /// Users that do not count.
    pub not_users: Vec<String>,
}

/// `[detect]`: the sources of launches. Without this section, they are those that the machine
/// needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Detect {
    /// Programs that begin to run, from the process connector.
    pub exec: bool,
    /// Processes that come to the foreground: the `cgroup.procs` or `tasks` of the
    /// cpusets into which Android moves them.
    pub top_app: Vec<PathBuf>,
    /// The command that prints Android's events as they happen, such as
    /// `["logcat", "-b", "events", "-T", "1"]`; none if empty.
    pub logcat: Vec<String>,
}

/// `[boost]`: how launches are boosted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Boost {
    /// How the clock is raised.
    pub method: Method,
    /// `sampling_rate` of ondemand and conservative while boosted.
    pub sampling_rate: Time,
    /// The same without a boost, while the service runs; default: the value when
    /// the service starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normal_sampling_rate: Option<Time>,
    /// `rate_limit_us` of schedutil while boosted.
    pub rate_limit: Time,
    /// `timer_rate` of interactive while boosted.
    pub timer_rate: Time,
    /// Delay of a double tap's second write.
    pub second_tap: Time,
    /// Control groups whose `cpu.uclamp.min` the method uclamp raises.
    pub control_groups: Vec<PathBuf>,
    /// The longest boost of one launch.
    pub longest: Time,
    /// Boosted time per minute.
    pub budget: Time,
    /// Whether a boost ends when launches of its program usually end.
    pub learn: bool,
    /// Whether launches are boosted in the power profile power-saver, too.
    pub in_power_saver: bool,
}

/// `[end]`: when launches are over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct End {
    /// How long its processes must be idle.
    pub window: Time,
    /// The largest share of that time for which they may run.
    pub share: f64,
    /// Interval between checks of them.
    pub look: Time,
}

impl Default for Launch {
    fn default() -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Self {
            leaders_only: true,
            executables: Vec::new(),
            // None: systemd's own programs are known by their group, and a program's
            // path is looked up only if a rule needs it.
            not_executables: Vec::new(),
            control_groups: Vec::new(),
            not_control_groups: texts(&["/system.slice*", "/init.scope"]),
            users: Vec::new(),
            not_users: Vec::new(),
        }
    }
}

impl Default for Detect {
    fn default() -> Self {
        Self { exec: true, top_app: Vec::new(), logcat: Vec::new() }
    }
}

/// The program from which Android starts all apps.
const ZYGOTE: &str = "/system/bin/app_process";

impl Detect {
    /// The default on this machine. Android forks apps from the zygote without exec, so launches are
    /// read from the foreground's cpuset and from the event log.
    pub(super) fn on(root: &Root) -> Self {
        if !is_android(root) {
            return Self::default();
        }
        let logcat = ["logcat", "-b", "events", "-T", "1"].map(str::to_owned);
        Self {
            exec: false,
            top_app: vec![PathBuf::from("/dev/cpuset/top-app/cgroup.procs")],
            logcat: logcat.into(),
        }
    }
}

/// Whether the machine runs Android.
pub(super) fn is_android(root: &Root) -> bool {
    root.exists(ZYGOTE)
}

impl Default for Boost {
    fn default() -> Self {
        let millis = |millis| Time(Nanos::from_millis(millis));
        Self {
            method: Method::Auto,
            sampling_rate: millis(50),
            normal_sampling_rate: None,
            rate_limit: Time(Nanos::from_micros(500)),
            timer_rate: millis(10),
            second_tap: millis(8),
            control_groups: Vec::new(),
            longest: millis(3_000),
            budget: millis(20_000),
            learn: true,
            in_power_saver: false,
        }
    }
}

impl Default for End {
    fn default() -> Self {
        let millis = |millis| Time(Nanos::from_millis(millis));
        Self { window: millis(60), share: 0.1, look: millis(10) }
    }
}
