//! Replays the requests of memory through a tier.

use super::{Level, Tier};
use crate::admission::Admission;
use crate::paged::Paged;
use crate::paging::{PagingEvent, PagingKind};
use crate::replacement::Replacement;
use crate::workload::SpanCursor;
use unjank_units::Nanos;

/// Page-ins that a launch waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// Page-ins from storage.
    pub storage: u64,
    /// Page-ins from the tier.
    pub tier: u64,
}

impl<R: Replacement, A: Admission> Tier<R, A> {
    /// Takes a request of memory. Returns where the page was that memory brings in.
    pub fn take(&mut self, paging: PagingEvent, at: Nanos) -> Option<Level> {
        let page = paging.page();
        if matches!(paging.kind(), PagingKind::PageOut | PagingKind::CleanDrop) {
            while self.next_to_leave(at).is_some() {}
        }
        match paging.kind() {
            PagingKind::PageIn => return Some(self.page_in(page, at)),
            PagingKind::PageOut => _ = self.page_out(page, at),
            PagingKind::CleanDrop => _ = self.clean_drop(page, at),
            PagingKind::Gone => self.gone(page),
        }
        None
    }

    /// Replays all requests. Returns the page-ins that each launch waited for.
    pub fn replay(&mut self, paged: &Paged) -> Vec<Waits> {
        let mut waits = vec![Waits::default(); paged.launches.len()];
        let mut launches = SpanCursor::new(&paged.spans);
        let mut prefetched = paged.prefetched.iter().copied().peekable();
        for (place, paging) in paged.stream.iter().enumerate() {
            let at = paged.times.at(place);
            let Some(found) = self.take(*paging, at) else { continue };
            let is_prefetched = prefetched.next_if_eq(&place).is_some();
            let launch = launches.at(place).and_then(|launch| waits.get_mut(launch));
            if let Some(waits) = launch.filter(|_| !is_prefetched) {
                waits.storage += u64::from(found == Level::Storage);
                waits.tier += u64::from(found == Level::Tier);
            }
        }
        for page in &paged.written {
            self.write_through(*page);
        }
        waits
    }
}
