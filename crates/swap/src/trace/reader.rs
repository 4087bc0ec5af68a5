//! A reader of any format.

use std::io::{self, BufRead};

use super::ariadne;
use super::batch::{Batch, Wrong};
use super::blkparse;
use super::blktrace::Blktrace;
use super::csv;
use super::format::Format;
use super::ftrace;
use super::options::Options;
use super::oracle_general::OracleGeneral;
use super::skipped::{Place, Skipped};
use super::text::{Lines, Text};
use super::volumes;
use super::vscsi::Vscsi;

/// Why reading ends before the file does.
#[derive(Debug)]
pub(super) enum Stop {
    /// What was read is not what the format says.
    At(Place, String),
    /// Nothing could be read.
    Io(io::Error),
}

/// A reader of a stream, in any of the formats but Parquet, which is no stream.
pub(super) enum Reader {
    Text(Box<Text>),
    Pages(ariadne::Pages),
    Blktrace(Box<Blktrace>),
    OracleGeneral(OracleGeneral),
    Vscsi(Vscsi),
}

impl Reader {
    /// A reader of `format`, for a file that begins with `head`.
    pub(super) fn new(format: Format, options: &Options, head: &[u8]) -> Self {
        let stage = options.stage;
        let text = |lines| Self::Text(Box::new(Text::new(lines)));
        match format {
            Format::Ariadne if head.starts_with(ariadne::MARK) => {
                Self::Pages(ariadne::Pages::default())
            }
            Format::Ariadne => text(Lines::Ariadne),
            Format::Blkparse => text(Lines::Blkparse(blkparse::Lines::new(stage))),
            Format::Blktrace => Self::Blktrace(Box::new(Blktrace::new(stage))),
            Format::Csv | Format::Parquet => {
                text(Lines::Csv(csv::Lines::new(options.columns.as_ref())))
            }
            Format::Ftrace => text(Lines::Ftrace(ftrace::Lines::new(stage))),
            Format::Mobile => text(Lines::Mobile),
            Format::Msr => text(Lines::Msr(volumes::Msr::default())),
            Format::OracleGeneral => Self::OracleGeneral(OracleGeneral::default()),
            Format::Spc => text(Lines::Spc(volumes::Spc::default())),
            Format::Systor => text(Lines::Systor(volumes::Systor::default())),
            Format::Txt => text(Lines::Txt),
            Format::Vscsi => Self::Vscsi(Vscsi::new(head)),
        }
    }

    /// Reads until there are `most` more events or so; false at the end.
    pub(super) fn read(
        &mut self,
        source: &mut dyn BufRead,
        batch: &mut Batch<'_>,
        skipped: &mut Skipped,
        most: usize,
    ) -> Result<bool, Stop> {
        match self {
            Self::Text(reader) => reader.read(source, batch, skipped, most),
            Self::Pages(reader) => reader.read(source, batch, skipped, most),
            Self::Blktrace(reader) => reader.read(source, batch, skipped, most),
            Self::OracleGeneral(reader) => reader.read(source, batch, skipped, most),
            Self::Vscsi(reader) => reader.read(source, batch, skipped, most),
        }
    }
}

/// Counts what is skipped, `weight` times; what is wrong is an error, unless it is to be
/// counted, too. `line` is what the error shows, and may be empty.
pub(super) fn settle(
    wrong: Wrong,
    weight: u64,
    place: Place,
    line: &[u8],
    batch: &Batch<'_>,
    skipped: &mut Skipped,
) -> Result<(), Stop> {
    match wrong {
        Wrong::Skip(reason) => skipped.add(reason, weight, place),
        Wrong::Bad(reason) if batch.options.skip_bad => skipped.add(reason, 1, place),
        Wrong::Bad(what) => return Err(Stop::At(place, quoted(what, line))),
        Wrong::Full(what) => return Err(Stop::At(place, what.to_owned())),
    }
    Ok(())
}

/// What is wrong, and the beginning of the line, so that nobody needs to look it up.
fn quoted(what: &str, line: &[u8]) -> String {
    if line.is_empty() { what.to_owned() } else { format!("{what}: {}", shown(line)) }
}

/// The beginning of a line, for a message.
pub(super) fn shown(line: &[u8]) -> String {
    const SHOWN: usize = 60;
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    let more = if line.len() > SHOWN { "…" } else { "" };
    format!("“{clean}{more}”")
}
