//! What came back in a recording, by the room that it would have taken.

use unjank_host::{Bytes, Error, Result};
use unjank_measure::Monitor;

use crate::trace::{Backing, Numbering, Operation, PAGE, Trace};

/// Events per batch.
const BATCH: usize = 4096;
/// Batches between two updates of the progress.
const BETWEEN: u32 = 64;

/// The pages in swap.
#[derive(Debug, Default)]
struct Swapped {
    /// For each page that has gone to swap: how many others were there then, and whether it is there.
    pages: Vec<Option<(u32, bool)>>,
    count: u32,
}

impl Swapped {
    fn goes(&mut self, page: usize) {
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        // A page that is there already is written over.
        if !self.pages[page].is_some_and(|(_, is_there)| is_there) {
            self.pages[page] = Some((self.count, true));
            self.count += 1;
        }
    }

    /// How many others were there when it went; `None` if it was not seen to go.
    fn comes_back(&mut self, page: usize) -> Option<u32> {
        let (before, is_there) = self.pages.get_mut(page)?.as_mut()?;
        if std::mem::take(is_there) {
            self.count -= 1;
        }
        Some(*before)
    }
}

/// Page-ins from swap in a recording, by how many other pages were in swap when the page went there:
/// zram with room for more had taken it. zram forgets nothing: while it is full, pages go elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reuse {
    /// Ascending.
    before: Vec<u32>,
    /// Page-ins of pages that the recording has not seen before.
    unknown: u64,
}

impl Reuse {
    /// Reads the whole recording; `None` if the user interrupted it.
    ///
    /// # Errors
    /// The trace is malformed, or has no page-in from swap.
    pub fn read(trace: &mut Trace, monitor: &dyn Monitor) -> Result<Option<Self>> {
        let mut numbering = Numbering::default();
        let mut swapped = Swapped::default();
        let (mut events, mut pages, mut reuse) = (Vec::new(), Vec::new(), Self::default());
        for batch in 0_u32.. {
            let more = trace.read(&mut events, BATCH)?;
            events.retain(|event| {
                let moves = matches!(event.operation, Operation::PageIn | Operation::PageOut);
                moves && event.backing != Backing::File
            });
            pages.clear();
            numbering
                .pages(&events, &mut pages)
                .map_err(|error| Error::Invalid(error.to_string()))?;
            for (event, page) in events.iter().zip(&pages) {
                if event.operation == Operation::PageOut {
                    swapped.goes(page.index());
                } else {
                    match swapped.comes_back(page.index()) {
                        Some(before) => reuse.before.push(before),
                        None => reuse.unknown += 1,
                    }
                }
            }
            events.clear();
            if batch.is_multiple_of(BETWEEN) {
                monitor.progress(trace.progress().unwrap_or(0.0), "reading the recording");
            }
            if monitor.stop_requested() {
                return Ok(None);
            }
            if !more {
                break;
            }
        }
        if reuse.before.is_empty() {
            return Err(Error::Invalid(
                "no page came back from swap in the recording: record with less memory, or for \
                 longer"
                    .to_owned(),
            ));
        }
        reuse.before.sort_unstable();
        Ok(Some(reuse))
    }

    /// The page-ins of pages that the recording has seen before.
    pub fn page_ins(&self) -> u64 {
        self.before.len() as u64
    }

    /// The page-ins of pages that it has not.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// The share of page-ins that a swap area of `size` would not have held, 0–1.
    pub fn misses(&self, size: Bytes) -> f64 {
        let pages = size.get() / PAGE;
        let held = self.before.partition_point(|before| u64::from(*before) < pages);
        1.0 - held as f64 / self.before.len().max(1) as f64
    }

    /// The smallest size that would have held the share `held` (0–1) of page-ins.
    pub fn size_for(&self, held: f64) -> Bytes {
        let count = (held * self.before.len() as f64).ceil() as usize;
        let last = self.before.get(count.saturating_sub(1));
        Bytes(last.map_or(0, |before| u64::from(*before) + 1) * PAGE)
    }
}

#[cfg(test)]
mod tests {
    use unjank_measure::Silent;

    use super::*;
    use crate::trace::Options;

    fn read(text: &str) -> Result<Option<Reuse>> {
        let trace = Trace::from_memory("a trace", text.as_bytes().to_vec(), &Options::default());
        Reuse::read(&mut trace?, &Silent)
    }

    #[test]
    fn a_page_needs_room_beside_those_that_are_in_swap_already() {
        let text = "time,operation,page,backing\n\
                    1,page-out,1,anonymous\n2,page-out,2,anonymous\n3,page-out,3,anonymous\n\
                    4,page-in,1,anonymous\n5,page-in,3,anonymous\n6,page-in,9,file\n\
                    7,page-in,8,anonymous\n";
        let reuse = read(text).unwrap().unwrap();
        // None before page 1; pages 1 and 2 before page 3.
        assert_eq!((reuse.before.as_slice(), reuse.unknown()), (&[0, 2][..], 1));
        assert_eq!(reuse.size_for(1.0), Bytes(3 * PAGE));
        assert_eq!(reuse.size_for(0.5), Bytes(PAGE));
        for (pages, missed) in [(0, 1.0), (1, 0.5), (2, 0.5), (3, 0.0)] {
            assert!((reuse.misses(Bytes(pages * PAGE)) - missed).abs() < 1e-9, "{pages} pages");
        }
    }

    #[test]
    fn a_recording_without_page_ins_says_nothing() {
        let text = "time,operation,page,backing\n1,page-out,1,anonymous\n";
        assert!(read(text).unwrap_err().to_string().starts_with("no page came back"));
    }
}
