//! The last argument of every hidden command that is a peer of another process
//! (`unjank_host::process::peer`).

use unjank_host::{Result, process};

/// The process that started this one.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Parent {
    /// Number of the process that started it
    parent: u32,
}

impl Parent {
    /// Has the kernel kill this process when its parent ends; `false` if the
    /// parent has ended already.
    pub(crate) fn lives(self) -> Result<bool> {
        process::die_with_parent(self.parent)
    }
}
