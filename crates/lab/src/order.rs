//! The order to the guest: one file of its initramfs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The path of the order in the guest.
pub const PATH: &str = "/order.json";

/// The work of one boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Modules in the order of loading.
    pub modules: Vec<Module>,
    /// Commands, run one after the other until one fails.
    pub commands: Vec<Vec<String>>,
    /// Labels of every run.
    pub labels: Vec<String>,
    /// Initial tunables of the governor, by their paths below cpufreq's
    /// directory or that of a policy: `ondemand/sampling_rate`.
    #[serde(default)]
    pub tunables: BTreeMap<String, i64>,
    /// Whether there is a disk to mount.
    #[serde(default)]
    pub disk: bool,
}

/// A module to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// Its file in the initramfs.
    pub file: String,
    /// Its parameters, as `insmod` takes them.
    pub parameters: String,
}
