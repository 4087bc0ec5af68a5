//! Replays the requests of memory through a tier.

use super::{Found, Tier};
use crate::admission::Admission;
use crate::paged::Paged;
use crate::paging::Happened;
use crate::replacement::Replacement;
use crate::workload::InLaunches;

/// Page-ins that a launch waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// From storage.
    pub storage: u64,
    /// From the tier.
    pub tier: u64,
}

impl<R: Replacement, A: Admission> Tier<R, A> {
    /// Replays all requests. Returns the page-ins that each launch waited for.
    pub fn replay(&mut self, paged: &Paged) -> Vec<Waits> {
        let mut waits = vec![Waits::default(); paged.launches.len()];
        let mut launches = InLaunches::new(&paged.spans);
        let mut ahead = paged.ahead.iter().copied().peekable();
        for (place, paging) in paged.stream.iter().enumerate() {
            let (page, at) = (paging.page(), paged.times.at(place));
            match paging.happened() {
                Happened::PageIn => {
                    let found = self.page_in(page, at);
                    let is_ahead = ahead.next_if_eq(&place).is_some();
                    let launch = launches.at(place).and_then(|launch| waits.get_mut(launch));
                    if let Some(waits) = launch.filter(|_| !is_ahead) {
                        waits.storage += u64::from(found == Found::Storage);
                        waits.tier += u64::from(found == Found::Tier);
                    }
                }
                Happened::PageOut => self.page_out(page, at),
                Happened::CleanDrop => self.clean_drop(page, at),
                Happened::Gone => self.gone(page),
            }
        }
        for page in &paged.written {
            self.write_through(*page);
        }
        waits
    }
}
