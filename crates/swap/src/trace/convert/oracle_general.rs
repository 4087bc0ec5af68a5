//! Writes libCacheSim's oracleGeneral, whose records hold their next access.
//!
//! Records are written in order; a second pass fills in the next accesses from the last record to
//! the first. It needs a hash table entry of about 40 bytes per distinct page, and no memory for
//! events.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::FileExt;

use unjank_measure::Monitor;

use super::super::event::{Event, Operation, PAGE, Space};
use super::super::oracle_general::RECORD;

/// Bits of a page's number; the bits above hold the space, if there are several.
const PAGE_BITS: u32 = 48;
/// Records read and written at once in the second pass.
const BLOCK: u64 = 1 << 16;

/// Writes records.
pub(super) struct Writer {
    out: BufWriter<File>,
    records: u64,
    left_out: u64,
    /// The space of the last page.
    space: Option<Space>,
    /// Whether there is more than one space.
    several: bool,
    /// Whether a page's number needs more than [`PAGE_BITS`].
    large: bool,
}

impl Writer {
    pub(super) fn new(out: File) -> Self {
        let out = BufWriter::with_capacity(1 << 18, out);
        Self { out, records: 0, left_out: 0, space: None, several: false, large: false }
    }

    /// Writes a record for each access; leaves out exits, launches and drops of clean pages.
    pub(super) fn write(&mut self, events: &[Event]) -> io::Result<()> {
        for event in events {
            if !event.operation.is_of_page() || event.operation == Operation::CleanDrop {
                self.left_out += 1;
                continue;
            }
            let second = u32::try_from(event.at.get() / 1_000_000_000)
                .map_err(|_| invalid("the trace is longer than 136 years, the format's limit"))?;
            self.several |= self.space.is_some_and(|space| space != event.space);
            self.large |= event.page >> PAGE_BITS != 0;
            self.space = Some(event.space);
            // The space takes the place of the next access until the second pass.
            let mut record = [0; RECORD];
            record[..4].copy_from_slice(&second.to_le_bytes());
            record[4..12].copy_from_slice(&event.page.to_le_bytes());
            record[12..16].copy_from_slice(&(PAGE as u32).to_le_bytes());
            record[16..].copy_from_slice(&u64::from(event.space.0).to_le_bytes());
            self.out.write_all(&record)?;
            self.records += 1;
        }
        Ok(())
    }

    /// Fills in the next accesses, and returns how many events were left out.
    pub(super) fn finish(self, monitor: &dyn Monitor) -> io::Result<u64> {
        if self.several && self.large {
            return Err(invalid(
                "the format's ids have no room for several devices with pages beyond 2^48",
            ));
        }
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let mut next = HashMap::new();
        let mut block = Vec::new();
        let mut end = self.records;
        while end > 0 {
            let begin = end.saturating_sub(BLOCK);
            block.resize((end - begin) as usize * RECORD, 0);
            file.read_exact_at(&mut block, begin * RECORD as u64)?;
            let (records, _) = block.as_chunks_mut::<RECORD>();
            for (index, record) in records.iter_mut().enumerate().rev() {
                // Records are counted from 1, as libCacheSim's converter does.
                fill_in(record, begin + index as u64 + 1, self.several, &mut next);
            }
            file.write_all_at(&block, begin * RECORD as u64)?;
            end = begin;
            let done = 1.0 - end as f64 / self.records as f64;
            monitor.progress(done, "finding next accesses");
        }
        Ok(self.left_out)
    }
}

/// Puts the space into the id if there are several, and writes the next access.
fn fill_in(record: &mut [u8; RECORD], number: u64, several: bool, next: &mut HashMap<u64, u64>) {
    let bytes = |range: std::ops::Range<usize>| {
        let bytes = record[range].try_into().expect("both fields have eight bytes");
        u64::from_le_bytes(bytes)
    };
    let (page, space) = (bytes(4..12), bytes(16..24));
    let id = if several { space << PAGE_BITS | page } else { page };
    let later = next.insert(id, number).map_or(-1, |later| later as i64);
    record[4..12].copy_from_slice(&id.to_le_bytes());
    record[16..24].copy_from_slice(&later.to_le_bytes());
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
