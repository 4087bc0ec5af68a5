//! What the experiment is made with.

use std::path::PathBuf;

use unjank_host::process::HelperCommand;
use unjank_host::{Bytes, Error, Result};

use super::arm::Arm;

/// The experiment.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is compared.
    pub arms: Vec<Arm>,
    /// How often each is run.
    pub runs: u32,
    /// The memory of all apps together.
    pub memory: Bytes,
    /// What each app pins.
    pub pinned: Bytes,
    /// Without swap: an app is killed if less than this is left for files.
    pub minfree: Bytes,
    /// Whether the fast memory of a tier is part of the memory, or comes in addition.
    pub tier_from_memory: bool,
    /// Pages that swap reads together, as an exponent of two.
    pub readahead: u32,
    /// `vm.swappiness`: 100 weighs pages of apps and of files alike, as the model does.
    pub swappiness: u32,
    /// A directory on the storage that swap and files are on.
    pub directory: PathBuf,
}

impl Options {
    /// The memory that apps have in an arm.
    ///
    /// # Errors
    /// `Invalid` if there is none.
    pub(super) fn memory_in(&self, arm: Arm) -> Result<Bytes> {
        let taken = match arm {
            Arm::Swap | Arm::NoSwap => Bytes(0),
            Arm::Tier(..) if !self.tier_from_memory => Bytes(0),
            Arm::Tier(size, _) | Arm::Zram(size) | Arm::Tierd(size, _) => size,
        };
        let left = self.memory.get().checked_sub(taken.get()).filter(|left| *left > 0);
        left.map(Bytes).ok_or_else(|| {
            Error::Invalid(format!("{arm} takes all of the memory of {}", self.memory))
        })
    }
}

/// Programs of this binary that the bench starts.
#[derive(Debug, Clone)]
pub struct Programs {
    /// An app; its arguments are those of [`Setup::arguments`](super::app::Setup::arguments).
    pub app: HelperCommand,
    /// `unjank swap tier`.
    pub tier: HelperCommand,
    /// `unjank swap tierd`.
    pub tierd: HelperCommand,
}
