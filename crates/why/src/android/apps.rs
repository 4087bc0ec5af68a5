//! The process of a launched package.

use unjank_host::Timestamp;
use unjank_host::tracefs::{Comm, Processes, Slice};

use super::beginning_in;

/// Slices on the first thread of an app that show that it starts an activity.
pub(super) const BINDS: &str = "bindApplication";
pub(super) const STARTS: &str = "activityStart";
pub(super) const RESUMES: &str = "activityResume";

/// The process of a package that started an activity between two moments; `None` if no process or
/// several did.
pub(super) fn process(
    package: &str,
    slices: &[Slice],
    processes: &Processes,
    name: impl Fn(u32) -> Option<Comm>,
    (from, to): (Timestamp, Timestamp),
) -> Option<u32> {
    let starts = beginning_in(slices, from, to)
        .filter(|slice| [BINDS, STARTS, RESUMES].contains(&&*slice.name));
    let mut active: Vec<u32> = starts.map(|slice| slice.process).collect();
    active.sort_unstable();
    active.dedup();
    let is_named = |process: &u32| match processes.names.get(process) {
        // A process of the package may have a suffix: `com.example:remote`.
        Some(name) if name.split(':').next() == Some(package) => true,
        // Forked from zygote, and not renamed yet when the recorder looked.
        _ => name(*process).is_some_and(|name| name.as_bytes() == end_of(package)),
    };
    let named: Vec<u32> = active.iter().copied().filter(is_named).collect();
    match (named.as_slice(), active.as_slice()) {
        ([process], _) | ([], [process]) => Some(*process),
        _ => None,
    }
}

/// The name that Android gives the first thread of an app: the last 15 bytes of its package
/// (`SetThreadName` of `AndroidRuntime`).
fn end_of(package: &str) -> &[u8] {
    let package = package.as_bytes();
    &package[package.len().saturating_sub(15)..]
}
