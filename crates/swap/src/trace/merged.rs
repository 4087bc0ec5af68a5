//! A trace of one or several files.

use std::path::PathBuf;
use std::sync::Arc;

use unjank_host::{Error, Nanos, Result};

use super::event::Event;
use super::input::Input;
use super::names::Names;
use super::options::Options;
use super::summary::{InputSummary, Summary};

/// A reader of a trace: the events of one file in its order, or of several files by time.
pub struct Trace {
    inputs: Vec<Input>,
    names: Names,
    options: Options,
    /// The time of the first event, in the file's clock.
    origin: Option<Nanos>,
    summary: Summary,
}

impl Trace {
    /// Opens files; `-` is stdin. Several files, such as those that blktrace writes for each CPU,
    /// are merged by time; files of a format without times are read one after the other.
    ///
    /// # Errors
    /// There are no files, one of them cannot be read, or its format is unknown.
    pub fn open(paths: &[PathBuf], options: &Options) -> Result<Self> {
        if paths.is_empty() {
            return Err(Error::Invalid("a trace needs at least one file".to_owned()));
        }
        let inputs = paths.iter().map(|path| Input::open(path, options));
        Ok(Self::new(inputs.collect::<Result<_>>()?, options))
    }

    /// A trace in memory; messages call it `name`.
    ///
    /// # Errors
    /// Its format is unknown.
    pub fn from_memory(name: &str, bytes: impl Into<Arc<[u8]>>, options: &Options) -> Result<Self> {
        Ok(Self::new(vec![Input::memory(name, bytes.into(), options)?], options))
    }

    fn new(inputs: Vec<Input>, options: &Options) -> Self {
        let (names, summary) = (Names::default(), Summary::default());
        Self { inputs, names, options: options.clone(), origin: None, summary }
    }

    /// Appends `most` events, and more if a request spans more pages; false at the end.
    ///
    /// # Errors
    /// A file cannot be read or is malformed. Events before the error are appended.
    pub fn read(&mut self, events: &mut Vec<Event>, most: usize) -> Result<bool> {
        let begin = events.len();
        let more = if self.inputs.len() == 1 {
            self.inputs[0].read(events, &mut self.names, &self.options, most)
        } else {
            self.merge(events, most)
        };
        let new = &mut events[begin..];
        if self.origin.is_none() {
            self.origin = new.first().map(|event| event.at);
        }
        self.summary.take(new, self.origin.unwrap_or_default());
        more
    }

    /// The names behind the numbers of the events so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Counts of the part that was read so far.
    pub fn summary(&self) -> Summary {
        let inputs: Vec<InputSummary> =
            self.inputs.iter().map(|input| input.summary.clone()).collect();
        let mut summary = self.summary.clone();
        summary.inputs = inputs;
        summary
    }

    /// The fraction of the files that was read, from 0 to 1; `None` if their size is unknown.
    pub fn progress(&self) -> Option<f64> {
        let (mut done, mut total) = (0, 0);
        for input in &self.inputs {
            done += input.progress.done();
            total += input.progress.total?;
        }
        (total > 0).then(|| done as f64 / total as f64)
    }

    /// Keeps the files' own times from now on, for a caller that sorts the events first.
    pub(super) fn keep_times(&mut self) {
        self.origin = Some(Nanos::ZERO);
    }

    /// Makes all events begin at `origin`, after [`Self::keep_times`].
    pub(super) fn begin_at(&mut self, events: &mut [Event], origin: Nanos) {
        for event in events {
            event.at = event.at - origin;
        }
        self.summary.span = self.summary.span - origin;
    }

    /// Takes runs of events from the file with the earliest event.
    fn merge(&mut self, events: &mut Vec<Event>, most: usize) -> Result<bool> {
        let enough = events.len().saturating_add(most);
        while events.len() < enough {
            for input in &mut self.inputs {
                input.look_ahead(&mut self.names, &self.options)?;
            }
            let next = |input: &Input| input.buffered.get(input.consumed).map(|event| event.at);
            let mut first: Option<(usize, Nanos)> = None;
            let mut second = Nanos(u64::MAX);
            for (index, at) in self.inputs.iter().map(next).enumerate() {
                let Some(at) = at else { continue };
                match first {
                    Some((_, earliest)) if at >= earliest => second = second.min(at),
                    _ => {
                        second = first.map_or(second, |(_, earliest)| earliest);
                        first = Some((index, at));
                    }
                }
            }
            let Some((index, _)) = first else { return Ok(false) };
            let input = &mut self.inputs[index];
            let waiting = &input.buffered[input.consumed..];
            let run = waiting.iter().take_while(|event| event.at <= second).count();
            let run = run.min(enough - events.len());
            events.extend_from_slice(&waiting[..run]);
            input.consumed += run;
        }
        Ok(true)
    }
}
