//! One explained launch or window: its history, path and split.

use std::collections::{BTreeMap, BTreeSet};

use unjank_host::inode::FileId;
use unjank_host::input::Stop;
use unjank_host::machine::ThrottledGroup;
use unjank_host::sched::ThreadId;
use unjank_host::stacks::Stacks;
use unjank_host::swap_area::Area;
use unjank_host::tracefs::trace_file::Annex;
use unjank_host::tracefs::{EventKind, Trace};
use unjank_host::{Support, Timestamp};
use unjank_units::Nanos;

use super::kin;
use super::quota;
use crate::history::{Asleep, History, Origin, WorkItem};
use crate::path::{Activity, Path, path_of_program};
use crate::split::{Cell, HighestClocks, Split};
use crate::what_if::Window;

/// The clock frequencies of the machine in kHz, by CPU; empty if it does not
/// report them.
#[derive(Debug, Clone, Default)]
pub struct Clocks {
    /// The highest possible frequencies.
    pub highest: HighestClocks,
    /// The frequencies at the start of the recording.
    pub at_start: BTreeMap<usize, u64>,
    /// The reason why frequencies are missing, if it is known.
    pub missing: Option<String>,
}

impl Clocks {
    /// The highest frequencies that the events of a recording have, for a machine of which nothing
    /// else is known.
    pub fn seen_in(trace: &Trace) -> Self {
        let mut highest = HighestClocks::new();
        for event in trace.cpus.iter().flat_map(|cpu| cpu.events.iter()) {
            if let EventKind::Frequency { cpu, frequency } = event.kind {
                let khz = frequency.0 / 1_000;
                highest.entry(cpu).and_modify(|seen| *seen = khz.max(*seen)).or_insert(khz);
            }
        }
        let missing = highest.is_empty().then_some("the recording has no cpu_frequency events");
        Self { highest, at_start: BTreeMap::new(), missing: missing.map(str::to_owned) }
    }
}

/// Whether a launch or a window is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The launch of a program, which could be shorter.
    Launch,
    /// A window of a running program. The user chose its length; the program could do the
    /// same work in less time.
    Window,
}

/// A process of another program that answered messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its process id (TGID).
    pub process: u32,
    /// All its threads.
    pub threads: BTreeSet<ThreadId>,
}

/// One launch or window, and where its time went.
#[derive(Debug)]
pub struct Explained {
    /// Whether it is a launch or a window.
    pub subject: Subject,
    /// The thread whose progress is explained.
    pub thread: ThreadId,
    /// The first thread of its program, as far as it is known. Its time, and that of the
    /// threads between the two, counts as the program's own.
    pub first: ThreadId,
    /// The beginning of the explained time.
    pub from: Timestamp,
    /// The end of the explained time.
    pub to: Timestamp,
    pub(super) trace: Trace,
    pub(super) history: History,
    pub(super) path: Path,
    pub(super) split: Split,
    pub(super) highest: HighestClocks,
    pub(super) no_clocks: Option<String>,
    /// The threads of the explained program, and of what it started.
    pub(super) family: BTreeSet<ThreadId>,
    pub(super) warnings: Vec<String>,
    /// Whether the recording ended before the launch was ready.
    pub(super) is_cut: bool,
    /// The groups that were held back by their CPU quotas, if that matters.
    pub(super) throttled: Vec<ThrottledGroup>,
    /// Functions of the kernel by address, as far as they are known.
    pub(super) functions: BTreeMap<u64, String>,
    /// The machine's swap areas.
    pub(super) swap: Vec<Area>,
    /// Paths of files, as far as they are known.
    pub(super) files: BTreeMap<FileId, String>,
    /// The process whose messages it waited for, if it is known and still runs.
    pub(super) server: Option<Server>,
    /// The stacks of the threads on the path, if stacks were wanted.
    pub(super) stacks: Option<Support<Stacks>>,
}

impl Explained {
    /// Explains what `thread` did in the time of a launch.
    pub fn new(
        trace: Trace,
        thread: ThreadId,
        window: (Timestamp, Timestamp),
        clocks: Clocks,
    ) -> Self {
        let history = History::of(&trace);
        let (threads, stop) = ((thread, thread), &Stop::default());
        Self::of(Subject::Launch, trace, history, threads, window, clocks, stop)
    }

