//! The formats, and how one is told from its content.

use std::fmt;
use std::str::FromStr;

use super::ariadne;
use super::batch::Batch;
use super::blkparse::is_device;
use super::blktrace;
use super::event::Event;
use super::names::Names;
use super::options::{Options, Stage};
use super::oracle_general;
use super::reader::{Reader, Stop};
use super::skipped::Skipped;

/// A format of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Swap-outs and swap-ins of the Ariadne project, with or without the pages' contents.
    Ariadne,
    /// Text of `blkparse(1)`.
    Blkparse,
    /// Records of `blktrace(8)`.
    Blktrace,
    /// Comma-separated values whose first line names the columns.
    Csv,
    /// Text of the kernel's tracer: `trace`, `trace_pipe`, `trace-cmd report`, `perf script`.
    Ftrace,
    /// `MobileBlockIOTraces`: `process,device,rw_flag,sector,size,timestamp`.
    Mobile,
    /// MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
    Msr,
    /// libCacheSim's records of 24 bytes.
    OracleGeneral,
    /// Our own.
    Parquet,
    /// SPC, as `UMass` has them: `ASU,LBA,Size,Opcode,Timestamp`.
    Spc,
    /// SYSTOR '17: `Timestamp,Response,IOType,LUN,Offset,Size`.
    Systor,
}

/// How much of a file is looked at to tell its format.
pub(super) const HEAD: usize = 64 << 10;
/// Events that convince.
const ENOUGH: usize = 100;

impl Format {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Ariadne,
        Self::Blkparse,
        Self::Blktrace,
        Self::Csv,
        Self::Ftrace,
        Self::Mobile,
        Self::Msr,
        Self::OracleGeneral,
        Self::Parquet,
        Self::Spc,
        Self::Systor,
    ];

    /// Formats of text in the order in which they are tried: the strictest first.
    const TEXTS: [Self; 8] = [
        Self::Mobile,
        Self::Msr,
        Self::Systor,
        Self::Spc,
        Self::Csv,
        Self::Ariadne,
        Self::Blkparse,
        Self::Ftrace,
    ];

    /// The name, as it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ariadne => "ariadne",
            Self::Blkparse => "blkparse",
            Self::Blktrace => "blktrace",
            Self::Csv => "csv",
            Self::Ftrace => "ftrace",
            Self::Mobile => "mobile",
            Self::Msr => "msr",
            Self::OracleGeneral => "oracleGeneral",
            Self::Parquet => "parquet",
            Self::Spc => "spc",
            Self::Systor => "systor",
        }
    }

    /// Whether it says when things happened.
    pub const fn has_times(self) -> bool {
        !matches!(self, Self::Ariadne)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let same = |format: &Self| format.name().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(same).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|format| format.name()).collect();
            format!("there is no format {name}, only {}", names.join(", "))
        })
    }
}

/// The format of a file that begins with `head`.
///
/// # Errors
/// What was tried, and why it is none of that.
pub(super) fn detect(head: &[u8], options: &Options) -> Result<Format, String> {
    if head.is_empty() {
        return Err("it is empty".to_owned());
    }
    if head.starts_with(b"PAR1") {
        return Ok(Format::Parquet);
    }
    if head.starts_with(ariadne::MARK) {
        return Ok(Format::Ariadne);
    }
    if blktrace::is_magic(head) {
        return Ok(Format::Blktrace);
    }
    if head.contains(&0) {
        return oracle_general::looks_right(head).map(|()| Format::OracleGeneral).map_err(|why| {
            format!("it is no text, blktrace or Parquet, and as oracleGeneral {why}")
        });
    }
    if head.starts_with(b"# tracer:") {
        return Ok(Format::Ftrace);
    }
    let mut tried = Vec::new();
    for format in Format::TEXTS {
        match try_on(head, format, options.stage, ENOUGH, options) {
            Ok((events, _)) if events.is_empty() => {
                tried.push(format!("{format}: no events at its beginning"));
            }
            Ok(_) => return Ok(format),
            Err(why) => tried.push(format!("{format}: {why}")),
        }
    }
    Err(format!("it is none of: {}", tried.join("; ")))
}

/// The stage that is meant by [`Stage::Auto`] for a file that begins with `head`.
pub(super) fn resolve(head: &[u8], format: Format, options: &Options) -> Stage {
    let has_stages = matches!(format, Format::Blkparse | Format::Blktrace | Format::Ftrace);
    if options.stage != Stage::Auto || !has_stages {
        return options.stage;
    }
    let has = |stage| {
        // Events that are no requests, such as those of files, are there in every stage.
        try_on(head, format, stage, usize::MAX, options).is_ok_and(|(events, names)| {
            events.iter().any(|event| is_device(names.space(event.space).as_bytes()))
        })
    };
    if !has(Stage::Issued) && has(Stage::Queued) { Stage::Queued } else { Stage::Issued }
}

/// The events, `most` or so, that the beginning of a file has as `format`, or why it is none.
fn try_on(
    head: &[u8],
    format: Format,
    stage: Stage,
    most: usize,
    options: &Options,
) -> Result<(Vec<Event>, Names), String> {
    let options = Options { skip_bad: false, stage, ..options.clone() };
    let (mut events, mut names) = (Vec::new(), Names::default());
    let mut skipped = Skipped::default();
    let mut batch = Batch { events: &mut events, names: &mut names, options: &options };
    let mut source = head;
    match Reader::new(format, stage, head).read(&mut source, &mut batch, &mut skipped, most) {
        Ok(_) => Ok((events, names)),
        Err(Stop::At(place, what)) => Err(format!("{place}: {what}")),
        Err(Stop::Io(why)) => Err(why.to_string()),
    }
}
