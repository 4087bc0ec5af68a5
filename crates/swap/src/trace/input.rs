//! One file of a trace.

use std::io;
use std::path::Path;
use std::sync::Arc;

use unjank_host::{Error, Result};

use super::batch::Batch;
use super::detect::{Detected, detect, resolve};
use super::event::Event;
use super::format::Format;
use super::names::Names;
use super::options::Options;
use super::parquet::Rows;
use super::reader::Reader;
use super::skipped::{Position, Skipped};
use super::source::{Progress, Source};
use super::stop::Stop;
use super::summary::InputSummary;

/// A file, and the events that were read from it but not yet consumed.
pub(super) struct Input {
    pub(super) summary: InputSummary,
    pub(super) progress: Progress,
    /// Events with the file's own times.
    pub(super) buffered: Vec<Event>,
    /// How many of them were consumed.
    pub(super) consumed: usize,
    content: Content,
    at_end: bool,
}

enum Content {
    Stream(Reader, Source),
    Rows(Box<Rows>),
}

/// Events read at once: enough to amortise the calls, few enough for the L2 cache.
pub(super) const BATCH: usize = 4096;

impl Input {
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self> {
        Self::new(Source::open(path, &options.stop)?, options)
    }

    pub(super) fn memory(name: &str, bytes: Arc<[u8]>, options: &Options) -> Result<Self> {
        Self::new(Source::memory(name, bytes)?, options)
    }

    fn new(mut source: Source, options: &Options) -> Result<Self> {
        let named = options.format.map(|format| Detected { format, is_known: true });
        let Detected { format, is_known } = match named {
            Some(named) if named.format != Format::Csv && options.columns.is_some() => {
                return Err(Error::Invalid(format!(
                    "--columns is for comma-separated values, not for {}",
                    named.format
                )));
            }
            Some(named) => named,
            None => detect(&source.head, options).map_err(|why| {
                let why = format!("{why}; name it with --format");
                decode("detect the format of", &source.name, why)
            })?,
        };
        let summary = InputSummary {
            name: source.name.clone(),
            format,
            is_guessed: !is_known,
            packing: source.compression.name(),
            events: 0,
            skipped: Skipped::default(),
        };
        let progress = source.progress.clone();
        let content = if format == Format::Parquet {
            let whole = source.whole()?;
            let rows = Rows::open(whole).map_err(|why| decode("read", &source.name, why))?;
            Content::Rows(Box::new(rows))
        } else {
            let stage = resolve(&source.head, format, options);
            let options = Options { stage, ..options.clone() };
            Content::Stream(Reader::new(format, &options, &source.head), source)
        };
        Ok(Self { summary, progress, buffered: Vec::new(), consumed: 0, content, at_end: false })
    }

    /// Appends about `most` events with the file's own times; false at the end.
    pub(super) fn read(
        &mut self,
        events: &mut Vec<Event>,
        names: &mut Names,
        options: &Options,
        most: usize,
    ) -> Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        let before = events.len();
        let skipped = &mut self.summary.skipped;
        let more = match &mut self.content {
            Content::Stream(reader, source) => {
                let mut batch = Batch { events, names, options };
                reader.read(&mut source.stream, &mut batch, skipped, most)
            }
            Content::Rows(rows) => rows.read(events, names, options.skip_bad, skipped, most),
        };
        self.summary.events += (events.len() - before) as u64;
        let more = match more {
            Ok(more) => more,
            // Reading was stopped on request, so this is not an error.
            Err(Stop::Io(_)) if options.stop.is_requested() => return Ok(true),
            // The compressed file is truncated or damaged.
            Err(Stop::Io(why)) if options.skip_bad => {
                let position = Position::Byte(self.progress.done());
                let reason = if why.kind() == io::ErrorKind::UnexpectedEof {
                    "the compressed file is truncated"
                } else {
                    "the rest cannot be read or decompressed"
                };
                skipped.add(reason, 1, position);
                false
            }
            Err(stop) => {
                self.at_end = true;
                return Err(self.error(stop));
            }
        };
        self.at_end = !more;
        Ok(more)
    }

    /// Reads ahead if all buffered events were consumed; false at the end.
    pub(super) fn look_ahead(&mut self, names: &mut Names, options: &Options) -> Result<bool> {
        while self.consumed == self.buffered.len() {
            self.consumed = 0;
            let mut buffered = std::mem::take(&mut self.buffered);
            buffered.clear();
            let more = self.read(&mut buffered, names, options, BATCH);
            self.buffered = buffered;
            let over = !more? || options.stop.is_requested();
            if over && self.buffered.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn error(&self, stop: Stop) -> Error {
        let name = &self.summary.name;
        match stop {
            Stop::At(Position::Line(line), what) => {
                Error::parse(name, usize::try_from(line).unwrap_or(usize::MAX), what)
            }
            Stop::At(position, what) => decode("decode", name, format!("{position}: {what}")),
            Stop::Io(why) => {
                let what = format!("after {} bytes: {why}", self.progress.done());
                Error::file("read", name, io::Error::new(why.kind(), what))
            }
        }
    }
}

fn decode(action: &'static str, name: &Path, why: String) -> Error {
    Error::file(action, name, io::Error::new(io::ErrorKind::InvalidData, why))
}
