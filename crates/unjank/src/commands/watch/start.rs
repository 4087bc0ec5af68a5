//! Starts the recorder.

use anyhow::Result;
use unjank_host::tracefs::Tracefs;
use unjank_host::{Bytes, Root};
use unjank_watch::recorder::{Recorder, RecorderOptions};

use super::args::ServiceArgs;
use crate::commands::session;
use crate::output;

/// The part of the buffers to begin with, if they may grow.
const TO_BEGIN_WITH: u64 = 8;
/// Whether the kernel saves the names of threads (`Documentation/trace/ftrace.rst`).
const COMMAND_NAMES: &str = "/sys/kernel/tracing/options/record-cmd";

/// Starts the recorder. A trace instance inherits `record-cmd` when it is created: the kernel then
/// saves the name of each thread at each switch, for readers of the text format, which costs as much
/// as the event. So the option is off meanwhile.
pub(super) fn recorder(args: &ServiceArgs, root: &Root, tracefs: &Tracefs) -> Result<Recorder> {
    let session = session::open(root, args.state_dir.as_deref())?;
    // Without this change, recording costs more and works as well: tracefs may be mounted elsewhere,
    // or another session may hold the option.
    let off = session.change(COMMAND_NAMES, "0");
    let calls = !args.calls_of.is_empty();
    let memory = match args.keep {
        Some(_) => Bytes(args.buffers.get() / TO_BEGIN_WITH),
        None => args.buffers,
    };
    let wanted = RecorderOptions { memory, calls };
    let recorder = Recorder::start(tracefs, root, &wanted);
    drop(off);
    let (recorder, reports) = session::end(Some(session), recorder)?;
    for report in reports.iter().filter(|report| report.outcome.is_failure()) {
        output::remark(&report.to_string());
    }
    Ok(recorder)
}
