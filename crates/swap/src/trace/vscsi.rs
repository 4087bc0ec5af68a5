//! `VMware`'s vscsi traces, as used by `CloudPhysics` and libCacheSim: little-endian records of
//! requests to a virtual disk, of 32 bytes in version 1 and of 40 bytes in version 2.
//!
//! | | version 1 | version 2 |
//! |---|---|---|
//! | command, version (`u16` each) | at 12 | at 0 |
//! | bytes (`u32`) | at 4 | at 8 |
//! | block of 512 bytes (`u64`) | at 16 | at 16 |
//! | microseconds (`u64`) | at 24 | at 24 |
//!
//! The version is the upper byte of its field. Commands are those of SCSI.
//! Source: libCacheSim, `traceReader/customizedReader/vscsi.h`; SBC-3 for the commands.

use std::io::BufRead;

use unjank_host::Nanos;

use super::batch::{Batch, Request, Wrong, sectors};
use super::event::ProcessIndex;
use super::records::take;
use super::skipped::{Position, Skipped};
use super::stop::{Stop, settle};

const SPACE: &[u8] = b"disk";
const CUT_OFF: &str = "the last record is cut off";
/// Records whose versions are checked to detect the format.
const ENOUGH: usize = 100;

/// READ and WRITE of 6, 10, 12 and 16 bytes.
const READS: [u16; 4] = [0x08, 0x28, 0xa8, 0x88];
const WRITES: [u16; 4] = [0x0a, 0x2a, 0xaa, 0x8a];
/// WRITE AND VERIFY of 10, 12 and 16 bytes.
const VERIFIED: [u16; 3] = [0x2e, 0xae, 0x8e];

/// Reads records of one version.
#[derive(Debug)]
pub(super) struct Vscsi {
    version: Version,
    record: Vec<u8>,
    done: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    fn size(self) -> usize {
        match self {
            Self::One => 32,
            Self::Two => 40,
        }
    }

    /// The offset of the command, which the version follows.
    fn command_at(self) -> usize {
        match self {
            Self::One => 12,
            Self::Two => 0,
        }
    }

    fn length_at(self) -> usize {
        match self {
            Self::One => 4,
            Self::Two => 8,
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// Whether a record is of this version.
    fn is_of(self, record: &[u8]) -> bool {
        record[self.command_at() + 3] == self.number()
    }

    /// The version of a file that begins with `head`.
    fn of(head: &[u8]) -> Option<Self> {
        // The order is libCacheSim's.
        [Self::Two, Self::One].into_iter().find(|version| {
            let records = head.chunks_exact(version.size()).take(ENOUGH);
            records.len() > 0 && records.clone().all(|record| version.is_of(record))
        })
    }
}

/// Whether the start of a file looks like records of one version, most of them requests.
pub(super) fn looks_right(head: &[u8]) -> bool {
    let Some(version) = Version::of(head) else { return false };
    let is_request = |record: &[u8]| {
        let command = number(record, version.command_at(), 2) as u16;
        READS.contains(&command) || WRITES.contains(&command) || VERIFIED.contains(&command)
    };
    let records = || head.chunks_exact(version.size()).take(ENOUGH);
    records().filter(|record| is_request(record)).count() * 2 > records().len()
}

impl Vscsi {
    /// A reader for a file that begins with `head`.
    pub(super) fn new(head: &[u8]) -> Self {
        let version = Version::of(head).unwrap_or(Version::Two);
        Self { version, record: Vec::new(), done: 0 }
    }

    pub(super) fn read(
        &mut self,
        source: &mut dyn BufRead,
        batch: &mut Batch<'_>,
        skipped: &mut Skipped,
        most: usize,
    ) -> Result<bool, Stop> {
        let enough = batch.events.len().saturating_add(most);
        while batch.events.len() < enough {
            let position = Position::Byte(self.done);
            self.record.clear();
            let size = self.version.size();
            let length = take(source, &mut self.record, size).map_err(Stop::Io)?;
            self.done += length as u64;
            if length == 0 {
                return Ok(false);
            }
            if length < size {
                skipped.add(CUT_OFF, 1, position);
                return Ok(false);
            }
            if let Err(wrong) = self.push_request(batch) {
                settle(wrong, 1, position, &[], batch, skipped)?;
            }
        }
        Ok(true)
    }

    fn push_request(&self, batch: &mut Batch<'_>) -> Result<(), Wrong> {
        let record = &self.record;
        if !self.version.is_of(record) {
            return Err(Wrong::Bad("this is not a vscsi record of the file's version"));
        }
        let command = number(record, self.version.command_at(), 2) as u16;
        let is_write = WRITES.contains(&command) || VERIFIED.contains(&command);
        if !is_write && !READS.contains(&command) {
            return Err(Wrong::Skip("a command that neither reads nor writes"));
        }
        let at = number(record, 24, 8).checked_mul(1_000);
        let space = batch.names.space_number(SPACE)?;
        batch.request(Request {
            at: Nanos(at.ok_or(Wrong::Bad("the time is too large"))?),
            who: ProcessIndex::UNKNOWN,
            space,
            offset: sectors(number(record, 16, 8))?,
            length: number(record, self.version.length_at(), 4),
            is_write,
        })
    }
}

/// The little-endian number of `bytes` bytes at `offset`.
fn number(record: &[u8], offset: usize, bytes: usize) -> u64 {
    let bytes = record[offset..offset + bytes].iter().rev();
    bytes.fold(0, |value, byte| value << 8 | u64::from(*byte))
}
