//! A recording as the kernel wrote it, for a file.

use std::io::{BufWriter, Write as _};

use unjank_host::Result;
use unjank_host::files::{Destination, Existing, Readers, WholeFile};
use unjank_host::tracefs::trace_file::{self, Annex};
use unjank_host::tracefs::{Capture, Trace};

use super::instances::{Instances, Pages};
use super::{MACHINE_EVENTS, PROGRAM_EVENTS};

/// The two traces of a recording, as the kernel wrote them.
#[derive(Debug)]
pub struct CapturedTraces {
    machine: Capture,
    program: Capture,
}

impl CapturedTraces {
    /// Captures the pages that were taken out of stopped instances.
    pub(super) fn of(instances: &Instances, pages: &Pages) -> Result<Self> {
        Ok(Self {
            machine: instances.machine.capture(&pages.machine, MACHINE_EVENTS)?,
            program: instances.program.capture(&pages.program, PROGRAM_EVENTS)?,
        })
    }

    /// Writes them as a `trace.dat`: the machine's is the top buffer, the
    /// program's the instance `program`. `trace` has the events of both. The
    /// times of the recordings, and the list of kernel threads, are added to `annex`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, to: Destination, trace: &Trace, annex: Annex) -> Result<()> {
        let buffers = [("", &self.machine), ("program", &self.program)];
        let recorded = buffers.map(|(_, capture)| {
            let (from, to) = capture.recorded();
            [from.as_nanos(), to.as_nanos()]
        });
        let kernel_threads = trace.kernel_threads.iter().map(|thread| thread.0).collect();
        let annex = Annex { recorded: recorded.to_vec(), kernel_threads, ..annex };
        let buffers = buffers.map(|(name, capture)| trace_file::Buffer { name, capture });
        let whole = WholeFile::begin(to, Existing::Replace, Readers::AsUsual)?;
        let mut out = BufWriter::new(whole.file()?);
        trace_file::write(&mut out, &buffers, trace, &annex)
            .and_then(|()| out.flush())
            .map_err(|why| whole.error(why))?;
        whole.finish()
    }
}
