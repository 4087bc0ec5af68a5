//! One private trace: made, started, stopped, read, and gone when dropped.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::decode::Decoder;
use super::format::{Format, Malformed};
use super::leftovers::{create_instance_dir, fresh_name, remove_instance_dir};
use super::mount::Tracefs;
use super::options::{InstanceOptions, check_name};
use super::page::Layout;
use super::read::CpuReader;
use super::trace::{CpuTrace, Lost, Trace};
use super::tripwire::TripwirePaths;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::files::{Existing, Readers, WholeFile};
use crate::keeper::{Keeper, KeeperCommand, Order};
use crate::sched::ThreadId;
use crate::support::Unsupported;

/// A trace of its own: a ring buffer and a choice of events that nobody else
/// sees or shares. Its times are [`Timestamp`]s.
///
/// It goes when this is dropped. If the process is killed, the kernel stops
/// the recording and frees the buffer at once, and its keeper
/// ([`keep_instances_with`]) removes the rest, which is an empty instance whose
/// events are enabled and cost all that they happen to. If the keeper is killed
/// too, [`remove_leftovers`](super::remove_leftovers) does.
#[derive(Debug)]
pub struct Instance {
    tracefs: Tracefs,
    name: String,
    dir: PathBuf,
    notes: Vec<Unsupported>,
    layout: Layout,
    decoder: Decoder,
    /// Pages of one CPU's buffer; more than that is not read at once.
    pages: usize,
    /// `None` only while the instance goes.
    files: Option<Files>,
    /// The buffers of all CPUs, from the first look into them on.
    readers: Mutex<Vec<CpuReader>>,
    /// Nanoseconds since boot of the latest start and stop.
    started: AtomicU64,
    stopped: AtomicU64,
    /// Removes the instance if this process dies. It ends after that has gone.
    _keeper: Option<Keeper>,
}

/// How the keeper of each instance is started.
static KEEPER: OnceLock<KeeperCommand> = OnceLock::new();

/// From now on every instance of this process has a keeper, which removes it if
/// the process is killed. The first command that is given here counts.
pub fn keep_instances_with(command: KeeperCommand) {
    let _the_first_counts = KEEPER.set(command);
}

/// Files that stay open: a write to one of them is all that starting, stopping
/// and marking cost.
#[derive(Debug)]
struct Files {
    tracing_on: File,
    marker: File,
    /// Closing it stops the recording and frees the buffer.
    _free_buffer: File,
}

impl Tracefs {
    /// Makes an instance. It does not record before [`Instance::start`], so
    /// the work of enabling events (the kernel patches its own code) is done
    /// by then.
    ///
    /// # Errors
    /// The file that could not be written; `Permission` class without root.
    pub fn instance(&self, options: &InstanceOptions) -> Result<Instance> {
        let name = fresh_name(self.root());
        let dir = self.path("instances").join(&name);
        let keeper = KEEPER.get().map(|command| self.keeper(command, &name)).transpose()?;
        create_instance_dir(self.root(), &dir)?;
        self.set_up(options, name, &dir, keeper).inspect_err(|_| {
            // The first error is the one to tell.
            let _left_for_later = remove_instance_dir(self.root(), &dir);
        })
    }

    fn keeper(&self, command: &KeeperCommand, instance: &str) -> Result<Keeper> {
        let root = self.root().dir().display().to_string();
        Keeper::start(command.clone(), Order::Trace { root, instance: instance.to_owned() })
    }

    fn set_up(
        &self,
        options: &InstanceOptions,
        name: String,
        dir: &Path,
        keeper: Option<Keeper>,
    ) -> Result<Instance> {
        let open = |name: &str| {
            let path = dir.join(name);
            let file = OpenOptions::new().write(true).open(self.root().resolve(&path));
            file.map_err(|source| Error::file("open", path, source))
        };
        let files = Files {
            tracing_on: open("tracing_on")?,
            marker: open("trace_marker")?,
            _free_buffer: open("free_buffer")?,
        };
        let mut notes = options.apply(self, dir)?;
        let layout = self.layout(dir)?;
        let decoder = self.decoder(dir, &options.events, &mut notes)?;
        let pages = options.buffer.get() as usize / layout.page_size();
        Ok(Instance {
            tracefs: self.clone(),
            name,
            dir: dir.to_owned(),
            notes,
            layout,
            decoder,
            pages,
            files: Some(files),
            readers: Mutex::default(),
            started: AtomicU64::new(u64::MAX),
            stopped: AtomicU64::new(u64::MAX),
            _keeper: keeper,
        })
    }

