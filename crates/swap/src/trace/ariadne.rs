//! Swap traces of the Ariadne project (HPCA 2025), which have no times.
//!
//! Swap-outs are records of a header of 50 bytes, `TEST^^^#app,frame,sector#^^^`, and the page's
//! contents; without the contents, lines `app,frame,sector`. Swap-ins are lines `app,sector`.
//! Sectors are those of the swap area, 512 bytes each, eight per page.
//! Source: the kernel patch and scripts of CMU-SAFARI/Ariadne.

use std::io::BufRead;

use unjank_host::Nanos;

use super::batch::{Batch, SECTOR, Wrong};
use super::event::{Backing, Event, Operation, PAGE};
use super::number::decimal;
use super::records::take;
use super::skipped::{Position, Skipped};
use super::stop::{Stop, settle};

/// The start of every header.
pub(super) const MARK: &[u8] = b"TEST^^^#";
const MARK_END: &[u8] = b"#^^^";
const HEADER: usize = 50;
const RECORD: usize = HEADER + PAGE as usize;
const CUT_OFF: &str = "the last record is cut off";

/// Lines without contents.
pub(super) struct Lines;

impl Lines {
    pub(super) fn line(line: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
        if line.is_empty() {
            return Err(Wrong::Skip("an empty line"));
        }
        let mut parts = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(app), Some(sector), None, None) => {
                push_event(app, sector, Operation::PageIn, batch)
            }
            (Some(app), Some(frame), Some(sector), None) => {
                decimal(frame).ok_or(Wrong::Bad("the frame is not a number"))?;
                push_event(app, sector, Operation::PageOut, batch)
            }
            _ => Err(Wrong::Bad("the line has neither two nor three numbers")),
        }
    }
}

fn push_event(
    app: &[u8],
    sector: &[u8],
    operation: Operation,
    batch: &mut Batch<'_>,
) -> Result<(), Wrong> {
    decimal(app).ok_or(Wrong::Bad("the app is not a number"))?;
    let sector = decimal(sector).ok_or(Wrong::Bad("the sector is not a number"))?;
    let who = batch.names.process_index(app, None)?;
    let space = batch.names.space_number(b"swap")?;
    let page = sector / (PAGE / SECTOR);
    let backing = Backing::Anonymous;
    batch.events.push(Event { at: Nanos::ZERO, page, who, space, operation, backing });
    Ok(())
}

/// Records with contents, which are ignored.
#[derive(Debug, Default)]
pub(super) struct Pages {
    record: Vec<u8>,
    done: u64,
}

impl Pages {
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
            let length = take(source, &mut self.record, RECORD).map_err(Stop::Io)?;
            self.done += length as u64;
            if length == 0 {
                return Ok(false);
            }
            if length < RECORD {
                skipped.add(CUT_OFF, 1, position);
                return Ok(false);
            }
            if let Err(wrong) = header(&self.record[..HEADER], batch) {
                settle(wrong, 1, position, &[], batch, skipped)?;
            }
        }
        Ok(true)
    }
}

fn header(header: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
    const NO_HEADER: Wrong = Wrong::Bad("there is no header TEST^^^#app,frame,sector#^^^");
    let numbers = header.strip_prefix(MARK).ok_or(NO_HEADER)?;
    let end =
        numbers.windows(MARK_END.len()).position(|bytes| bytes == MARK_END).ok_or(NO_HEADER)?;
    let mut numbers = numbers[..end].split(|byte| *byte == b',');
    match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
        (Some(app), Some(_frame), Some(sector), None) => {
            push_event(app, sector, Operation::PageOut, batch)
        }
        _ => Err(NO_HEADER),
    }
}
