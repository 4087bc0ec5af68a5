//! Parses a page of the kernel's ring buffer, as read from
//! `per_cpu/cpuN/trace_pipe_raw`.
//!
//! A page begins with a time stamp and a word, `commit`, with the number of
//! bytes in use and a flag for overwritten records before the page. Then come
//! the records, each with a 32-bit header: 5 bits of type or length, 27 bits of
//! time since the previous record (`include/linux/ring_buffer.h` and
//! `Documentation/trace/ring-buffer-design.rst` in the kernel tree).
//!
//! | type | meaning | after the header |
//! |---|---|---|
//! | 0 | data longer than 112 bytes | its length + 4, then the data |
//! | 1–28 | data of 4 × type bytes | the data |
//! | 29 | padding: to the end of the page if its time is 0, else a discarded record | its length |
//! | 30 | time extend: a time delta too long for 27 bits | its upper bits |
//! | 31 | time stamp: an absolute time without its upper 5 bits | its upper bits |
//!
//! Little-endian kernels only: on others the bit fields are in the opposite
//! order.

use super::format::{Malformed, fields};
use crate::clock::Timestamp;

/// Mask of `commit`: the number of bytes in use.
const USED: u64 = (1 << 30) - 1;
/// Flag: the number of overwritten records follows the data.
const COUNT_STORED: u64 = 1 << 30;
/// Flag: records were overwritten between the previously read page and this.
const MISSED: u64 = 1 << 31;
/// Mask of a record's header: its type, or its length in 32-bit words.
const TYPE: u64 = 31;
const TYPE_BITS: u32 = 5;
/// The number of time bits in a record's header.
const TIME_BITS: u32 = 27;
/// Types that are not data.
const PADDING: u64 = 29;
const TIME_EXTEND: u64 = 30;
const TIME_STAMP: u64 = 31;
/// The bits that an absolute time lacks.
const ABSOLUTE_UPPER: u64 = 0xf8 << 56;

/// The layout of the pages of one kernel: `events/header_page`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    used_offset: usize,
    word: usize,
    data_offset: usize,
    page: usize,
}

impl Layout {
    /// Parses `events/header_page`.
    ///
    /// # Errors
    /// If a page does not begin with a time, or is larger than 64 KiB.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let fields = fields(text)?;
        let find = |name: &str| {
            let found = fields.iter().find(|field| field.name == name);
            let (offset, size) = found
                .map(|found| (usize::from(found.field.offset), usize::from(found.field.size)))
                .ok_or_else(|| Malformed::new(1, format!("expected a field called {name}")))?;
            Ok((offset, size))
        };
        let time = find("timestamp")?;
        let (used_offset, word) = find("commit")?;
        let (data_offset, data_size) = find("data")?;
        let page = data_offset + data_size;
        let in_order = used_offset >= 8 && data_offset >= used_offset + word;
        if time != (0, 8) || !matches!(word, 4 | 8) || !in_order {
            return Err(Malformed::new(1, "expected a time, a number of 4 or 8 bytes, and data"));
        }
        Ok(Self { used_offset, word, data_offset, page })
    }

    /// The size of a page in bytes, which is the size of one read.
    pub fn page_size(&self) -> usize {
        self.page
    }
}

/// One page.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The time from which the records' times are counted.
    pub at: Timestamp,
    /// `Some` if records were overwritten between the previously read page and
    /// this one, with their number if the kernel stored it.
    pub missed: Option<Option<u64>>,
    data: &'a [u8],
    data_offset: usize,
}

/// One record of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its time, by the instance's trace clock.
    pub at: Timestamp,
    /// The content, with up to 3 bytes of padding.
    pub data: &'a [u8],
}

impl<'a> Page<'a> {
    /// Parses the header of a page.
    ///
    /// # Errors
    /// If the page is shorter than its header, or than the length in it.
    pub fn parse(layout: &Layout, bytes: &'a [u8]) -> Result<Self, Malformed> {
        let cut = || Malformed::new(bytes.len(), "the page ends before its head does");
        let at = little_endian(bytes, 0, 8).ok_or_else(cut)?;
        let word = little_endian(bytes, layout.used_offset, layout.word).ok_or_else(cut)?;
        let body = bytes.get(layout.data_offset..).ok_or_else(cut)?;
        let used = (word & USED) as usize;
        let data = body.get(..used).ok_or_else(|| {
            let what = format!("{used} bytes should be in use, but there are only {}", body.len());
            Malformed::new(layout.used_offset, what)
        })?;
        let count = || little_endian(body, used, layout.word);
        let missed =
            (word & MISSED != 0).then(|| if word & COUNT_STORED != 0 { count() } else { None });
        Ok(Self { at: Timestamp::from_nanos(at), missed, data, data_offset: layout.data_offset })
    }

