//! libCacheSim's oracleGeneral: little-endian records of 24 bytes without padding.
//!
//! The fields are the time in seconds (`u32`), the object's id (`u64`), its size (`u32`), and its
//! next access (`i64`, the number of a record counted from 1; -1 for never).
//! Source: libCacheSim, `traceReader/customizedReader/oracle/oracleGeneralBin.h`.

use std::io::{self, BufRead};

use unjank_host::Nanos;

use super::batch::Batch;
use super::event::{Backing, Event, Operation, ProcessIndex};
use super::skipped::{Position, Skipped};
use super::stop::Stop;

/// Bytes of a record.
pub(super) const RECORD: usize = 24;
/// The format has no spaces.
const SPACE: &[u8] = b"objects";
const CUT_OFF: &str = "the last record is cut off";

/// Reads records. An object is one page, whatever its size: neighbouring ids are other objects.
#[derive(Debug, Default)]
pub(super) struct OracleGeneral {
    /// Bytes read so far.
    done: u64,
    /// A record that began in an earlier buffer.
    carry: Vec<u8>,
}

impl OracleGeneral {
    /// Reads records until there are `most` more events; false at the end.
    pub(super) fn read(
        &mut self,
        source: &mut dyn BufRead,
        batch: &mut Batch<'_>,
        skipped: &mut Skipped,
        most: usize,
    ) -> Result<bool, Stop> {
        let position = Position::Byte(self.done);
        let stop = |limit: super::names::LimitReached| Stop::At(position, limit.0.to_owned());
        let space = batch.names.space_number(SPACE).map_err(stop)?;
        let event = |record: &[u8; RECORD]| Event {
            at: Nanos(u64::from(u32::from_le_bytes(part(record, 0))) * 1_000_000_000),
            page: u64::from_le_bytes(part(record, 4)),
            who: ProcessIndex::UNKNOWN,
            space,
            operation: Operation::Read,
            backing: Backing::Unknown,
        };
        let enough = batch.events.len().saturating_add(most);
        loop {
            let buffer = match source.fill_buf() {
                Ok(buffer) => buffer,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) => return Err(Stop::Io(why)),
            };
            if buffer.is_empty() {
                if !self.carry.is_empty() {
                    let begin = self.done - self.carry.len() as u64;
                    skipped.add(CUT_OFF, 1, Position::Byte(begin));
                    self.carry.clear();
                }
                return Ok(false);
            }
            let mut taken = 0;
            if !self.carry.is_empty() {
                taken = (RECORD - self.carry.len()).min(buffer.len());
                self.carry.extend_from_slice(&buffer[..taken]);
                if let Ok(record) = self.carry.as_slice().try_into() {
                    batch.events.push(event(record));
                    self.carry.clear();
                }
            }
            let (records, _) = buffer[taken..].as_chunks::<RECORD>();
            let records = &records[..records.len().min(enough.saturating_sub(batch.events.len()))];
            batch.events.extend(records.iter().map(event));
            taken += records.len() * RECORD;
            let rest = &buffer[taken..];
            if self.carry.is_empty() && rest.len() < RECORD {
                self.carry.extend_from_slice(rest);
                taken += rest.len();
            }
            self.done += taken as u64;
            source.consume(taken);
            if batch.events.len() >= enough {
                return Ok(true);
            }
        }
    }
}

/// Checks whether these bytes look like records. The format has no magic number, so times, sizes
/// and next accesses must be plausible.
pub(super) fn looks_right(head: &[u8]) -> Result<(), String> {
    const LARGEST_OBJECT: u32 = 1 << 30;
    let (records, _) = head.as_chunks::<RECORD>();
    if records.is_empty() {
        return Err("it is shorter than a record".to_owned());
    }
    let mut before = 0;
    for (index, record) in records.iter().enumerate() {
        let wrong = |what| Err(format!("byte {}: {what}", index * RECORD));
        let second = u32::from_le_bytes(part(record, 0));
        let size = u32::from_le_bytes(part(record, 12));
        let next = i64::from_le_bytes(part(record, 16));
        if second < before {
            return wrong("time goes backwards");
        }
        if !(1..=LARGEST_OBJECT).contains(&size) {
            return wrong("the size of the object is impossible");
        }
        // Older files of libCacheSim have the largest number for never.
        if next != -1 && next != i64::MAX && next <= index as i64 {
            return wrong("the next access is in the past");
        }
        before = second;
    }
    Ok(())
}

/// The `N` bytes at `offset`.
#[inline]
fn part<const N: usize>(record: &[u8; RECORD], offset: usize) -> [u8; N] {
    record[offset..offset + N].try_into().expect("every field lies within a record")
}
