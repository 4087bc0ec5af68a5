//! One number for each page of a trace, whatever device it is of.

use super::Refused;
use crate::trace::{Event, Space};

/// Page numbers above this are told apart only in traces of one device.
const PAGE_BITS: u32 = 48;

/// Makes keys of pages. The first device's are its page numbers.
#[derive(Debug, Clone, Default)]
pub(in crate::model) struct Keys {
    first: Option<Space>,
    several: bool,
    largest: u64,
}

impl Keys {
    /// The key of an event's page.
    pub(in crate::model) fn of(&mut self, event: &Event) -> Result<u64, Refused> {
        let first = *self.first.get_or_insert(event.space);
        self.several |= first != event.space;
        self.largest = self.largest.max(event.page);
        if self.several && self.largest >> PAGE_BITS != 0 {
            return Err(Refused::Beyond(self.largest));
        }
        Ok(event.page ^ u64::from(event.space.0 ^ first.0) << PAGE_BITS)
    }
}
