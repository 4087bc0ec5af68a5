//! The events of each page, four bytes per event.

use crate::paging::{PagingEvent, PagingKind};

/// The maximum number of events: a time has the bits that the kind leaves of 32.
pub const MAX_EVENTS: usize = (1 << TIME_BITS) - 1;

const TIME_BITS: u32 = 30;
const ALL: [PagingKind; 4] =
    [PagingKind::PageIn, PagingKind::PageOut, PagingKind::CleanDrop, PagingKind::Gone];

/// More events than [`MAX_EVENTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an offline optimum takes at most {MAX_EVENTS} events")]
pub struct TooManyEvents;

/// An event of a page: its time, which is its index in the stream, and its kind.
#[derive(Clone, Copy)]
pub(super) struct Event(u32);

impl Event {
    pub(super) fn time(self) -> u32 {
        self.0 & ((1 << TIME_BITS) - 1)
    }

    pub(super) fn kind(self) -> PagingKind {
        ALL[(self.0 >> TIME_BITS) as usize]
    }
}

/// The events of all pages, grouped by page, in the order of time.
pub(super) struct Histories {
    /// The index of each page's first event, and the total at the end.
    begin: Vec<u32>,
    events: Vec<Event>,
}

impl Histories {
    pub(super) fn of(stream: &[PagingEvent], footprint: u32) -> Result<Self, TooManyEvents> {
        if stream.len() > MAX_EVENTS {
            return Err(TooManyEvents);
        }
        let mut begin = vec![0; footprint as usize + 1];
        for paging in stream {
            begin[paging.page().index() + 1] += 1;
        }
        for page in 1..begin.len() {
            begin[page] += begin[page - 1];
        }
        let mut free = begin.clone();
        let mut events = vec![Event(0); stream.len()];
        for (time, paging) in (0..).zip(stream) {
            let at = &mut free[paging.page().index()];
            events[*at as usize] = Event(time | (paging.kind() as u32) << TIME_BITS);
            *at += 1;
        }
        Ok(Self { begin, events })
    }

    /// How many events there are.
    pub(super) fn len(&self) -> u32 {
        self.events.len() as u32
    }

    pub(super) fn footprint(&self) -> u32 {
        self.begin.len() as u32 - 1
    }

    /// The events of a page.
    pub(super) fn page(&self, page: u32) -> &[Event] {
        let page = page as usize;
        &self.events[self.begin[page] as usize..self.begin[page + 1] as usize]
    }

    /// The time of a page's next event after the one at index `at`; the end if it has none.
    pub(super) fn next(&self, page: u32, at: u32) -> u32 {
        let last = at + 1 == self.begin[page as usize + 1];
        if last { self.len() } else { self.events[at as usize + 1].time() }
    }

    /// The index of each page's first event.
    pub(super) fn begins(&self) -> &[u32] {
        &self.begin[..self.begin.len() - 1]
    }
}