    /// As `new`, for a thread of a program whose first thread is `first`, with the
    /// history of the trace.
    ///
    /// # Errors
    /// After a stop request, the trace.
    pub fn of_program(
        trace: Trace,
        history: History,
        (first, thread): (ThreadId, ThreadId),
        window: (Timestamp, Timestamp),
        clocks: Clocks,
        stop: &Stop,
    ) -> Result<Self, Trace> {
        let threads = (first, thread);
        let launch = Self::of(Subject::Launch, trace, history, threads, window, clocks, stop);
        if stop.is_requested() { Err(launch.trace) } else { Ok(launch) }
    }

    /// Explains a window of `thread`, whose program ran before the recording. `asleep` are
    /// threads that were seen asleep during the recording, in order of time; `known` are threads
    /// that ran before it, each with its process.
    pub fn in_window(
        trace: Trace,
        asleep: &[Asleep],
        known: &BTreeSet<(u32, ThreadId)>,
        thread: ThreadId,
        window: (Timestamp, Timestamp),
        clocks: Clocks,
    ) -> Self {
        let mut history = History::of_running(&trace, asleep);
        history.began_with(known);
        let (threads, stop) = ((thread, thread), &Stop::default());
        Self::of(Subject::Window, trace, history, threads, window, clocks, stop)
    }

    /// Why the clock frequency of no CPU is known; `None` if one is.
    pub(super) fn without_clocks(&self) -> Option<&str> {
        let reason = self.no_clocks.as_deref();
        let reason = reason.unwrap_or("this machine does not report clock frequencies");
        self.highest.is_empty().then_some(reason)
    }

    pub(super) fn of(
        subject: Subject,
        trace: Trace,
        mut history: History,
        (first, thread): (ThreadId, ThreadId),
        (from, to): (Timestamp, Timestamp),
        clocks: Clocks,
        stop: &Stop,
    ) -> Self {
        history.begin_with_clocks(&clocks.at_start);
        let (highest, no_clocks) = (clocks.highest, clocks.missing);
        let path = path_of_program(&history, (first, thread), from, to, stop);
        let split = Split::of(&path, &history, &highest);
        let mut family = match subject {
            Subject::Launch => kin::of_launch(&history, thread, to),
            Subject::Window => kin::of_running(&trace, &history, thread, to),
        };
        family.extend(history.older_threads_of(first));
        Self {
            subject,
            thread,
            first,
            from,
            to,
            trace,
            history,
            path,
            split,
            highest,
            no_clocks,
            family,
            warnings: Vec::new(),
            is_cut: false,
            throttled: Vec::new(),
            functions: BTreeMap::new(),
            swap: Vec::new(),
            files: BTreeMap::new(),
            server: None,
            stacks: None,
        }
    }

    /// What it was made of, for an explanation of another time. The clocks with which the recording
    /// began are part of the history.
    pub(super) fn into_recording(self) -> (Trace, History, Clocks) {
        let Self { trace, history, highest, no_clocks: missing, .. } = self;
        (trace, history, Clocks { highest, at_start: BTreeMap::new(), missing })
    }

    /// What a file needs besides the events, so that this can be explained again.
    pub fn annex(&self) -> Annex {
        let kernel_threads = self.trace.kernel_threads.iter().map(|thread| thread.0);
        Annex {
            thread: self.thread.0,
            first: self.first.0,
            window: [self.from, self.to].map(Timestamp::as_nanos),
            is_window: self.subject == Subject::Window,
            highest_khz: self.highest.clone(),
            start_khz: self.history.clocks_at_start(),
            kernel_threads: kernel_threads.collect(),
            functions: self.functions.clone(),
            swap: self.swap.clone(),
            throttled: self.throttled.clone(),
            files: self.files.clone().into_iter().collect(),
            ..Annex::default()
        }
    }

