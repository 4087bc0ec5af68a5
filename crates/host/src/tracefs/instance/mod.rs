//! One private trace: created (`setup`), started, stopped, read, and removed
//! when dropped.

mod fill;
mod setup;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::decode::Decoder;
use super::format::Malformed;
use super::leftovers::remove_instance_dir;
use super::mount::Tracefs;
use super::options::check_name;
use super::page::Layout;
use super::raw_pages::RawPages;
use super::read::CpuReader;
use super::trace::{CpuTrace, Lost, Trace};
use super::tripwire::TripwirePaths;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::files::{Existing, Readers, WholeFile};
use crate::keeper::Keeper;
use crate::sched::ThreadId;
use crate::support::Unsupported;

pub use setup::keep_instances_with;

/// A private trace: a ring buffer and a choice of events that no other program
/// sees or shares. Its times are [`Timestamp`]s.
///
/// It is removed when this is dropped. If the process is killed, the kernel
/// stops the recording and frees the buffer at once; the keeper
/// ([`keep_instances_with`]) removes the rest, an empty instance whose enabled
/// events still cost time. If the keeper is killed too,
/// [`remove_leftovers`](super::remove_leftovers) removes it.
#[derive(Debug)]
pub struct Instance {
    pub(super) tracefs: Tracefs,
    name: String,
    notes: Vec<Unsupported>,
    pub(super) layout: Layout,
    pub(super) decoder: Decoder,
    /// The number of pages in the buffer of one CPU.
    pages: AtomicUsize,
    /// `None` only during the removal.
    files: Option<Files>,
    /// The readers of all CPUs' buffers, opened at the first read.
    readers: Mutex<Vec<CpuReader>>,
    /// The latest start, or the end of a later read by
    /// [`take_events`](Self::take_events), and the stop: in nanoseconds of
    /// `CLOCK_MONOTONIC`, `u64::MAX` if there is none.
    started: AtomicU64,
    stopped: AtomicU64,
    /// Removes the instance if this process dies; ends after a normal removal.
    _keeper: Option<Keeper>,
}

/// The most pages in a part of [`Instance::take_parts`]: a megabyte.
const PART: usize = 256;

/// Open files, so that starting, stopping and marking cost one write each.
#[derive(Debug)]
struct Files {
    tracing_on: File,
    marker: File,
    /// Closing it stops the recording and frees the buffer.
    _free_buffer: File,
}

impl Instance {
    /// The name of its directory below `instances`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its directory, for the methods of [`Root`](crate::Root).
    pub(super) fn dir(&self) -> PathBuf {
        self.tracefs.path("instances").join(&self.name)
    }

    /// Requested events that do not exist, or are not decoded.
    pub fn notes(&self) -> &[Unsupported] {
        &self.notes
    }

    /// Starts recording. One system call.
    ///
    /// # Errors
    /// If writing `tracing_on` fails.
    pub fn start(&self) -> Result<()> {
        self.write_file(|files| &files.tracing_on, "tracing_on", b"1")?;
        self.started.store(Timestamp::now().as_nanos(), Ordering::Relaxed);
        self.stopped.store(u64::MAX, Ordering::Relaxed);
        Ok(())
    }

    /// Stops recording and keeps the recorded events. It takes one system call,
    /// so a thread can call it right after a late wake-up.
    ///
    /// # Errors
    /// If writing `tracing_on` fails.
    pub fn stop(&self) -> Result<()> {
        self.stopped.fetch_min(Timestamp::now().as_nanos(), Ordering::Relaxed);
        self.write_file(|files| &files.tracing_on, "tracing_on", b"0")
    }

    /// Adds threads to the recorded ones. Only for an instance that records
    /// selected [threads](super::InstanceOptions::threads): one that records all
    /// threads would record only these from now on.
    ///
    /// # Errors
    /// If writing `set_event_pid` fails.
    pub fn record_also(&self, threads: &[ThreadId]) -> Result<()> {
        let path = self.dir().join("set_event_pid");
        let error = |source| Error::file("write", &path, source);
        let numbers: Vec<String> = threads.iter().map(|thread| thread.0.to_string()).collect();
        // Opened without truncation, so the kernel adds to the list.
        let mut file = OpenOptions::new()
            .append(true)
            .open(self.tracefs.root().resolve(&path))
            .map_err(error)?;
        file.write_all(numbers.join(" ").as_bytes()).map_err(error)
    }