    /// The layout of this instance's pages; older kernels have one for all.
    fn layout(&self, dir: &Path) -> Result<Layout> {
        let own = dir.join("events/header_page");
        let path = if self.root().exists(&own) { own } else { self.path("events/header_page") };
        Layout::parse(&self.root().read(&path)?).map_err(|error| parse_error(&path, &error))
    }

    /// A decoder for `events` and for marks.
    fn decoder(
        &self,
        dir: &Path,
        events: &[String],
        notes: &mut Vec<Unsupported>,
    ) -> Result<Decoder> {
        let mut decoder = Decoder::default();
        let mut learn = |event: &str, path: PathBuf| -> Result<()> {
            let Some(text) = self.root().read_if_there(&path)? else { return Ok(()) };
            let format = Format::parse(&text).map_err(|error| parse_error(&path, &error))?;
            let system = event.split('/').next().unwrap_or_default();
            if let Err(why) = decoder.learn(system, &format) {
                let reason = format!("its records are left out: {why}");
                notes.push(Unsupported { what: event.to_owned(), reason });
            }
            Ok(())
        };
        for event in events {
            learn(event, dir.join("events").join(event).join("format"))?;
        }
        learn("ftrace/print", self.path("events/ftrace/print/format"))?;
        Ok(decoder)
    }
}

impl Instance {
    /// The name of its directory below `instances`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Events that were asked for and are not there, or not decoded.
    pub fn notes(&self) -> &[Unsupported] {
        &self.notes
    }

    /// Records from now on. One system call.
    ///
    /// # Errors
    /// A failed write to `tracing_on`.
    pub fn start(&self) -> Result<()> {
        self.write_file(|files| &files.tracing_on, "tracing_on", b"1")?;
        self.started.store(Timestamp::now().as_nanos(), Ordering::Relaxed);
        self.stopped.store(u64::MAX, Ordering::Relaxed);
        Ok(())
    }

    /// Records no more; what was recorded stays. One system call, so a thread
    /// that has just missed its time can do it.
    ///
    /// # Errors
    /// A failed write to `tracing_on`.
    pub fn stop(&self) -> Result<()> {
        self.stopped.fetch_min(Timestamp::now().as_nanos(), Ordering::Relaxed);
        self.write_file(|files| &files.tracing_on, "tracing_on", b"0")
    }

    /// Records these threads, too, where only some are recorded.
    ///
    /// # Errors
    /// A failed write to `set_event_pid`.
    pub fn record_also(&self, threads: &[ThreadId]) -> Result<()> {
        let path = self.dir.join("set_event_pid");
        let error = |source| Error::file("write", &path, source);
        let numbers: Vec<String> = threads.iter().map(|thread| thread.0.to_string()).collect();
        // Opened without truncation, the kernel adds to the list.
        let mut file = OpenOptions::new()
            .append(true)
            .open(self.tracefs.root().resolve(&path))
            .map_err(error)?;
        file.write_all(numbers.join(" ").as_bytes()).map_err(error)
    }

    /// Records of this event only what the expression is true of, from now on; see
    /// [`InstanceOptions::filters`].
    ///
    /// # Errors
    /// The kernel does not take the expression, or has no such event.
    pub fn filter(&self, event: &str, expression: &str) -> Result<()> {
        check_name(event)?;
        self.tracefs.root().write(self.dir.join(format!("events/{event}/filter")), expression)
    }

    /// How another process of this user marks and stops this trace, as long as
    /// this process lives. It works through this process's file descriptors,
    /// because tracefs may be mounted where nobody else sees it.
    pub fn tripwire(&self) -> Option<TripwirePaths> {
        let files = self.files.as_ref()?;
        let process = std::process::id();
        let path = |file: &File| PathBuf::from(format!("/proc/{process}/fd/{}", file.as_raw_fd()));
        Some(TripwirePaths { marker: path(&files.marker), tracing_on: path(&files.tracing_on) })
    }

    /// Puts a text into the trace of the CPU that this runs on. As any event,
    /// it is not recorded while the instance is stopped.
    ///
    /// # Errors
    /// A failed write to `trace_marker`.
    pub fn mark(&self, text: &str) -> Result<()> {
        match self.write_file(|files| &files.marker, "trace_marker", text.as_bytes()) {
            // This is how the kernel says that it is stopped.
            Err(Error::File { source, .. }) if source.raw_os_error() == Some(libc::EBADF) => Ok(()),
            other => other,
        }
    }

    /// Takes what was recorded out of the buffer and decodes it. Events that
    /// were taken are gone from the instance; a second call answers the newer
    /// ones. Best after [`stop`](Self::stop), and after
    /// [`save_text`](Self::save_text).
    ///
    /// # Errors
    /// A page that the kernel's own description does not fit.
    pub fn read_events(&self) -> Result<Trace> {
        Ok(Trace { cpus: self.take_events()?, lost: self.lost()? })
    }

