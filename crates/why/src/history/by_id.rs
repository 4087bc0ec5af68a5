//! Maps from thread ids to values.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use unjank_host::sched::ThreadId;

/// A map by thread id. Its hash function is a fast one, because each event needs several look-ups.
pub(crate) type ById<T> = HashMap<ThreadId, T, RandomState>;
