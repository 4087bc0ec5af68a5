//! Writes a trace in another format.

mod csv;
mod oracle_general;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use unjank_host::files::{Existing, Readers, WholeFile};
use unjank_host::{Error, Nanos, Result};
use unjank_measure::Monitor;

use super::event::Event;
use super::events::Events;
use super::input::BATCH;
use super::names::Names;
use super::parquet;

/// A format that traces can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// unjank's own: a table of events.
    Parquet,
    /// Comma-separated values with named columns.
    Csv,
    /// libCacheSim's format with the next access of each record.
    OracleGeneral,
}

impl To {
    /// The format that the file name's ending stands for.
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let ends = |end: &str| name.ends_with(end);
        if ends(".parquet") {
            Some(Self::Parquet)
        } else if ends(".csv") {
            Some(Self::Csv)
        } else if ends(".oraclegeneral") || ends(".oraclegeneral.bin") {
            Some(Self::OracleGeneral)
        } else {
            None
        }
    }
}

/// Options for writing a trace.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The format to write.
    pub to: To,
    /// Whether events are sorted by time first, which takes 36 bytes of memory per event.
    pub sort: bool,
    /// Whether an existing file is replaced.
    pub force: bool,
}

/// Counts of a conversion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Events written.
    pub events: u64,
    /// Events that the format cannot represent.
    pub left_out: u64,
    /// Whether the user interrupted it; then there is no file.
    pub interrupted: bool,
}

/// Writes `trace` into the file `path`, which appears only once it is complete.
///
/// # Errors
/// The trace is malformed, the file exists and must not be replaced, or it cannot be written.
pub fn to_file(
    trace: &mut impl Events,
    path: &Path,
    options: Options,
    monitor: &dyn Monitor,
) -> Result<Written> {
    let error = |source| Error::file("write", path, source);
    let whole = WholeFile::create(path, Existing::replaced_if(options.force), Readers::AsUsual)?;
    let file = whole.file()?;
    let written = match options.to {
        To::OracleGeneral => {
            let mut writer = oracle_general::Writer::new(file);
            let mut written = pump(trace, options.sort, monitor, |events, _| {
                writer.write(events).map_err(error)
            })?;
            if !written.interrupted {
                written.left_out = writer.finish(monitor).map_err(error)?;
                written.events -= written.left_out;
            }
            written
        }
        To::Parquet => write_parquet(trace, file, path, options, monitor)?,
        To::Csv => write_csv(trace, file, path, options, monitor)?,
    };
    if !written.interrupted {
        whole.finish()?;
    }
    Ok(written)
}

/// Writes `trace` to `out`, which may be a pipe. oracleGeneral takes two passes over the output,
/// so it needs a file.
///
/// # Errors
/// The trace is malformed, or `out` cannot be written to.
pub fn to_stream(
    trace: &mut impl Events,
    out: impl Write + Send,
    options: Options,
    monitor: &dyn Monitor,
) -> Result<Written> {
    let name = Path::new("stdout");
    match options.to {
        To::Parquet => write_parquet(trace, out, name, options, monitor),
        To::Csv => write_csv(trace, out, name, options, monitor),
        To::OracleGeneral => Err(Error::Invalid(
            "oracleGeneral takes two passes over the output; write it to a file".to_owned(),
        )),
    }
}

fn write_parquet(
    trace: &mut impl Events,
    out: impl Write + Send,
    path: &Path,
    options: Options,
    monitor: &dyn Monitor,
) -> Result<Written> {
    let error = |why: ::parquet::errors::ParquetError| {
        Error::file("write", path, io::Error::other(why.to_string()))
    };
    let mut writer = parquet::Writer::new(BufWriter::new(out)).map_err(error)?;
    let written = pump(trace, options.sort, monitor, |events, names| {
        writer.write(events, names).map_err(error)
    })?;
    let mut out = writer.finish(trace.names()).map_err(error)?;
    out.flush().map_err(|source| Error::file("write", path, source))?;
    Ok(written)
}

fn write_csv(
    trace: &mut impl Events,
    out: impl Write,
    path: &Path,
    options: Options,
    monitor: &dyn Monitor,
) -> Result<Written> {
    let error = |source| Error::file("write", path, source);
    let mut writer = csv::Writer::new(BufWriter::new(out)).map_err(error)?;
    let written = pump(trace, options.sort, monitor, |events, names| {
        writer.write(events, names).map_err(error)
    })?;
    writer.finish().map_err(error)?;
    Ok(written)
}

/// Passes all events to `write`, in batches, or sorted as a whole.
fn pump(
    trace: &mut impl Events,
    sort: bool,
    monitor: &dyn Monitor,
    mut write: impl FnMut(&[Event], &Names) -> Result<()>,
) -> Result<Written> {
    let mut events = Vec::new();
    let mut written = Written::default();
    if sort {
        trace.keep_times();
    }
    let mut batches = 0_u32;
    loop {
        let more = trace.read(&mut events, BATCH)?;
        if !sort {
            written.events += events.len() as u64;
            write(&events, trace.names())?;
            events.clear();
        }
        batches = batches.wrapping_add(1);
        if batches.is_multiple_of(64) {
            monitor.progress(trace.progress().unwrap_or(0.0), "reading");
        }
        if monitor.stop_requested() {
            return Ok(Written { interrupted: true, ..written });
        }
        if !more {
            break;
        }
    }
    if sort {
        // The sort is stable: events of the same time keep the order of the files.
        events.sort_by_key(|event| event.at);
        let origin = events.first().map_or(Nanos::ZERO, |event| event.at);
        trace.begin_at(&mut events, origin);
        written.events = events.len() as u64;
        for chunk in events.chunks(BATCH) {
            write(chunk, trace.names())?;
        }
    }
    Ok(written)
}