    /// Limits the recording of this event to records for which the expression
    /// is true, from now on; see
    /// [`InstanceOptions::filters`](super::InstanceOptions::filters).
    ///
    /// # Errors
    /// If the kernel rejects the expression, or has no such event.
    pub fn filter(&self, event: &str, expression: &str) -> Result<()> {
        check_name(event)?;
        self.tracefs.root().write(self.dir().join(format!("events/{event}/filter")), expression)
    }

    /// The files by which another process of this user can mark and stop this
    /// trace while this process lives. They are file descriptors of this
    /// process, because tracefs may be mounted privately.
    pub fn tripwire(&self) -> Option<TripwirePaths> {
        let files = self.files.as_ref()?;
        let process = std::process::id();
        let path = |file: &File| PathBuf::from(format!("/proc/{process}/fd/{}", file.as_raw_fd()));
        Some(TripwirePaths { marker: path(&files.marker), tracing_on: path(&files.tracing_on) })
    }

    /// Writes a text into the trace of the current CPU. Like any event, it is
    /// not recorded while the instance is stopped.
    ///
    /// # Errors
    /// If writing `trace_marker` fails.
    pub fn mark(&self, text: &str) -> Result<()> {
        match self.write_file(|files| &files.marker, "trace_marker", text.as_bytes()) {
            // The kernel's answer if the instance is stopped.
            Err(Error::File { source, .. }) if source.raw_os_error() == Some(libc::EBADF) => Ok(()),
            other => other,
        }
    }

    /// Takes the recorded events out of the buffer and decodes them. A second
    /// call returns only newer ones. Call it after [`stop`](Self::stop), and
    /// after [`save_text`](Self::save_text).
    ///
    /// # Errors
    /// If a page contradicts the kernel's own description.
    pub fn read_events(&self) -> Result<Trace> {
        Ok(Trace { cpus: self.take_events()?, lost: self.lost()?, ..Trace::default() })
    }

    /// As `read_events`, without checking for lost events, for frequent calls.
    ///
    /// # Errors
    /// As [`read_events`](Self::read_events).
    pub fn take_events(&self) -> Result<Vec<CpuTrace>> {
        let started = Timestamp::from_nanos(self.started.load(Ordering::Relaxed));
        // Events that arrive during the read may be in this result or in the
        // next one. So this result is complete only until now, and the next one
        // only from the end of the read on.
        let until = self.stopped.load(Ordering::Relaxed).min(Timestamp::now().as_nanos());
        let mut readers = self.readers()?;
        let mut cpus = Vec::with_capacity(readers.len());
        for reader in readers.iter_mut() {
            let mut trace = reader.read(&self.layout, &self.decoder, self.most_pages())?;
            trace.finish(started, Timestamp::from_nanos(until));
            cpus.push(trace);
        }
        self.started.fetch_max(Timestamp::now().as_nanos(), Ordering::Relaxed);
        Ok(cpus)
    }

    /// Takes the recorded events out of the buffers in parts of at most `PART` pages of a CPU,
    /// in their order, so that a recording of any length needs little memory. `each` gets the parts.
    /// Their gaps are only those in which the kernel lost events; a gap before the first event of a
    /// part begins at 0.
    ///
    /// # Errors
    /// If a page contradicts the kernel's own description; those of `each`.
    pub fn take_parts(&self, mut each: impl FnMut(CpuTrace) -> Result<()>) -> Result<()> {
        for reader in self.readers()?.iter_mut() {
            for _ in 0..self.most_pages().div_ceil(PART) {
                let mut part = reader.read_part(&self.layout, &self.decoder, PART)?;
                if part.events.is_empty() && part.gaps.is_empty() && part.undecoded == 0 {
                    break;
                }
                part.events.sort();
                each(part)?;
            }
        }
        Ok(())
    }

    /// Moves the recorded pages from the buffer to the end of `pages`, without
    /// decoding them: the cheapest way to empty the buffer while it records.
    /// `pages` must not hold pages of another instance.
    ///
    /// # Errors
    /// If the buffer cannot be read, or the header of a page contradicts the
    /// page's size.
    pub fn take_pages(&self, pages: &mut RawPages) -> Result<()> {
        for reader in self.readers()?.iter_mut() {
            pages.take(reader, &self.layout, self.most_pages())?;
        }
        Ok(())
    }

    /// Decodes pages that [`take_pages`](Self::take_pages) took since the last
    /// start, after the stop.
    ///
    /// # Errors
    /// If a page contradicts the kernel's own description.
    pub fn decode(&self, pages: RawPages) -> Result<Trace> {
        let cpus = pages.decode(&self.layout, &self.decoder, self.recorded())?;
        Ok(Trace { cpus, lost: self.lost()?, ..Trace::default() })
    }

