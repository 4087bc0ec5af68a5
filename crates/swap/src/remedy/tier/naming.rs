//! Tells the policy which pages the slots hold: their processes and addresses.
//!
//! A thread of the server looks for the pages of all processes that are in the tier's swap area. It
//! is not in the way of a request: it waits for memory maps of other processes, and holds the
//! engine only to tell it some names. It takes its memory when it is made.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use unjank_cachesim::tier::Key;
use unjank_cachesim::tier::device::Writes;
use unjank_host::clock::thread_cpu_time;
use unjank_host::swapped_pages::SwappedPages;
use unjank_host::ublk::become_io_flusher;
use unjank_host::{Nanos, Result, Root, Support, Timestamp};

use super::super::page_key;
use super::engine::Engine;
use super::map::{Frame, Slot};
use super::published::Published;

/// The time between two looks at how many pages have no name.
const LOOK: Duration = Duration::from_millis(20);
/// The same while no page is written.
const IDLE_LOOK: Duration = Duration::from_millis(200);
/// The time after which pages get their names although there are few.
const LONGEST: Nanos = Nanos::from_millis(1_000);
/// The frames for each write after which pages get their names: half of those that stage pages.
const FRAMES_PER_WRITE: u64 = 8;
/// The search takes at most one part of so many of a processor's time.
const SHARE: u64 = 50;
/// Names that are told at once.
const BATCH: usize = 256;

/// Starts the thread for a policy of so many frames. It is not waited for, because it may wait for
/// other processes, and ends with this process. Without it, for want of memory, pages are served as
/// well.
pub(super) fn begin(frames: Frame, engine: &Arc<Mutex<Engine>>, published: &Arc<Published>) {
    let Ok(Support::Yes(pages)) = SwappedPages::new(&Root::system()) else { return };
    let enough = (u64::from(frames) / FRAMES_PER_WRITE).max(1);
    let mut namer = Namer { pages, batch: Vec::with_capacity(BATCH), enough };
    let (engine, published) = (Arc::clone(engine), Arc::clone(published));
    let run = move || {
        if become_io_flusher().is_ok() {
            namer.run(&engine, &published);
        }
    };
    let _may_fail = thread::Builder::new().name("tier names".to_owned()).spawn(run);
}

/// Finds the names of pages.
#[derive(Debug)]
struct Namer {
    pages: SwappedPages,
    batch: Vec<(Slot, Key)>,
    /// Writes after which it is time.
    enough: u64,
}

impl Namer {
    /// Names pages for ever. A search that fails, as for want of memory, is repeated.
    fn run(&mut self, engine: &Mutex<Engine>, published: &Published) -> ! {
        let started = Timestamp::now();
        let (mut named, mut last, mut not_before) = (Writes::default(), started, started);
        let mut seen = named;
        loop {
            let now = Timestamp::now();
            let writes = lock(engine).writes().unwrap_or_default();
            let is_idle = std::mem::replace(&mut seen, writes) == writes;
            let new = writes.since(named);
            let is_time = new >= self.enough || now.since(last) >= LONGEST;
            if let Some(area) = published.area()
                && new > 0
                && is_time
                && now >= not_before
            {
                let before = thread_cpu_time();
                if self.name((engine, area), (writes, now.since(started))).is_ok() {
                    named = writes;
                }
                let cost = thread_cpu_time().get().saturating_sub(before.get());
                (last, not_before) = (now, Timestamp::now() + Nanos(cost * SHARE));
            }
            thread::sleep(if is_idle { IDLE_LOOK } else { LOOK });
        }
    }

    /// Tells the engine the names of all pages in the area.
    fn name(
        &mut self,
        (engine, area): (&Mutex<Engine>, u8),
        (as_of, at): (Writes, Nanos),
    ) -> Result<()> {
        let Self { pages, batch, .. } = self;
        // A search that failed may have left some.
        batch.clear();
        let tell = |batch: &mut Vec<(Slot, Key)>| {
            let mut engine = lock(engine);
            for (slot, key) in batch.drain(..) {
                engine.name(slot, key, as_of, at);
            }
        };
        pages.visit(|page| {
            let slot = Slot::try_from(page.slot).ok().filter(|_| page.area == area);
            let Some((slot, key)) = slot.zip(page_key::of(page)) else { return };
            batch.push((slot, key));
            if batch.len() == BATCH {
                tell(batch);
            }
        })?;
        tell(batch);
        Ok(())
    }
}

fn lock(engine: &Mutex<Engine>) -> MutexGuard<'_, Engine> {
    engine.lock().unwrap_or_else(PoisonError::into_inner)
}
