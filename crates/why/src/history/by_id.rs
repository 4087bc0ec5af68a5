//! Something for each thread.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use unjank_host::sched::ThreadId;

/// Something for each thread, looked up several times for each event.
pub(crate) type ById<T> = HashMap<ThreadId, T, RandomState>;