    /// The same without a look at what was lost, for whoever takes events often.
    ///
    /// # Errors
    /// As [`read_events`](Self::read_events).
    pub fn take_events(&self) -> Result<Vec<CpuTrace>> {
        let started = Timestamp::from_nanos(self.started.load(Ordering::Relaxed));
        // While it records, a CPU's later events may come too late to be read
        // now, and its earlier ones are missing from what is read next time.
        let until = self.stopped.load(Ordering::Relaxed).min(Timestamp::now().as_nanos());
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.is_empty() {
            for cpu in self.cpus()? {
                let path = self.dir.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
                readers.push(CpuReader::open(self.tracefs.root(), &path, cpu, &self.layout)?);
            }
        }
        // Twice the buffer, so that a busy CPU cannot keep us for ever.
        let pages = self.pages.saturating_mul(2).saturating_add(8);
        let mut cpus = Vec::with_capacity(readers.len());
        for reader in readers.iter_mut() {
            let mut trace = reader.read(&self.layout, &self.decoder, pages)?;
            trace.finish(started, Timestamp::from_nanos(until));
            cpus.push(trace);
        }
        self.started.fetch_max(Timestamp::now().as_nanos(), Ordering::Relaxed);
        Ok(cpus)
    }

    /// What the kernel could not keep so far.
    ///
    /// # Errors
    /// An unreadable `stats` file.
    pub fn lost(&self) -> Result<Lost> {
        let mut lost = Lost::default();
        for cpu in self.cpus()? {
            let path = self.dir.join(format!("per_cpu/cpu{cpu}/stats"));
            let text = self.tracefs.root().read(&path)?;
            lost.add_stats(&text).map_err(|error| parse_error(&path, &error))?;
        }
        Ok(lost)
    }

    /// Writes the trace as text to the file `to`, which people and Perfetto
    /// can read. Takes nothing out of the buffer. Answers how many bytes.
    ///
    /// # Errors
    /// Names the file that could not be read or written.
    pub fn save_text(&self, to: &Path) -> Result<u64> {
        let from = self.dir.join("trace");
        let mut text = File::open(self.tracefs.root().resolve(&from))
            .map_err(|source| Error::file("open", &from, source))?;
        let whole = WholeFile::create(to, Existing::Replace, Readers::AsUsual)?;
        let bytes = io::copy(&mut text, &mut whole.file()?).map_err(|why| whole.error(why))?;
        whole.finish()?;
        Ok(bytes)
    }

    /// Removes the instance, and says if that was not possible. Dropping it
    /// does the same silently.
    ///
    /// # Errors
    /// `Busy` if another program holds one of its files open. It records no
    /// more then, and has no buffer.
    pub fn remove(mut self) -> Result<()> {
        self.take_down()
    }

    fn take_down(&mut self) -> Result<()> {
        let Some(files) = self.files.take() else { return Ok(()) };
        // The kernel does both when the directory goes, but it may stay.
        let _goes_anyway = (&files.tracing_on).write_all(b"0");
        drop(files);
        self.readers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        let _goes_anyway = self.tracefs.root().write(self.dir.join("events/enable"), "0");
        remove_instance_dir(self.tracefs.root(), &self.dir)
    }

    fn cpus(&self) -> Result<Vec<usize>> {
        let names = self.tracefs.root().list(self.dir.join("per_cpu"))?;
        Ok(names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect())
    }

    fn write_file(&self, file: fn(&Files) -> &File, name: &str, value: &[u8]) -> Result<()> {
        let Some(files) = &self.files else { return Ok(()) };
        let written = file(files).write(value).map(|_all_or_cut_by_the_kernel| ());
        written.map_err(|source| Error::file("write", self.dir.join(name), source))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // What stays is found by its name later on.
        let _left_for_later = self.take_down();
    }
}

fn parse_error(path: &Path, malformed: &Malformed) -> Error {
    Error::parse(path, malformed.place, &malformed.what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;

    #[test]
    fn threads_can_share_an_instance() {
        fn shareable<T: Send + Sync>() {}
        shareable::<Instance>();
    }

    #[test]
    fn an_instance_that_cannot_be_set_up_is_taken_away_again() {
        let top = tempfile::tempdir().unwrap();
        let instances = top.path().join("sys/kernel/tracing/instances");
        std::fs::create_dir_all(&instances).unwrap();
        let tracefs = Tracefs::open(&Root::at(top.path())).yes().unwrap();
        // A plain directory gets no files when it is made.
        let error = tracefs.instance(&InstanceOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with("cannot open /sys/kernel/tracing/instances/unjank-"), "{error}");
        assert_eq!(std::fs::read_dir(&instances).unwrap().count(), 0);
    }
}
