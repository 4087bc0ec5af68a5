//! Names of what a segment of the path is about.

use crate::history::{State, Wait};
use crate::path::Segment;
use crate::report::Explained;

/// What the segment's thread waits in, if it sleeps.
pub(super) fn wait_of(launch: &Explained, segment: &Segment) -> Option<Wait> {
    let span = launch.history().life(segment.thread, segment.from)?.before(segment.to)?;
    match span.state {
        State::Asleep { wait, .. } if wait != Wait::Unknown => Some(wait),
        _ => None,
    }
}
