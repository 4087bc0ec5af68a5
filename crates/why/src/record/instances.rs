//! The two traces of a recording, and what was taken out of their buffers.

use unjank_host::tracefs::{Instance, RawPages};
use unjank_host::{Bytes, Result};

/// The two traces.
#[derive(Debug)]
pub(super) struct Instances {
    pub(super) machine: Instance,
    pub(super) program: Instance,
}

/// What was taken out of their buffers.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) machine: RawPages,
    pub(super) program: RawPages,
}

impl Instances {
    /// Stops both.
    pub(super) fn stop(&self) -> Result<()> {
        self.program.stop()?;
        self.machine.stop()
    }

    /// Moves what is in the buffers to `pages`.
    pub(super) fn take(&self, pages: &mut Pages) -> Result<()> {
        self.program.take_pages(&mut pages.program)?;
        self.machine.take_pages(&mut pages.machine)
    }
}

impl Pages {
    /// The memory that they take.
    pub(super) fn size(&self) -> Bytes {
        Bytes(self.machine.size().get().saturating_add(self.program.size().get()))
    }
}
