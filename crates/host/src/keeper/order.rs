//! What a keeper is told.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What a keeper sees to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Put back what a journal holds.
    Journal {
        /// The tree that stands for the machine.
        root: String,
        /// Where the journal lies.
        state_dir: PathBuf,
        /// Its name there.
        journal: String,
    },
    /// Put back the threads of a session that was cut off.
    Threads {
        /// Where its ledgers lie.
        state_dir: PathBuf,
        /// Its process.
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
    /// Whether the keeper is told once more when there is something to wait for.
    pub(super) fn is_followed_by_watch(&self) -> bool {
        matches!(self, Self::Journal { .. })
    }

    /// Whether the names in it are names and no paths.
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
/// An order that is accepted leads out of its directory, or is another one when written again.
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
