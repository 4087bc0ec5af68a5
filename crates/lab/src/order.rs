//! What the guest is told to do: one file of its initramfs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where the guest finds its order.
pub const PATH: &str = "/order.json";

/// The work of one boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Modules in the order in which they are loaded.
    pub modules: Vec<Module>,
    /// Commands, each run to its end before the next begins. The first that
    /// fails is the last.
    pub commands: Vec<Vec<String>>,
    /// Labels of every run that is measured.
    pub labels: Vec<String>,
    /// Tunables of the governor that the kernel begins with, by their paths
    /// below cpufreq's directory or that of a policy: `ondemand/sampling_rate`.
    #[serde(default)]
    pub tunables: BTreeMap<String, i64>,
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
