//! Volume traces: comma-separated values with fixed columns.

use unjank_host::Nanos;

use super::batch::{Batch, NAMES_OF_COLUMNS, Request, Wrong, is_write, sectors};
use super::csv::object;
use super::event::{Backing, Event, Operation, ProcessIndex};
use super::fields::fields;
use super::number::{decimal, seconds};

const HEADER: Wrong = Wrong::Skip(NAMES_OF_COLUMNS);
const EMPTY: Wrong = Wrong::Skip("an empty line");
const FIELDS: Wrong = Wrong::Bad("the number of fields is not that of the format");
const TIME: Wrong = Wrong::Bad("the time is not a number");
const OFFSET: Wrong = Wrong::Bad("the offset is not a number");
const SIZE: Wrong = Wrong::Bad("the size is not a number");

/// `MobileBlockIOTraces`: `process,device,rw_flag,sector,size,timestamp`; sector and size in
/// sectors of 512 bytes, time in seconds. The name is the thread's, and the number at its end
/// (`kworker/u16:9`, `Binder:4711_5`, `Thread-12`) is that of the thread, not of the process.
/// Source: the README of acsl-technion/MobileBlockIOTraces.
pub(super) struct Mobile;

impl Mobile {
    pub(super) fn line(line: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
        if line.is_empty() {
            return Err(EMPTY);
        }
        if line.trim_ascii().trim_ascii_start().starts_with(b"preconditioning_ended")
            || line.starts_with(b"\"preconditioning_ended\"")
        {
            return Err(Wrong::Skip("the mark preconditioning_ended"));
        }
        // The name of a process may contain commas, so fields are counted from the end.
        let mut parts = line.rsplitn(6, |byte| *byte == b',').map(<[u8]>::trim_ascii);
        let mut part = || parts.next().ok_or(FIELDS);
        let (time, size, sector, flag) = (part()?, part()?, part()?, part()?);
        let (device, process) = (part()?, part()?);
        if flag == b"rw_flag" {
            return Err(HEADER);
        }
        let request = Request {
            is_write: is_write(flag)?,
            at: seconds(time).ok_or(TIME)?,
            who: batch.names.process_index(without_number(process), None)?,
            space: batch.names.space_number(device)?,
            offset: sectors(decimal(sector).ok_or(Wrong::Bad("the sector is not a number"))?)?,
            length: sectors(decimal(size).ok_or(SIZE)?)?,
        };
        batch.request(request)
    }
}

/// The name of a thread without the number that distinguishes it within its process.
fn without_number(name: &[u8]) -> &[u8] {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, _) = name.split_at(name.len() - digits);
    let is_mark = |byte: &u8| matches!(byte, b'-' | b'_' | b':' | b'#' | b' ');
    let marks = before.iter().rev().take_while(|byte| is_mark(byte)).count();
    if digits == 0 || marks == 0 || marks == before.len() {
        return name;
    }
    &before[..before.len() - marks]
}

/// libCacheSim's plain text: one object per line, taken as one page; a number or any text. It has
/// no times.
/// Source: libCacheSim, `traceReader/generalReader/txt.c`.
pub(super) struct Txt;

impl Txt {
    pub(super) fn line(line: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
        let name = line.trim_ascii();
        if name.is_empty() {
            return Err(EMPTY);
        }
        let space = batch.names.space_number(b"objects")?;
        batch.events.push(Event {
            at: Nanos::ZERO,
            page: object(name),
            who: ProcessIndex::UNKNOWN,
            space,
            operation: Operation::Read,
            backing: Backing::Unknown,
        });
        Ok(())
    }
}

/// MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`; time in units
/// of 100 ns, offset and size in bytes.
/// Source: the traces' README at <https://iotta.snia.org/traces/block-io/388>.
#[derive(Default)]
pub(super) struct Msr {
    space: Vec<u8>,
}

impl Msr {
    pub(super) fn line(&mut self, line: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
        if line.is_empty() {
            return Err(EMPTY);
        }
        let [time, host, disk, kind, offset, size, _response] = fields(line, b',').ok_or(FIELDS)?;
        if host.eq_ignore_ascii_case(b"Hostname") {
            return Err(HEADER);
        }
        let is_write = match kind {
            b"Read" => false,
            b"Write" => true,
            _ => return Err(Wrong::Bad("the type is neither Read nor Write")),
        };
        self.space.clear();
        self.space.extend_from_slice(host);
        self.space.push(b'.');
        self.space.extend_from_slice(disk);
        let at = decimal(time).and_then(|ticks| ticks.checked_mul(100)).ok_or(TIME)?;
        let request = Request {
            is_write,
            at: Nanos(at),
            who: ProcessIndex::UNKNOWN,
            space: batch.names.space_number(&self.space)?,
            offset: decimal(offset).ok_or(OFFSET)?,
            length: decimal(size).ok_or(SIZE)?,
        };
        batch.request(request)
    }
}

