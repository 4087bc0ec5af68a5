//! The two traces and the stacks of a recording, and what was taken out of their
//! buffers.

use std::sync::{Mutex, PoisonError};

use unjank_host::perf_event::{StackRecorder, StackRecords};
use unjank_host::tracefs::{Instance, RawPages};
use unjank_host::{Bytes, Result};

/// The two traces, and the stacks if they are recorded.
#[derive(Debug)]
pub(super) struct Instances {
    pub(super) machine: Instance,
    pub(super) program: Instance,
    pub(super) stacks: Option<Mutex<StackRecorder>>,
}

/// The pages and stacks that were taken out of the buffers.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) machine: RawPages,
    pub(super) program: RawPages,
    pub(super) stacks: StackRecords,
}

impl Instances {
    /// Stops all.
    pub(super) fn stop(&self) -> Result<()> {
        if let Some(stacks) = &self.stacks {
            stacks.lock().unwrap_or_else(PoisonError::into_inner).stop();
        }
        self.program.stop()?;
        self.machine.stop()
    }

    /// Moves what is in the buffers to `pages`.
    pub(super) fn take(&self, pages: &mut Pages) -> Result<()> {
        if let Some(stacks) = &self.stacks {
            stacks.lock().unwrap_or_else(PoisonError::into_inner).take(&mut pages.stacks);
        }
        self.take_events(pages)
    }

    /// As `take`, without the stacks.
    pub(super) fn take_events(&self, pages: &mut Pages) -> Result<()> {
        self.program.take_pages(&mut pages.program)?;
        self.machine.take_pages(&mut pages.machine)
    }
}

impl Pages {
    /// The memory that they take.
    pub(super) fn size(&self) -> Bytes {
        let sizes = [self.machine.size(), self.program.size(), self.stacks.size()];
        Bytes(sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(size.get())))
    }
}
