//! The wait to which a segment of the path belongs.

use crate::history::{State, Wait};
use crate::path::Segment;
use crate::report::Explained;

/// The call, page fault or lock in which the segment's thread sleeps; `None` if it does not sleep,
/// or if that is not known.
pub(super) fn wait_of(launch: &Explained, segment: &Segment) -> Option<Wait> {
    let span = launch.history().life(segment.thread, segment.from)?.before(segment.to)?;
    match span.state {
        State::Asleep { wait, .. } if wait != Wait::Unknown => Some(wait),
        _ => None,
    }
}
