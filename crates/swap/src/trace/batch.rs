//! Turns the requests of a format into events of pages.

use unjank_host::{Bytes, Nanos};

use super::event::{Backing, Event, Operation, PAGE, ProcessIndex, Space};
use super::names::{LimitReached, Names};
use super::options::Options;

/// Bytes of a sector, the unit in which block devices are addressed whatever their block size.
pub(super) const SECTOR: u64 = 512;
/// No block layer makes larger requests; a larger one is a sign of a wrong format.
const LARGEST_REQUEST: Bytes = Bytes(1 << 30);
/// The largest value of the kernel's `loff_t`.
const LARGEST_DEVICE: u64 = i64::MAX as u64;

/// The reason why a line or record yields no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is valid but not wanted: counted.
    Skip(&'static str),
    /// It is malformed: an error, or counted with [`Options::skip_bad`].
    Bad(&'static str),
    /// A limit on the whole trace is reached: always an error.
    LimitReached(&'static str),
}

impl From<LimitReached> for Wrong {
    fn from(limit: LimitReached) -> Self {
        Self::LimitReached(limit.0)
    }
}

/// The reason why the first line of a table yields no event.
pub(super) const NAMES_OF_COLUMNS: &str = "the names of the columns";
pub(super) const ZERO_SIZE: Wrong = Wrong::Skip("a request of no bytes");
pub(super) const DISCARD: Wrong = Wrong::Skip("a discard");
pub(super) const OTHER_STAGE: Wrong = Wrong::Skip("another stage of a request");
const BEYOND: Wrong = Wrong::Skip("beyond the end of the device");

/// A request to a device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) at: Nanos,
    pub(super) who: ProcessIndex,
    pub(super) space: Space,
    /// Offset of the first byte.
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) is_write: bool,
}

/// The batch to which a reader appends its events.
pub(super) struct Batch<'a> {
    pub(super) events: &'a mut Vec<Event>,
    pub(super) names: &'a mut Names,
    pub(super) options: &'a Options,
}

impl Batch<'_> {
    /// Appends one event for each page that the request touches.
    pub(super) fn request(&mut self, request: Request) -> Result<(), Wrong> {
        if request.length == 0 {
            return Err(ZERO_SIZE);
        }
        if request.length > LARGEST_REQUEST.get() {
            return Err(Wrong::Bad("the request is larger than 1 GiB"));
        }
        let end = request.offset.checked_add(request.length).ok_or(BEYOND)?;
        let device = self.options.device_size.map_or(LARGEST_DEVICE, Bytes::get);
        if end > device.min(LARGEST_DEVICE) {
            return Err(BEYOND);
        }
        let (operation, backing) = self.meaning(request.space, request.is_write);
        let event = |page| Event {
            at: request.at,
            page,
            who: request.who,
            space: request.space,
            operation,
            backing,
        };
        let (first, last) = (request.offset / PAGE, (end - 1) / PAGE);
        if first == last {
            // The most frequent case; twice as fast as a range of one.
            self.events.push(event(first));
        } else {
            self.events.extend((first..=last).map(event));
        }
        Ok(())
    }

    /// The meaning of a request to a device: paging, if it is a swap device.
    fn meaning(&self, space: Space, is_write: bool) -> (Operation, Backing) {
        let swap = &self.options.swap_devices;
        let is_swap = !swap.is_empty() && swap.iter().any(|name| name == self.names.space(space));
        match (is_swap, is_write) {
            (true, false) => (Operation::PageIn, Backing::Anonymous),
            (true, true) => (Operation::PageOut, Backing::Anonymous),
            (false, false) => (Operation::Read, Backing::Unknown),
            (false, true) => (Operation::Write, Backing::Unknown),
        }
    }
}

/// Converts sectors to bytes.
pub(super) fn sectors(count: u64) -> Result<u64, Wrong> {
    count.checked_mul(SECTOR).ok_or(BEYOND)
}

/// Whether a request writes, by the letters of the kernel's `blk_fill_rwbs`: `R`, `WS`, `FWFS` …
pub(super) fn is_write(rwbs: &[u8]) -> Result<bool, Wrong> {
    if !rwbs.iter().all(u8::is_ascii_uppercase) {
        return Err(Wrong::Bad("the kind of request is unknown"));
    }
    // A flush before a write comes first.
    match rwbs.strip_prefix(b"F").unwrap_or(rwbs) {
        [b'R', ..] => Ok(false),
        [b'W', ..] => Ok(true),
        [b'D', ..] => Err(DISCARD),
        [] => Err(Wrong::Skip("a flush")),
        [b'N' | b'S' | b'Z' | b'F' | b'M', ..] => Err(Wrong::Skip("neither a read nor a write")),
        _ => Err(Wrong::Bad("the kind of request is unknown")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(offset: u64, length: u64, options: &Options) -> Result<Vec<u64>, Wrong> {
        let (mut events, mut names) = (Vec::new(), Names::default());
        let request = Request {
            at: Nanos::ZERO,
            who: ProcessIndex::UNKNOWN,
            space: Space::NONE,
            offset,
            length,
            is_write: false,
        };
        let mut batch = Batch { events: &mut events, names: &mut names, options };
        batch.request(request)?;
        Ok(events.iter().map(|event| event.page).collect())
    }

    #[test]
    fn a_request_yields_every_page_it_touches() {
        let any = Options::default();
        assert_eq!(pages(0, 4096, &any).unwrap(), [0]);
        assert_eq!(pages(4095, 2, &any).unwrap(), [0, 1]);
        assert_eq!(pages(512, 512, &any).unwrap(), [0]);
        assert_eq!(pages(8192, 12288, &any).unwrap(), [2, 3, 4]);
        assert_eq!(pages(0, 0, &any), Err(ZERO_SIZE));
    }

    #[test]
    fn requests_beyond_the_device_are_rejected() {
        let any = Options::default();
        let last = i64::MAX as u64 / PAGE;
        assert_eq!(pages(last * PAGE, 4095, &any).unwrap(), [last]);
        assert_eq!(pages(last * PAGE, 4096, &any), Err(BEYOND));
        assert_eq!(pages(u64::MAX, 4096, &any), Err(BEYOND));
        assert_eq!(sectors(u64::MAX / 2), Err(BEYOND));
        assert!(matches!(pages(0, (1 << 30) + 1, &any), Err(Wrong::Bad(_))));
        assert_eq!(pages(0, 1 << 30, &any).unwrap().len(), 262_144);
        let small = Options { device_size: Some(Bytes(8192)), ..Options::default() };
        assert_eq!(pages(4096, 4096, &small).unwrap(), [1]);
        assert_eq!(pages(4096, 4097, &small), Err(BEYOND));
    }

    #[test]
    fn the_kernels_letters_distinguish_reads_from_writes() {
        for (letters, expected) in [("R", false), ("RA", false), ("WS", true), ("FWFS", true)] {
            assert_eq!(is_write(letters.as_bytes()), Ok(expected), "{letters}");
        }
        assert_eq!(is_write(b"D"), Err(DISCARD));
        assert_eq!(is_write(b"FF"), Err(Wrong::Skip("neither a read nor a write")));
        for letters in ["x", "Read", "R1", "QW"] {
            assert!(matches!(is_write(letters.as_bytes()), Err(Wrong::Bad(_))), "{letters}");
        }
    }
}
