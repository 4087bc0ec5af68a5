//! A reader for every format but Parquet.

use std::io::BufRead;

use super::ariadne;
use super::batch::Batch;
use super::blkparse;
use super::blktrace::Blktrace;
use super::csv;
use super::format::Format;
use super::ftrace;
use super::options::Options;
use super::oracle_general::OracleGeneral;
use super::skipped::Skipped;
use super::stop::Stop;
use super::text::{Lines, Text};
use super::volumes;
use super::vscsi::Vscsi;

/// A reader of a stream in any format but Parquet, which needs random access.
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

    /// Reads until there are about `most` more events; false at the end.
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
