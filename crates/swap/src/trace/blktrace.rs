//! Records of `blktrace(8)`, in either byte order.
//!
//! A record has a header of 48 bytes, followed by data. The header holds magic and version,
//! sequence number, nanoseconds, sector, bytes, action, process, device, CPU, error, and the
//! length of the data.
//! Source: `include/uapi/linux/blktrace_api.h`, version 7.

use std::io::BufRead;

use unjank_host::Nanos;

use super::batch::{Batch, DISCARD, OTHER_STAGE, Request, Wrong, sectors};
use super::event::ProcessIndex;
use super::names::Names;
use super::options::Stage;
use super::records::take;
use super::skipped::{Position, Skipped};
use super::stop::{Stop, settle};

const HEADER: usize = 48;
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
/// Maximum bytes of a process's name in the record that carries it.
const COMM: usize = 16;

/// Categories, the upper half of an action.
const WRITE: u32 = 1 << 1;
const NOTIFY: u32 = 1 << 10;
const DISCARDS: u32 = 1 << 13;
const DRIVER: u32 = 1 << 14;
/// In the lower half: the data begins with the ID of a control group.
const HAS_CGROUP: u32 = 1 << 8;
/// Actions, the lower half without `HAS_CGROUP`.
const QUEUE: u32 = 1;
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;
/// The notification of a process's name.
const PROCESS: u32 = 0;

/// Reads records of one stage.
#[derive(Debug)]
pub(super) struct Blktrace {
    action: u32,
    order: Option<ByteOrder>,
    record: Vec<u8>,
    space: Vec<u8>,
    done: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

/// Whether a file that begins with `head` has such records.
pub(super) fn is_magic(head: &[u8]) -> bool {
    head.first_chunk().is_some_and(|magic| byte_order(*magic).is_some())
}

fn byte_order(magic: [u8; 4]) -> Option<ByteOrder> {
    const WHOLE: u32 = MAGIC | VERSION;
    if magic == WHOLE.to_le_bytes() {
        Some(ByteOrder::Little)
    } else if magic == WHOLE.to_be_bytes() {
        Some(ByteOrder::Big)
    } else {
        None
    }
}

impl Blktrace {
    pub(super) fn new(stage: Stage) -> Self {
        let action = match stage {
            Stage::Queued => QUEUE,
            Stage::Issued | Stage::Auto => ISSUE,
            Stage::Completed => COMPLETE,
        };
        Self { action, order: None, record: Vec::new(), space: Vec::new(), done: 0 }
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
            if !self.next(source, skipped, position)? {
                return Ok(false);
            }
            if let Err(wrong) = self.record(batch) {
                settle(wrong, 1, position, &[], batch, skipped)?;
            }
        }
        Ok(true)
    }

    /// Reads the next record and its data; false at the end.
    fn next(
        &mut self,
        source: &mut dyn BufRead,
        skipped: &mut Skipped,
        position: Position,
    ) -> Result<bool, Stop> {
        const CUT_OFF: &str = "the last record is cut off";
        self.record.clear();
        let length = take(source, &mut self.record, HEADER).map_err(Stop::Io)?;
        self.done += length as u64;
        if length < HEADER {
            if length > 0 {
                skipped.add(CUT_OFF, 1, position);
            }
            return Ok(false);
        }
        // Without its length, the start of the next record is unknown, so it cannot be skipped.
        let found = byte_order(self.bytes(0));
        match (found, self.order) {
            (None, _) => {
                return Err(Stop::At(
                    position,
                    "this is not a blktrace record of version 7".to_owned(),
                ));
            }
            (Some(_), None) => self.order = found,
            (found, known) if found == known => {}
            _ => return Err(Stop::At(position, "the byte order changes".to_owned())),
        }
        let data = usize::from(self.u16(46));
        let length = take(source, &mut self.record, data).map_err(Stop::Io)?;
        self.done += length as u64;
        if length < data {
            skipped.add(CUT_OFF, 1, position);
            return Ok(false);
        }
        Ok(true)
    }

    fn record(&mut self, batch: &mut Batch<'_>) -> Result<(), Wrong> {
        let (action, pid) = (self.u32(28), self.u32(32));
        let (category, kind) = (action >> 16, action & 0xffff & !HAS_CGROUP);
        if category & NOTIFY != 0 {
            return if kind == PROCESS {
                self.process(pid, action, batch.names)
            } else {
                Err(Wrong::Skip("a time stamp or message"))
            };
        }
        if category & DRIVER != 0 {
            return Err(Wrong::Skip("a driver's data"));
        }
        if kind != self.action {
            return Err(OTHER_STAGE);
        }
        if category & DISCARDS != 0 {
            return Err(DISCARD);
        }
        self.set_space();
        let request = Request {
            at: Nanos(self.u64(8)),
            // A completion interrupts any running process.
            who: if kind == COMPLETE { ProcessIndex::UNKNOWN } else { batch.names.pid(pid)? },
            space: batch.names.space_number(&self.space)?,
            offset: if self.u32(24) == 0 { 0 } else { sectors(self.u64(16))? },
            length: u64::from(self.u32(24)),
            is_write: category & WRITE != 0,
        };
        batch.request(request)
    }

    /// Sets the name of a process, which precedes its first request on that CPU.
    fn process(&self, pid: u32, action: u32, names: &mut Names) -> Result<(), Wrong> {
        let data = &self.record[HEADER..];
        let data = if action & HAS_CGROUP == 0 { data } else { data.get(8..).unwrap_or_default() };
        let name = &data[..data.len().min(COMM)];
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        names.name_pid(pid, &name[..end])?;
        Err(Wrong::Skip("the name of a process"))
    }

    /// Sets the space to the device as `major,minor`; the minor number has 20 bits.
    fn set_space(&mut self) {
        use std::io::Write as _;
        let device = self.u32(36);
        self.space.clear();
        let _cannot_fail = write!(self.space, "{},{}", device >> 20, device & 0xf_ffff);
    }

    fn bytes<const N: usize>(&self, offset: usize) -> [u8; N] {
        self.record[offset..offset + N].try_into().expect("every field lies within a record")
    }

    fn u16(&self, offset: usize) -> u16 {
        match self.order {
            Some(ByteOrder::Big) => u16::from_be_bytes(self.bytes(offset)),
            _ => u16::from_le_bytes(self.bytes(offset)),
        }
    }

    fn u32(&self, offset: usize) -> u32 {
        match self.order {
            Some(ByteOrder::Big) => u32::from_be_bytes(self.bytes(offset)),
            _ => u32::from_le_bytes(self.bytes(offset)),
        }
    }

    fn u64(&self, offset: usize) -> u64 {
        match self.order {
            Some(ByteOrder::Big) => u64::from_be_bytes(self.bytes(offset)),
            _ => u64::from_le_bytes(self.bytes(offset)),
        }
    }
}
