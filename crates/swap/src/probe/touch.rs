//! Touching evicted pages, one by one.

use unjank_host::memory::{Faults, Mapping};
use unjank_host::{Nanos, Result, Timestamp};
use unjank_measure::{Monitor, Series};

/// Touches between two checks for the end of the time and for a stop.
const BATCH: usize = 64;

/// The touch times of all rounds.
#[derive(Debug)]
pub(crate) struct TouchTimes {
    /// Touches that waited for a read (major faults).
    pub(crate) page_in: Series,
    /// Touches of evicted pages that the read of another page had brought along (minor faults, or
    /// none).
    pub(crate) readahead_hit: Series,
    /// Touched pages that were not in memory when their round began.
    pub(crate) evicted: u64,
    /// The slowest touch and its time.
    pub(crate) worst: (Nanos, Timestamp),
    pub(crate) start: Timestamp,
}

impl TouchTimes {
    pub(crate) fn new(start: Timestamp, expected: Nanos) -> Self {
        Self {
            page_in: Series::new("swap/page_in").with_course(start, expected),
            readahead_hit: Series::new("swap/readahead_hit"),
            evicted: 0,
            worst: (Nanos::ZERO, start),
            start,
        }
    }
}

/// Touches the pages in `order`, records those that were not in memory, and returns their number.
/// Stops at `end`, but not before the first batch: the eviction may have taken all the time.
///
/// The counters of page faults are read outside the two time stamps.
pub(crate) fn all(
    mapping: &Mapping,
    order: &[u32],
    end: Timestamp,
    times: &mut TouchTimes,
    monitor: &dyn Monitor,
) -> Result<u64> {
    let resident = mapping.resident()?;
    let mut evicted = 0;
    for batch in order.chunks(BATCH) {
        for &page in batch {
            let page = page as usize;
            if resident[page] {
                continue;
            }
            let faults_before = Faults::of_this_thread()?;
            let before = Timestamp::now();
            std::hint::black_box(mapping.touch(page));
            let after = Timestamp::now();
            let faults = Faults::of_this_thread()?.since(faults_before);
            let taken = after.since(before);
            evicted += 1;
            if faults.major > 0 {
                times.page_in.record_at(after, taken);
                if taken > times.worst.0 {
                    times.worst = (taken, before);
                }
            } else {
                times.readahead_hit.record(taken);
            }
        }
        if Timestamp::now() >= end || monitor.stop_requested() {
            break;
        }
    }
    times.evicted += evicted;
    Ok(evicted)
}
