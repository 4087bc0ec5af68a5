//! Detects the format of a file from its first bytes.

use super::ariadne;
use super::batch::{Batch, NAMES_OF_COLUMNS};
use super::blkparse::is_device;
use super::blktrace;
use super::event::Event;
use super::format::Format;
use super::names::Names;
use super::options::{Options, Stage};
use super::oracle_general;
use super::reader::Reader;
use super::skipped::Skipped;
use super::stop::Stop;
use super::unknown;
use super::vscsi;

/// Events that are parsed before a format is accepted.
const ENOUGH: usize = 100;

/// Text formats in the order in which they are tried, the strictest first. Lines of numbers alone
/// may be anything, so Ariadne's lines without contents and libCacheSim's plain text are never
/// guessed.
const TEXTS: [Format; 7] = [
    Format::Mobile,
    Format::Msr,
    Format::Systor,
    Format::Spc,
    Format::Csv,
    Format::Blkparse,
    Format::Ftrace,
];

/// A format, and whether it is known rather than guessed: from a magic number at the start of the
/// file, or from a header that names the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Detected {
    pub(super) format: Format,
    pub(super) is_known: bool,
}

/// The format of a file that begins with `head`.
///
/// # Errors
/// Why the most likely format does not fit, or that no format is likely.
pub(super) fn detect(head: &[u8], options: &Options) -> Result<Detected, String> {
    let known = |format| Ok(Detected { format, is_known: true });
    let guessed = |format| Ok(Detected { format, is_known: false });
    if head.is_empty() {
        return Err("it is empty".to_owned());
    }
    if options.columns.is_some() {
        return known(Format::Csv);
    }
    if head.starts_with(b"PAR1") {
        return known(Format::Parquet);
    }
    if head.starts_with(ariadne::MARK) {
        return known(Format::Ariadne);
    }
    if blktrace::is_magic(head) {
        return known(Format::Blktrace);
    }
    if head.contains(&0) {
        if vscsi::looks_right(head) {
            return guessed(Format::Vscsi);
        }
        return match oracle_general::looks_right(head) {
            Ok(()) => guessed(Format::OracleGeneral),
            Err(_) => Err(unknown::binary(head)),
        };
    }
    if head.starts_with(b"# tracer:") {
        return known(Format::Ftrace);
    }
    let strict = Options { skip_bad: false, ..options.clone() };
    let why = match detect_text(head, &strict) {
        Err(why) if options.skip_bad => why,
        detected => return detected,
    };
    // Malformed lines are to be skipped: no more of them than of others.
    detect_text(head, options).map_err(|_| why)
}

/// The format of a text that begins with `head`.
fn detect_text(head: &[u8], options: &Options) -> Result<Detected, String> {
    let mut likeliest: Option<(usize, String)> = None;
    for format in TEXTS {
        match try_on(head, format, options.stage, ENOUGH, options) {
            Ok(tried) if tried.is_likely => {
                return Ok(Detected { format, is_known: tried.has_header });
            }
            Ok(_) => {}
            Err((events, why)) => {
                if events > likeliest.as_ref().map_or(0, |(most, _)| *most) {
                    likeliest = Some((events, format!("it begins as {format} does, but {why}")));
                }
            }
        }
    }
    Err(likeliest.map_or_else(|| unknown::text(head), |(_, why)| why))
}

/// Resolves [`Stage::Auto`] for a file that begins with `head`.
pub(super) fn resolve(head: &[u8], format: Format, options: &Options) -> Stage {
    let has_stages = matches!(format, Format::Blkparse | Format::Blktrace | Format::Ftrace);
    if options.stage != Stage::Auto || !has_stages {
        return options.stage;
    }
    let strict = Options { skip_bad: false, ..options.clone() };
    let has = |stage| {
        // Events other than requests, such as those of files, appear in every stage.
        try_on(head, format, stage, usize::MAX, &strict).is_ok_and(
            |Tried { events, names, .. }| {
                events.iter().any(|event| is_device(names.space(event.space).as_bytes()))
            },
        )
    };
    if !has(Stage::Issued) && has(Stage::Queued) { Stage::Queued } else { Stage::Issued }
}

/// The beginning of a file, parsed in some format.
struct Tried {
    events: Vec<Event>,
    names: Names,
    /// Whether it has events, and no more malformed lines than others.
    is_likely: bool,
    /// Whether a header names the columns.
    has_header: bool,
}

/// Parses about `most` events from the beginning of a file as `format`. On an error, returns how
/// many events came before it, and the message.
fn try_on(
    head: &[u8],
    format: Format,
    stage: Stage,
    most: usize,
    options: &Options,
) -> Result<Tried, (usize, String)> {
    let options = Options { stage, ..options.clone() };
    let (mut events, mut names) = (Vec::new(), Names::default());
    let mut skipped = Skipped::default();
    let mut batch = Batch { events: &mut events, names: &mut names, options: &options };
    let mut source = head;
    let read =
        Reader::new(format, &options, head).read(&mut source, &mut batch, &mut skipped, most);
    match read {
        Ok(_) => {
            let has_header = format == Format::Csv || skipped.count(NAMES_OF_COLUMNS) > 0;
            let lines = memchr::memchr_iter(b'\n', &head[..head.len() - source.len()]).count();
            let is_likely = !events.is_empty() && 2 * skipped.malformed() <= lines as u64;
            Ok(Tried { events, names, is_likely, has_header })
        }
        Err(Stop::At(position, what)) => Err((events.len(), format!("{position}: {what}"))),
        Err(Stop::Io(why)) => Err((events.len(), why.to_string())),
    }
}