/// SPC: `ASU,LBA,Size,Opcode,Timestamp` and optional fields; address in blocks of 512 bytes, size
/// in bytes, time in seconds.
/// Source: SPC Trace File Format Specification 1.0.1; blocks as in the traces of `UMass`.
#[derive(Default)]
pub(super) struct Spc {
    space: Vec<u8>,
}

impl Spc {
    pub(super) fn line(&mut self, line: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
        if line.is_empty() {
            return Err(EMPTY);
        }
        // Optional fields may follow.
        let mut parts = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let mut part = || parts.next().ok_or(FIELDS);
        let (unit, address, size, kind, time) = (part()?, part()?, part()?, part()?, part()?);
        if unit.eq_ignore_ascii_case(b"ASU") {
            return Err(HEADER);
        }
        decimal(unit).ok_or(Wrong::Bad("the application storage unit is not a number"))?;
        let is_write = match kind {
            b"r" | b"R" => false,
            b"w" | b"W" => true,
            _ => return Err(Wrong::Bad("the type is neither R nor W")),
        };
        self.space.clear();
        self.space.extend_from_slice(b"asu ");
        self.space.extend_from_slice(unit);
        let request = Request {
            is_write,
            at: seconds(time).ok_or(TIME)?,
            who: ProcessIndex::UNKNOWN,
            space: batch.names.space_number(&self.space)?,
            offset: sectors(decimal(address).ok_or(Wrong::Bad("the address is not a number"))?)?,
            length: decimal(size).ok_or(SIZE)?,
        };
        batch.request(request)
    }
}

/// SYSTOR '17: `Timestamp,Response,IOType,LUN,Offset,Size`; times in seconds, offset and size in
/// bytes; the type may be blank.
/// Source: the traces' README at <https://iotta.snia.org/traces/block-io/4928>.
#[derive(Default)]
pub(super) struct Systor {
    space: Vec<u8>,
}

impl Systor {
    pub(super) fn line(&mut self, line: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
        if line.is_empty() {
            return Err(EMPTY);
        }
        let [time, response, kind, unit, offset, size] = fields(line, b',').ok_or(FIELDS)?;
        if kind.eq_ignore_ascii_case(b"IOType") {
            return Err(HEADER);
        }
        let at = seconds(time).ok_or(TIME)?;
        if !response.is_empty() && seconds(response).is_none() {
            return Err(Wrong::Bad("the response time is not a number"));
        }
        let is_write = match kind {
            b"R" => false,
            b"W" => true,
            b"" => return Err(Wrong::Skip("no request type")),
            _ => return Err(Wrong::Bad("the type is neither R nor W")),
        };
        decimal(unit).ok_or(Wrong::Bad("the logical unit is not a number"))?;
        self.space.clear();
        self.space.extend_from_slice(b"lun ");
        self.space.extend_from_slice(unit);
        let request = Request {
            is_write,
            at,
            who: ProcessIndex::UNKNOWN,
            space: batch.names.space_number(&self.space)?,
            offset: decimal(offset).ok_or(OFFSET)?,
            length: decimal(size).ok_or(SIZE)?,
        };
        batch.request(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_number_is_removed_from_the_name() {
        for (thread, process) in [
            ("kworker/u16:9", "kworker/u16"),
            ("Binder:4711_5", "Binder:4711"),
            ("Thread-12", "Thread"),
            ("AsyncTask #1", "AsyncTask"),
            ("RenderThread-4720", "RenderThread"),
            ("com.game,fg", "com.game,fg"),
            ("kworker/0:1H", "kworker/0:1H"),
            ("loop12", "loop12"),
            ("mp3", "mp3"),
            ("4711", "4711"),
            ("-1", "-1"),
            ("", ""),
        ] {
            assert_eq!(without_number(thread.as_bytes()), process.as_bytes(), "{thread}");
        }
    }
}
