//! What memory asked for, put to a tier.

use super::{Found, Tier};
use crate::model::admission::Admission;
use crate::model::paged::Paged;
use crate::model::paging::Happened;
use crate::model::replacement::Replacement;

/// Page-ins that something waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// From storage.
    pub storage: u64,
    /// From the tier.
    pub tier: u64,
}

impl<R: Replacement, A: Admission> Tier<R, A> {
    /// Puts all that memory asked for to the tier. What each launch waited for.
    pub fn replay(&mut self, paged: &Paged) -> Vec<Waits> {
        let mut waits = Vec::with_capacity(paged.launches.len());
        let mut ahead = paged.ahead.iter().copied().peekable();
        let mut next = 0;
        for launch in &paged.launches {
            self.run(paged, next..launch.begin, &mut ahead);
            waits.push(self.run(paged, launch.begin..launch.end, &mut ahead));
            next = launch.end;
        }
        self.run(paged, next..paged.stream.len(), &mut ahead);
        for page in &paged.written {
            self.write_through(*page);
        }
        waits
    }

    fn run(
        &mut self,
        paged: &Paged,
        places: std::ops::Range<usize>,
        ahead: &mut std::iter::Peekable<impl Iterator<Item = usize>>,
    ) -> Waits {
        let mut waits = Waits::default();
        for place in places {
            let paging = paged.stream[place];
            let (page, at) = (paging.page(), paged.times.at(place));
            match paging.happened() {
                Happened::PageIn => {
                    let found = self.page_in(page, at);
                    if ahead.next_if_eq(&place).is_none() {
                        waits.storage += u64::from(found == Found::Storage);
                        waits.tier += u64::from(found == Found::Tier);
                    }
                }
                Happened::PageOut => self.page_out(page, at),
                Happened::CleanDrop => self.clean_drop(page, at),
                Happened::Gone => self.gone(page),
            }
        }
        waits
    }
}