    /// The number of bytes in use: the header, the records and, if it is stored, the
    /// number of overwritten records. The rest of the page is arbitrary.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn length(layout: &Layout, bytes: &[u8]) -> Result<usize, Malformed> {
        let page = Page::parse(layout, bytes)?;
        let count = if page.missed.flatten().is_some() { layout.word } else { 0 };
        Ok(layout.data_offset + page.data.len() + count)
    }

    /// The records in order. An error is the last item.
    pub fn records(&self) -> Records<'a> {
        Records { rest: self.data, place: self.data_offset, now: self.at.as_nanos() }
    }
}

/// The records of a page.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
    place: usize,
    now: u64,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            match self.step() {
                Ok(Some(data)) => {
                    return Some(Ok(Record { at: Timestamp::from_nanos(self.now), data }));
                }
                Ok(None) => {}
                Err(what) => {
                    self.rest = &[];
                    return Some(Err(Malformed::new(self.place, what)));
                }
            }
        }
        None
    }
}

impl<'a> Records<'a> {
    /// Consumes one record, and returns its data if it is a data record.
    #[inline]
    fn step(&mut self) -> Result<Option<&'a [u8]>, &'static str> {
        const CUT: &str = "the record is longer than its page";
        let head = little_endian(self.rest, 0, 4).ok_or(CUT)?;
        let (kind, delta) = (head & TYPE, head >> TYPE_BITS);
        if kind == PADDING && delta == 0 {
            self.rest = &[];
            return Ok(None);
        }
        // The second word, which every type but a short data record uses.
        let second = || little_endian(self.rest, 4, 4).ok_or(CUT);
        let (start, length) = match kind {
            0 => (8, (second()? as usize).checked_sub(4).ok_or("a record of negative length")?),
            1..=28 => (4, kind as usize * 4),
            PADDING => (4, second()? as usize),
            _ => (8, 0),
        };
        self.now = match kind {
            TIME_EXTEND => self.now.saturating_add((second()? << TIME_BITS) | delta),
            TIME_STAMP => absolute((second()? << TIME_BITS) | delta, self.now),
            _ => self.now.saturating_add(delta),
        };
        let data = self.rest.get(start..).and_then(|rest| rest.get(..length)).ok_or(CUT)?;
        // Records are padded to a multiple of 4 bytes.
        let whole = (start + length).next_multiple_of(4).min(self.rest.len());
        self.rest = &self.rest[whole..];
        self.place += whole;
        Ok((kind < PADDING).then_some(data))
    }
}

/// Adds the missing upper 5 bits to an absolute time, from a time shortly before
/// it.
fn absolute(time: u64, before: u64) -> u64 {
    let whole = time | (before & ABSOLUTE_UPPER);
    if before & ABSOLUTE_UPPER != 0 && whole < before {
        return whole.saturating_add(1 << 59);
    }
    whole
}