    /// Its window, for replays.
    pub(super) fn window(&self) -> Window<'_> {
        let Self { trace, history, highest, swap, family, thread, from, to, .. } = self;
        let locks = &self.path.locks;
        let (thread, from, to) = (*thread, *from, *to);
        Window { trace, history, highest, swap, family, thread, locks, from, to }
    }

    /// Adds a warning with which the explanation must be read.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Notes that the recording ended before the launch was ready, and why. Only the
    /// beginning of the launch is explained.
    pub fn cut_short(&mut self, why: impl Into<String>) {
        self.is_cut = true;
        self.warn(why);
    }

    /// Whether the program of a launch ran before the recording, as in many recordings in
    /// files. These do not show which older threads belong to its process.
    pub(super) fn is_older_than_its_recording(&self) -> bool {
        let first = self.history.life(self.first, self.from);
        let is_older = first.is_none_or(|life| life.birth.is_none());
        let is_known = self.history.older_threads_of(self.first).next().is_some();
        self.subject == Subject::Launch && is_older && !is_known
    }

    /// The length of the window.
    pub fn total(&self) -> Nanos {
        self.to.since(self.from)
    }

    /// The events of the recording.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The history of all threads in the recording.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Addresses of the kernel whose functions are shown, if they are known.
    pub fn kernel_addresses(&self) -> BTreeSet<u64> {
        let on_path = self.path.segments.iter().map(|segment| (segment.thread, segment.to));
        let wakers = self.path.waits.iter().filter_map(|wait| wait.wake);
        let wakers = wakers.filter_map(|wake| match wake.by {
            Origin::Thread(waker) => Some((waker, wake.at)),
            Origin::Interrupt(_) => None,
        });
        let work = on_path.chain(wakers).filter_map(|(thread, at)| self.work(thread, at));
        work.map(|item| item.function).collect()
    }

    /// The functions of the kernel that have names, by address.
    pub fn functions(&self) -> &BTreeMap<u64, String> {
        &self.functions
    }

    /// Names functions of the kernel: those of
    /// [`kernel_addresses`](Self::kernel_addresses).
    pub fn name_functions(&mut self, functions: BTreeMap<u64, String>) {
        self.functions = functions;
    }

    /// The groups that were held back by their CPU quotas in the explained time.
    pub fn know_throttled(&mut self, groups: Vec<ThrottledGroup>) {
        let waited = self.split.of_cell(Cell::Of(Activity::RunQueue));
        self.throttled = quota::of_path(groups, waited, self.total());
        self.warnings.extend(self.throttled.iter().map(quota::warning));
    }

    /// Those of these groups that matter.
    pub fn throttled(&self) -> &[ThrottledGroup] {
        &self.throttled
    }

    /// The machine's swap areas in the time of the recording.
    pub fn know_swap(&mut self, areas: Vec<Area>) {
        self.swap = areas;
    }

    /// The machine's swap areas.
    pub fn swap(&self) -> &[Area] {
        &self.swap
    }

    /// The threads that touched the pages that the path waited for.
    pub fn page_takers(&self) -> impl Iterator<Item = ThreadId> {
        let pages = self.path.segments.iter().filter_map(|segment| segment.page);
        pages.map(|page| page.thread).collect::<BTreeSet<_>>().into_iter()
    }

    /// The paths of files, as far as they are known.
    pub fn files(&self) -> &BTreeMap<FileId, String> {
        &self.files
    }

    /// Gives files their paths: those of [`shown_files`](super::shown_files).
    pub fn name_files(&mut self, files: BTreeMap<FileId, String>) {
        self.files = files;
    }

    /// The threads of the path's segments and waits, and the holders of locks.
    pub fn threads_on_path(&self) -> BTreeSet<ThreadId> {
        let Path { segments, waits, locks, .. } = &self.path;
        let on_path = segments.iter().map(|segment| segment.thread);
        let asleep = waits.iter().map(|wait| wait.thread);
        let locks = locks.iter().flat_map(|lock| [lock.thread, lock.waker]);
        on_path.chain(asleep).chain(locks).collect()
    }

    /// Adds the stacks of [`threads_on_path`](Self::threads_on_path), or why there
    /// are none.
    pub fn add_stacks(&mut self, stacks: Support<Stacks>) {
        self.stacks = Some(stacks);
    }

    /// The function of the work item that a thread of the kernel was on.
    pub(crate) fn work_function(&self, thread: ThreadId, at: Timestamp) -> Option<&str> {
        self.functions.get(&self.work(thread, at)?.function).map(String::as_str)
    }

    fn work(&self, thread: ThreadId, at: Timestamp) -> Option<&WorkItem> {
        self.history.work_begun(thread, Timestamp::default(), at)
    }

    /// Its time by cause.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// The critical path of its thread.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
