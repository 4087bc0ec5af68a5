//! Reads lines of bounded length, most of them without a copy.

use std::io::{self, BufRead};

use super::ariadne;
use super::batch::{Batch, Wrong};
use super::blkparse;
use super::csv;
use super::ftrace;
use super::skipped::{Position, Skipped};
use super::stop::{Stop, settle};
use super::volumes;

/// Limit on the bytes of a line.
pub(super) const LONGEST: usize = 64 << 10;
const OVERLONG: &str = "the line is longer than 64 KiB";
const CUT_OFF: &str = "the last line is cut off";

/// The formats with one event per line.
pub(super) enum Lines {
    Ariadne,
    Blkparse(blkparse::Lines),
    Csv(csv::Lines),
    Ftrace(ftrace::Lines),
    Mobile,
    Msr(volumes::Msr),
    Spc(volumes::Spc),
    Systor(volumes::Systor),
    Txt,
}

impl Lines {
    #[inline]
    fn line(&mut self, line: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
        match self {
            Self::Ariadne => ariadne::Lines::line(line, batch),
            Self::Blkparse(lines) => lines.line(line, batch),
            Self::Csv(lines) => lines.line(line, batch),
            Self::Ftrace(lines) => lines.line(line, batch),
            Self::Mobile => volumes::Mobile::line(line, batch),
            Self::Msr(lines) => lines.line(line, batch),
            Self::Spc(lines) => lines.line(line, batch),
            Self::Systor(lines) => lines.line(line, batch),
            Self::Txt => volumes::Txt::line(line, batch),
        }
    }

    /// How many skipped events the last line stands for: more than one for lost events.
    fn weight(&mut self) -> u64 {
        match self {
            Self::Ftrace(lines) => lines.weight(),
            _ => 1,
        }
    }
}

/// Splits a stream into lines, and has their format parse them.
pub(super) struct Text {
    lines: Lines,
    /// Lines read so far.
    number: u64,
    /// A line that began in an earlier buffer.
    carry: Vec<u8>,
    /// Whether that line is too long, and its end was not seen yet.
    overlong: bool,
}

impl Text {
    pub(super) fn new(lines: Lines) -> Self {
        Self { lines, number: 0, carry: Vec::new(), overlong: false }
    }

    /// Reads lines until there are about `most` more events; false at the end.
    pub(super) fn read(
        &mut self,
        source: &mut dyn BufRead,
        batch: &mut Batch<'_>,
        skipped: &mut Skipped,
        most: usize,
    ) -> Result<bool, Stop> {
        let enough = batch.events.len().saturating_add(most);
        loop {
            let buffer = match source.fill_buf() {
                Ok(buffer) => buffer,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) => return Err(Stop::Io(why)),
            };
            if buffer.is_empty() {
                self.end(batch, skipped)?;
                return Ok(false);
            }
            let mut rest = buffer;
            while let Some(end) = memchr::memchr(b'\n', rest) {
                let line = &rest[..end];
                rest = &rest[end + 1..];
                self.number += 1;
                let done = if self.overlong || self.carry.len() + line.len() > LONGEST {
                    self.overlong = false;
                    self.carry.clear();
                    Err(Wrong::Bad(OVERLONG))
                } else if self.carry.is_empty() {
                    self.lines.line(trim(line), batch)
                } else {
                    self.carry.extend_from_slice(line);
                    self.lines.line(trim(&self.carry), batch)
                };
                if let Err(wrong) = done {
                    let line = if self.carry.is_empty() { line } else { &self.carry };
                    let weight = self.lines.weight();
                    settle(wrong, weight, Position::Line(self.number), line, batch, skipped)?;
                }
                self.carry.clear();
                if batch.events.len() >= enough {
                    let taken = buffer.len() - rest.len();
                    source.consume(taken);
                    return Ok(true);
                }
            }
            if self.carry.len() + rest.len() > LONGEST {
                if !batch.options.skip_bad {
                    // The line may extend to the end of the file, or be endless.
                    return Err(Stop::At(Position::Line(self.number + 1), OVERLONG.to_owned()));
                }
                self.overlong = true;
                self.carry.clear();
            } else if !self.overlong {
                self.carry.extend_from_slice(rest);
            }
            let taken = buffer.len();
            source.consume(taken);
        }
    }

    /// Handles a last line without a newline, which may be truncated.
    fn end(&mut self, batch: &mut Batch<'_>, skipped: &mut Skipped) -> Result<(), Stop> {
        let line = std::mem::take(&mut self.carry);
        if std::mem::take(&mut self.overlong) {
            let position = Position::Line(self.number + 1);
            return settle(Wrong::Bad(OVERLONG), 1, position, &[], batch, skipped);
        }
        if line.is_empty() {
            return Ok(());
        }
        self.number += 1;
        match self.lines.line(trim(&line), batch) {
            Ok(()) => Ok(()),
            // A file with a single malformed line has another format rather than being truncated.
            Err(Wrong::Bad(_)) if self.number > 1 => {
                skipped.add(CUT_OFF, 1, Position::Line(self.number));
                Ok(())
            }
            Err(wrong) => {
                let (weight, position) = (self.lines.weight(), Position::Line(self.number));
                settle(wrong, weight, position, &line, batch, skipped)
            }
        }
    }
}

/// Removes a trailing carriage return.
fn trim(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
