//! Orders to a keeper: the changes that it puts back.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The changes that a keeper puts back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Put back the changes in a journal.
    Journal {
        /// The tree that stands for the machine.
        root: String,
        /// The directory of the journal.
        state_dir: PathBuf,
        /// Its file name.
        journal: String,
    },
    /// Put back the threads of a session that was cut off.
    Threads {
        /// The directory of its ledgers.
        state_dir: PathBuf,
        /// Process id of the session.
        owner: u32,
    },
    /// Remove a trace instance.
    Trace {
        /// The tree that stands for the machine.
        root: String,
        /// The instance's name.
        instance: String,
    },
}

impl Order {
    /// Whether a `watch` line follows, once there is a lock to wait for.
    pub(super) fn is_followed_by_watch(&self) -> bool {
        matches!(self, Self::Journal { .. })
    }

    /// Whether the names in it are file names without directories.
    pub(super) fn is_sound(&self) -> bool {
        let is_a_name = |name: &str| Path::new(name).file_name() == Some(name.as_ref());
        match self {
            Self::Journal { journal, .. } => is_a_name(journal),
            Self::Threads { .. } => true,
            Self::Trace { instance, .. } => is_a_name(instance),
        }
    }
}

/// Reads a line as an order; for the fuzzer.
///
/// # Panics
/// If an accepted order leads out of its directory, or changes when it is written again.
#[cfg(fuzzing)]
pub fn read_order_for_fuzzing(line: &str) {
    let Ok(order) = serde_json::from_str::<Order>(line) else { return };
    let again = serde_json::to_string(&order).expect("an order has only string keys");
    assert_eq!(serde_json::from_str::<Order>(&again).ok().as_ref(), Some(&order));
    if let Order::Journal { journal: name, .. } | Order::Trace { instance: name, .. } = &order {
        let leads_away = name.contains('/') || matches!(name.as_str(), "" | "." | "..");
        assert!(!(order.is_sound() && leads_away), "{name:?}");
    }
}
