//! The explained launch in files for other tools.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Result;
use unjank_host::files::{Destination, Existing, Readers, WholeFile};
use unjank_host::input::{Stop, Stopped};
use unjank_why::export;
use unjank_why::report::Explained;

use crate::commands::measured::OwnFile;
use crate::{interrupt, output};

/// The files to write.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct ExportArgs {
    /// Write the recording and its critical path as a trace for ui.perfetto.dev; - is stdout
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Write the critical path as folded stacks in nanoseconds, for flame graphs; - is stdout
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,
}

/// The files, opened before anything is recorded.
#[derive(Debug)]
pub(super) struct Exports {
    perfetto: Option<Destination>,
    folded: Option<Destination>,
}

impl ExportArgs {
    /// The files, with their options.
    pub(super) fn files(&self) -> [OwnFile<'_>; 2] {
        [("--perfetto", self.perfetto.as_deref()), ("--folded", self.folded.as_deref())]
    }
}

impl Exports {
    pub(super) fn open(args: &ExportArgs) -> Result<Self> {
        let perfetto = args.perfetto.as_deref().map(Destination::open_binary).transpose()?;
        let folded = args.folded.as_deref().map(Destination::open).transpose()?;
        Ok(Self { perfetto, folded })
    }

    /// Writes them. A failure does not prevent the other file.
    pub(super) fn write(self, launch: &Explained) -> Result<()> {
        let trace = write(self.perfetto, |out| export::perfetto(launch, out));
        trace.and(write(self.folded, |out| export::folded(launch, out)))
    }
}

fn write(
    place: Option<Destination>,
    export: impl FnOnce(&mut UntilStop) -> io::Result<()>,
) -> Result<()> {
    let Some(place) = place else { return Ok(()) };
    let whole = WholeFile::begin(place, Existing::Replace, Readers::AsUsual)?;
    let out = BufWriter::new(whole.file()?);
    let mut out = UntilStop { out, stop: interrupt::stop_from_now() };
    let written = export(&mut out).and_then(|()| out.flush()).map_err(|why| whole.error(why));
    output::unless_reader_left(written.and_then(|()| whole.finish()))
}

/// A file whose writes fail with [`Stopped`] after a stop request.
struct UntilStop {
    out: BufWriter<File>,
    stop: Stop,
}

impl Write for UntilStop {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.is_requested() {
            return Err(io::Error::other(Stopped));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