    /// The start and the stop of the latest recording, once it has stopped.
    pub(super) fn recorded(&self) -> (Timestamp, Timestamp) {
        let moment = |at: &AtomicU64| Timestamp::from_nanos(at.load(Ordering::Relaxed));
        (moment(&self.started), moment(&self.stopped))
    }

    /// The readers of all CPUs' buffers.
    fn readers(&self) -> Result<MutexGuard<'_, Vec<CpuReader>>> {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.is_empty() {
            for cpu in self.cpus()? {
                let path = self.dir().join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
                readers.push(CpuReader::open(self.tracefs.root(), &path, cpu, &self.layout)?);
            }
        }
        Ok(readers)
    }

    /// The largest number of pages that one call takes from a CPU: twice the
    /// pages of its buffer, plus 8. Without a limit, a CPU that records as fast
    /// as it is read would prolong the call for ever.
    fn most_pages(&self) -> usize {
        self.pages.load(Ordering::Relaxed).saturating_mul(2).saturating_add(8)
    }

    /// The number of events that the kernel has lost so far.
    ///
    /// # Errors
    /// If a `stats` file cannot be read.
    pub fn lost(&self) -> Result<Lost> {
        let mut lost = Lost::default();
        for (cpu, text) in self.stats()? {
            lost.add_stats(&text).map_err(|error| malformed(&self.stats_of(cpu), &error))?;
        }
        Ok(lost)
    }

    /// The state of each CPU's buffer, as the kernel writes it.
    pub(super) fn stats(&self) -> Result<Vec<(usize, String)>> {
        let read = |cpu| Ok((cpu, self.tracefs.root().read(self.stats_of(cpu))?));
        self.cpus()?.into_iter().map(read).collect()
    }

    fn stats_of(&self, cpu: usize) -> PathBuf {
        self.dir().join(format!("per_cpu/cpu{cpu}/stats"))
    }

    /// Writes the trace as text to the file `to`, for people and Perfetto,
    /// without removing events from the buffer. Returns the number of bytes.
    ///
    /// # Errors
    /// The file that could not be read or written.
    pub fn save_text(&self, to: &Path) -> Result<u64> {
        let from = self.dir().join("trace");
        let mut text = File::open(self.tracefs.root().resolve(&from))
            .map_err(|source| Error::file("open", &from, source))?;
        let whole = WholeFile::create(to, Existing::Replace, Readers::AsUsual)?;
        let bytes = io::copy(&mut text, &mut whole.file()?).map_err(|why| whole.error(why))?;
        whole.finish()?;
        Ok(bytes)
    }

    /// Removes the instance and reports a failure; dropping it ignores
    /// failures.
    ///
    /// # Errors
    /// `Busy` if another program holds a file of the instance open. The
    /// instance then remains, stopped and without a buffer.
    pub fn remove(mut self) -> Result<()> {
        self.take_down()
    }

    fn take_down(&mut self) -> Result<()> {
        let Some(files) = self.files.take() else { return Ok(()) };
        // Removing the directory also stops the recording and disables the
        // events, but the removal may fail.
        let _goes_anyway = (&files.tracing_on).write_all(b"0");
        drop(files);
        self.readers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        let _goes_anyway = self.tracefs.root().write(self.dir().join("events/enable"), "0");
        remove_instance_dir(self.tracefs.root(), &self.dir())
    }

    /// The path of an event's `format` file.
    pub(super) fn format_of(&self, event: &str) -> PathBuf {
        let own = self.dir().join("events").join(event).join("format");
        // Instances do not have the events of the system `ftrace`.
        if self.tracefs.root().exists(&own) {
            own
        } else {
            self.tracefs.path("events").join(event).join("format")
        }
    }

    pub(super) fn cpus(&self) -> Result<Vec<usize>> {
        let names = self.tracefs.root().list(self.dir().join("per_cpu"))?;
        Ok(names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect())
    }

    fn write_file(&self, file: fn(&Files) -> &File, name: &str, value: &[u8]) -> Result<()> {
        let Some(files) = &self.files else { return Ok(()) };
        let written = file(files).write(value).map(|_all_or_cut_by_the_kernel| ());
        written.map_err(|source| Error::file("write", self.dir().join(name), source))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // A remaining instance is found later by its name.
        let _left_for_later = self.take_down();
    }
}

fn malformed(path: &Path, found: &Malformed) -> Error {
    Error::parse(path, found.place, &found.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_can_share_an_instance() {
        fn shareable<T: Send + Sync>() {}
        shareable::<Instance>();
    }
}
