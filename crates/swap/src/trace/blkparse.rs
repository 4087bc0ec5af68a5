//! Text of `blkparse(1)` in its default form:
//! `8,0    3        1     0.000000000   697  D   W 223490 + 8 [kjournald]`.
//!
//! The fields are device, CPU, sequence number, seconds, process ID, action, kind of request,
//! sector, number of sectors, and the process's name, or the error of a completed request.
//! Source: blkparse(1), "Default output".

use super::batch::{Batch, OTHER_STAGE, Request, Wrong, ZERO_SIZE, is_write, sectors};
use super::event::ProcessIndex;
use super::fields::word;
use super::number::{decimal, seconds};
use super::options::Stage;

/// Reads lines of one stage.
#[derive(Debug)]
pub(super) struct Lines {
    action: &'static [u8],
}

impl Lines {
    pub(super) fn new(stage: Stage) -> Self {
        let action = match stage {
            Stage::Queued => b"Q",
            Stage::Issued | Stage::Auto => b"D",
            Stage::Completed => b"C",
        };
        Self { action }
    }

    pub(super) fn line(&mut self, line: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
        let mut rest = line;
        let device = word(&mut rest);
        if device.is_empty() {
            return Err(Wrong::Skip("an empty line"));
        }
        if !is_device(device) {
            return Err(Wrong::Skip("blkparse's summary"));
        }
        let _cpu = word(&mut rest);
        let _sequence = word(&mut rest);
        let at = seconds(word(&mut rest)).ok_or(Wrong::Bad("the time is not a number"))?;
        let pid = decimal(word(&mut rest)).and_then(|pid| u32::try_from(pid).ok());
        let pid = pid.ok_or(Wrong::Bad("the process is not a number"))?;
        let action = word(&mut rest);
        if action != self.action {
            return match action {
                b"Q" | b"D" | b"C" | b"M" | b"F" | b"G" | b"I" | b"B" | b"X" | b"A" | b"R"
                | b"S" => Err(OTHER_STAGE),
                b"P" | b"U" | b"UT" | b"T" | b"m" => Err(Wrong::Skip("plugging, or a message")),
                _ => Err(Wrong::Bad("the action is unknown")),
            };
        }
        let is_write = is_write(word(&mut rest))?;
        let sector = word(&mut rest);
        if sector.starts_with(b"[") {
            return Err(ZERO_SIZE);
        }
        let sector = decimal(sector).ok_or(Wrong::Bad("the sector is not a number"))?;
        if word(&mut rest) != b"+" {
            return Err(ZERO_SIZE);
        }
        let count = decimal(word(&mut rest)).ok_or(Wrong::Bad("the size is not a number"))?;
        let who = if self.action == b"C" {
            // A completion interrupts any running process.
            ProcessIndex::UNKNOWN
        } else {
            let name = rest.trim_ascii();
            let name = name.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]"));
            // blkparse prints this where it has not seen the name.
            let name = name.filter(|name| *name != b"(null)").unwrap_or_default();
            batch.names.process_index(name, Some(pid))?
        };
        let space = batch.names.space_number(device)?;
        let (offset, length) = (sectors(sector)?, sectors(count)?);
        batch.request(Request { at, who, space, offset, length, is_write })
    }
}

/// Whether the text is a device number such as `8,0`.
pub(super) fn is_device(text: &[u8]) -> bool {
    let mut numbers = text.split(|byte| *byte == b',');
    let mut number = || numbers.next().and_then(decimal).is_some();
    number() && number() && numbers.next().is_none()
}
