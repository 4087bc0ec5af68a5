//! Replays the requests of memory through a tier.

use super::{Level, Tier};
use crate::admission::Admission;
use crate::paged::Paged;
use crate::paging::PagingKind;
use crate::replacement::Replacement;
use crate::workload::SpanCursor;

/// Page-ins that a launch waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// Page-ins from storage.
    pub storage: u64,
    /// Page-ins from the tier.
    pub tier: u64,
}

impl<R: Replacement, A: Admission> Tier<R, A> {
    /// Replays all requests. Returns the page-ins that each launch waited for.
    pub fn replay(&mut self, paged: &Paged) -> Vec<Waits> {
        let mut waits = vec![Waits::default(); paged.launches.len()];
        let mut launches = SpanCursor::new(&paged.spans);
        let mut prefetched = paged.prefetched.iter().copied().peekable();
        for (place, paging) in paged.stream.iter().enumerate() {
            let (page, at) = (paging.page(), paged.times.at(place));
            match paging.kind() {
                PagingKind::PageIn => {
                    let found = self.page_in(page, at);
                    let is_prefetched = prefetched.next_if_eq(&place).is_some();
                    let launch = launches.at(place).and_then(|launch| waits.get_mut(launch));
                    if let Some(waits) = launch.filter(|_| !is_prefetched) {
                        waits.storage += u64::from(found == Level::Storage);
                        waits.tier += u64::from(found == Level::Tier);
                    }
                }
                PagingKind::PageOut => self.page_out(page, at),
                PagingKind::CleanDrop => self.clean_drop(page, at),
                PagingKind::Gone => self.gone(page),
            }
        }
        for page in &paged.written {
            self.write_through(*page);
        }
        waits
    }
}