#[inline]
fn little_endian(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(offset..)?.get(..size)?;
    match size {
        4 => Some(u64::from(u32::from_le_bytes(bytes.try_into().ok()?))),
        8 => Some(u64::from_le_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    pub(in super::super) fn layout() -> Layout {
        Layout::parse(HEADER).unwrap()
    }

    /// A page in the kernel's format, in the simplest encoding.
    pub(in super::super) fn page(at: u64, missed: bool, records: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let mut data: Vec<u8> = Vec::new();
        let mut now = at;
        for (time, bytes) in records {
            let mut delta = time - now;
            now = *time;
            if delta >= 1 << TIME_BITS {
                data.extend(head(TIME_EXTEND, delta).to_le_bytes());
                data.extend(((delta >> TIME_BITS) as u32).to_le_bytes());
                delta = 0;
            }
            let mut bytes = bytes.clone();
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            let words = bytes.len() / 4;
            if (1..=28).contains(&words) {
                data.extend(head(words as u64, delta).to_le_bytes());
            } else {
                data.extend(head(0, delta).to_le_bytes());
                data.extend((bytes.len() as u32 + 4).to_le_bytes());
            }
            data.extend(bytes);
        }
        let word = data.len() as u64 | if missed { MISSED } else { 0 };
        let mut page = at.to_le_bytes().to_vec();
        page.extend(word.to_le_bytes());
        page.extend(data);
        assert!(page.len() <= 4096, "too much for one page");
        page.resize(4096, 0);
        page
    }

    fn read(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let page = Page::parse(&layout(), bytes).unwrap();
        let records: Result<Vec<_>, _> = page.records().collect();
        let pair = |record: Record| (record.at.as_nanos(), record.data.to_vec());
        records.unwrap().into_iter().map(pair).collect()
    }

    fn head(kind: u64, delta: u64) -> u32 {
        (kind | (delta << TYPE_BITS)) as u32
    }

    fn raw(at: u64, words: &[u32]) -> Vec<u8> {
        let mut page = at.to_le_bytes().to_vec();
        page.extend((words.len() as u64 * 4).to_le_bytes());
        page.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        page
    }

    #[test]
    fn times_are_summed_up_and_padding_is_skipped() {
        let discarded = [head(PADDING, 5), 4];
        let data = [head(1, 7), 42];
        let rest = [head(PADDING, 0), 0xffff_ffff];
        let words = [discarded, data, rest].concat();
        assert_eq!(read(&raw(1_000, &words)), [(1_012, vec![42, 0, 0, 0])]);
    }

    #[test]
    fn an_absolute_time_keeps_the_upper_bits() {
        let upper = 0x10 << 56;
        let at = upper | 0x3e8;
        let words = [head(TIME_STAMP, 9), 1, head(1, 2), 7];
        assert_eq!(read(&raw(at, &words)), [(upper | ((1 << 27) + 11), vec![7, 0, 0, 0])]);
        assert_eq!(absolute(5, (0x18 << 56) | 6), (0x20 << 56) | 5, "a carry into them");
        assert_eq!(absolute(5, 6), 5, "an ordinary clock may step back");
    }

    #[test]
    fn overwritten_records_are_reported_with_their_number() {
        let mut bytes = page(5, true, &[(6, vec![1; 4])]);
        assert_eq!(Page::parse(&layout(), &bytes).unwrap().missed, Some(None));
        bytes[8..16].copy_from_slice(&(8 | MISSED | COUNT_STORED).to_le_bytes());
        bytes[24..32].copy_from_slice(&77_u64.to_le_bytes());
        assert_eq!(Page::parse(&layout(), &bytes).unwrap().missed, Some(Some(77)));
        let whole = page(5, false, &[(6, vec![1; 4])]);
        assert_eq!(Page::parse(&layout(), &whole).unwrap().missed, None);
    }

    #[test]
    fn a_page_can_be_cut_after_its_last_byte_in_use() {
        let mut bytes = page(5, true, &[(6, vec![1; 4]), (9, vec![2; 8])]);
        bytes[8..16].copy_from_slice(&(0x14 | MISSED | COUNT_STORED).to_le_bytes());
        bytes[36..44].copy_from_slice(&77_u64.to_le_bytes());
        let whole = read(&bytes);
        assert_eq!(Page::length(&layout(), &bytes), Ok(44));
        bytes.truncate(44);
        assert_eq!(read(&bytes), whole);
        assert_eq!(Page::parse(&layout(), &bytes).unwrap().missed, Some(Some(77)));
        assert!(Page::length(&layout(), &bytes[..20]).is_err());
    }

    #[test]
    fn a_malformed_page_is_an_error_with_its_byte() {
        let error = |bytes: &[u8]| match Page::parse(&layout(), bytes) {
            Ok(page) => page.records().find_map(Result::err).unwrap().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(error(&[0; 12]), "at 12: the page ends before its head does");
        assert_eq!(error(&raw(0, &[3, 0])), "at 16: the record is longer than its page");
        assert_eq!(error(&raw(0, &[1, 0, 0, 2])), "at 24: a record of negative length");
        let mut short = raw(0, &[1, 0]);
        short.pop();
        assert_eq!(error(&short), "at 8: 8 bytes should be in use, but there are only 7");
    }

    #[test]
    fn only_a_sensible_layout_is_accepted() {
        assert_eq!(layout().page_size(), 4096);
        let old = HEADER.replace("offset:8;\tsize:8", "offset:8;\tsize:4");
        assert!(Layout::parse(&old).is_ok(), "a 32-bit kernel");
        for (from, to) in [("size:4080", "size:70000"), ("commit", "used"), ("size:8", "size:3")] {
            assert!(Layout::parse(&HEADER.replace(from, to)).is_err(), "{to}");
        }
    }

    proptest::proptest! {
        #[test]
        fn records_come_back_as_they_were_written(
            at in 0_u64..1 << 58,
            records in proptest::collection::vec((0_u64..1 << 40, 1_usize..40), 0..20),
        ) {
            let mut now = at;
            let records: Vec<(u64, Vec<u8>)> = records
                .into_iter()
                .map(|(delta, words)| {
                    now += delta;
                    (now, vec![words as u8; words * 4])
                })
                .collect();
            proptest::prop_assert_eq!(read(&page(at, false, &records)), records);
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(0_u8.., 0..200),
            used in 0_u64..200,
        ) {
            let mut bytes = bytes;
            if bytes.len() >= 16 {
                bytes[8..16].copy_from_slice(&used.to_le_bytes());
            }
            if let Ok(page) = Page::parse(&layout(), &bytes) {
                let records: Vec<_> = page.records().collect();
                proptest::prop_assert!(records.len() <= bytes.len() / 4 + 1);
            }
        }
    }
}
