//! The beginning of a launch in a trace.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{EventKind, StorageEvent, SystemCall, Trace};

use crate::path::is_exec;

/// When a process first executed a program: the beginning of its call of `execve(2)`, which
/// reads the program from storage. If the call was not recorded, it is the exec event at the
/// end of the call. `None` without an exec event.
pub(crate) fn first_exec(trace: &Trace, process: ThreadId) -> Option<Timestamp> {
    let events = || trace.cpus.iter().flat_map(|cpu| &cpu.events);
    let executed = events().filter_map(|event| match event.kind {
        EventKind::Storage(StorageEvent::Executed { process: of, .. }) if of == process => {
            Some(event.at)
        }
        _ => None,
    });
    let executed = executed.min()?;
    let called = events().filter(|event| event.current == process && event.at < executed);
    let called = called.filter(|event| match event.kind {
        EventKind::SystemCall(SystemCall::Begins { number, .. }) => is_exec(number),
        _ => false,
    });
    // Earlier calls failed: they did not find the program.
    Some(called.map(|event| event.at).max().unwrap_or(executed))
}
