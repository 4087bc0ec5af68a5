//! What the server has counted, in shared memory that outlives it.

use std::sync::atomic::Ordering;

use serde::Serialize;
use unjank_host::memory::SharedRegion;

use super::counts::Counts;
use super::engine::Engine;

const WORD: usize = size_of::<u64>();
/// Words: frames that are free, starts of servers, one more than the number of the swap area, then
/// the counts.
const FREE: usize = 0;
const STARTS: usize = WORD;
const AREA: usize = 2 * WORD;
const COUNTS: usize = 3 * WORD;

/// The counts of all servers of a tier.
#[derive(Debug)]
pub struct Published {
    region: SharedRegion,
    /// Those of earlier servers.
    before: Counts,
}

/// What a reader finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Servers that were started.
    pub starts: u64,
    /// Frames of the fast backing that are free.
    pub free_frames: u64,
    /// Pages since the tier began. Those of the last moments of a server that was killed are
    /// missing.
    pub pages: Counts,
}

impl Published {
    /// The memory that it takes, in bytes.
    pub const BYTES: usize = COUNTS + size_of::<Counts>();

    /// The counts in a region of [`BYTES`](Self::BYTES), which was zero when the tier began, for a
    /// new server.
    pub fn begin(region: SharedRegion) -> Self {
        region.word(STARTS).fetch_add(1, Ordering::Relaxed);
        let before = Self::read(&region).pages;
        Self { region, before }
    }

    /// The number of the swap area, which `/proc/PID/pagemap` gives for each page, is known.
    pub fn set_area(region: &SharedRegion, number: u8) {
        region.word(AREA).store(u64::from(number) + 1, Ordering::Release);
    }

    /// The number of the swap area, once it is known.
    pub fn area(&self) -> Option<u8> {
        let number = self.region.word(AREA).load(Ordering::Acquire).checked_sub(1)?;
        u8::try_from(number).ok()
    }

    /// The present counts.
    pub fn read(region: &SharedRegion) -> Progress {
        let word = |offset| region.word(offset).load(Ordering::Relaxed);
        let mut pages = Counts::default();
        for (number, count) in pages.all_mut().into_iter().enumerate() {
            *count = word(COUNTS + number * WORD);
        }
        Progress { starts: word(STARTS), free_frames: word(FREE), pages }
    }

    /// Publishes the engine's counts.
    pub fn publish(&self, engine: &Engine) {
        let (mut counts, mut before) = (engine.counts(), self.before);
        let both = counts.all_mut().into_iter().zip(before.all_mut());
        for (number, (now, before)) in both.enumerate() {
            self.region.word(COUNTS + number * WORD).store(*now + *before, Ordering::Relaxed);
        }
        let (_, free) = engine.frames();
        self.region.word(FREE).store(free.into(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use unjank_cachesim::tier::TierPolicy;
    use unjank_host::Nanos;

    use super::super::super::policy::{self, Identity};
    use super::super::map::{Map, Sum};
    use super::super::step::{End, Part};
    use super::*;

    #[test]
    fn counts_go_on_with_the_next_server() {
        let (map, _) = SharedRegion::create("map", Map::bytes(10)).unwrap();
        let (region, fd) = SharedRegion::create("counts", Published::BYTES).unwrap();
        let policy: TierPolicy = "always/lru".parse().unwrap();
        let map = Map::new(Arc::new(map));
        for server in 1..=2 {
            let policy = policy::make(policy, Identity::Slot, (4, 10)).unwrap();
            let mut engine = Engine::resume(policy, map.clone(), 4).unwrap();
            let published = Published::begin(SharedRegion::open(&fd).unwrap());
            let step = engine.write(Part::default(), 1, Nanos::ZERO);
            engine.finished(step, End::Done(Sum::NONE));
            published.publish(&engine);
            let progress = Published::read(&region);
            let found = (progress.starts, progress.free_frames, progress.pages.fast_writes);
            assert_eq!(found, (server, 3, server));
            assert_eq!(published.area(), (server == 2).then_some(1));
            Published::set_area(&SharedRegion::open(&fd).unwrap(), 1);
        }
    }
}
