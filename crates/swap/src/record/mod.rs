//! `unjank swap record`: records the page-ins and page-outs of this machine as a trace.
//!
//! | module | subject |
//! |---|---|
//! | `options` | options of a recording |
//! | `find` | swap areas and devices to record |
//! | `command` | the recorded command |
//! | `swap_areas` | swap areas that are added during the recording |
//! | `reorder` | merges the events of all CPUs in the order of time |
//! | `converter`, `counts` | converts kernel events to page events, and counts them |
//! | `tasks`, `launches` | the process of a thread; launches of programs |
//! | `output` | the trace file |
//! | `counters`, `report` | the kernel's counters; facts and warnings at the end |

mod command;
mod converter;
mod counters;
mod counts;
mod find;
mod launches;
mod options;
mod output;
mod reorder;
mod report;
mod swap_areas;
mod tasks;

pub use options::Options;

use unjank_host::journal::{Session, SwapArea};
use unjank_host::memory::page_size;
use unjank_host::swap_area::Area;
use unjank_host::tracefs::{Instance, InstanceOptions, Lost, Tracefs, buffer_per_cpu};
use unjank_host::{Error, Nanos, Result, Root, Support, Timestamp, process::pid, temporary_swap};
use unjank_measure::{Findings, Monitor};

use crate::trace::{Event, LimitReached};

use command::Program;
use converter::Converter;
use counters::Baseline;
use find::RecordedAreas;
use output::Output;
use reorder::{ReorderBuffer, Traced};
use report::Recorded;
use swap_areas::SwapAreas;
use tasks::Tasks;

/// Requests of threads, and starts and ends of tasks.
const EVENTS: [&str; 4] = [
    "block/block_bio_queue",
    "task/task_newtask",
    "sched/sched_process_exec",
    "sched/sched_process_exit",
];
/// Events of the page cache.
const FILES: [&str; 2] =
    ["filemap/mm_filemap_add_to_page_cache", "filemap/mm_filemap_delete_from_page_cache"];
/// The interval at which the buffers are emptied: a hundredth of the time in which the busiest
/// device fills them.
const ROUND: Nanos = Nanos::from_millis(20);

/// Records until the program or the time ends, and writes the trace.
///
/// # Errors
/// `Invalid` options; an unknown device; failed system calls; a file that cannot be written.
pub fn run(
    options: &Options,
    root: &Root,
    session: Option<&Session>,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    options.check()?;
    let mut findings = Findings::default();
    let Some(tracefs) = findings.require("swap/record", Tracefs::open(root)) else {
        return Ok(findings);
    };
    let swap = match (options.swap, session) {
        (Some(size), Some(session)) => {
            let made = temporary_swap::make(session, &options.directory, size)?;
            let Some(area) = findings.require("swap/record", made) else { return Ok(findings) };
            Some(area)
        }
        _ => None,
    };
    let swap_areas = SwapAreas::look(root, swap.as_ref().map(SwapArea::path))?;
    let RecordedAreas { areas, left_out } = find::areas(root, &options.devices)?;
    for reason in left_out {
        findings.warn(reason);
    }
    if areas.is_empty() && !options.files {
        findings.not_supported(
            "swap/record",
            "there is no swap to record: make some with --swap-size SIZE for the time of the \
             recording, or with swapon(8); --block-device and --files record other paging",
        );
        return Ok(findings);
    }
    let output = Output::create(&options.output, options.force)?;
    let mut program = match Program::prepare(options, root, session)? {
        Support::Yes(program) => program,
        Support::No(reason) => {
            findings.not_supported("swap/record", reason);
            return Ok(findings);
        }
    };
    tracefs.remove_leftovers()?;
    let instance = tracefs.instance(&InstanceOptions {
        buffer: buffer_per_cpu(root, options.buffer),
        events: events(options),
        filters: vec![(EVENTS[0].to_owned(), filter(areas.iter()))],
        ..InstanceOptions::default()
    })?;
    for note in instance.notes() {
        if note.what == EVENTS[0] {
            findings.not_supported("swap/record", format!("{}: {}", note.what, note.reason));
            return Ok(findings);
        }
        findings.warn(format!("{}: {}", note.what, note.reason));
    }
    if find::holds(root, &options.output, &areas)? {
        findings.warn("the trace is written to a recorded device, so its own writes are in it");
    }
    let leads = |process| pid::leads_group(process).unwrap_or(false);
    let own = std::process::id();
    let converter = Converter::new(areas, Tasks::new(root), page_size().get(), own, leads);
    let mut recording = Recording {
        instance,
        reorder: ReorderBuffer::default(),
        converter: converter.map_err(too_large)?,
        swap_areas,
        output,
        events: Vec::new(),
        written: 0,
    };
    recording.instance.start()?;
    let baseline = Baseline::read(root)?;
    let started = Timestamp::now();
    program.start()?;
    if let Some(process) = program.process() {
        recording.converter.is_command(process, program.has_own_group());
    }
    let cut_short = watch(&mut recording, &mut program, options, started, monitor)?;
    let length = Timestamp::now().since(started);
    let ended = program.end()?;
    let growth = baseline.growth(root)?;
    recording.instance.stop()?;
    for note in recording.swap_areas.notes() {
        findings.warn(note);
    }
    let (converter, output, written, lost) = recording.finish()?;
    let bytes = output.finish(&converter.names)?;
    let recorded =
        Recorded { converter: &converter, written, bytes, lost, length, growth, ended, cut_short };
    recorded.note(&mut findings);
    Ok(findings)
}

/// Empties the buffers until the recording ends. Returns whether it was interrupted.
fn watch(
    recording: &mut Recording,
    program: &mut Program,
    options: &Options,
    started: Timestamp,
    monitor: &dyn Monitor,
) -> Result<bool> {
    loop {
        let now = Timestamp::now();
        recording.round()?;
        let passed = now.since(started);
        let done = options.duration.map_or(0.0, |all| passed.as_secs_f64() / all.as_secs_f64());
        let counts = &recording.converter.counts;
        let said = format!("{} page-ins, {} page-outs", counts.page_ins, counts.page_outs);
        monitor.progress(done.min(1.0), &said);
        if monitor.stop_requested() {
            return Ok(true);
        }
        if program.has_ended() || options.duration.is_some_and(|all| passed >= all) {
            return Ok(false);
        }
        (now + ROUND).sleep_until();
    }
}

/// A recording in progress.
struct Recording {
    instance: Instance,
    reorder: ReorderBuffer,
    converter: Converter,
    swap_areas: SwapAreas,
    output: Output,
    /// Reused between rounds.
    events: Vec<Event>,
    written: u64,
}

impl Recording {
    /// Takes and writes the contents of the buffers.
    fn round(&mut self) -> Result<()> {
        self.take_new_swap()?;
        let now = Timestamp::now();
        let trace = self.instance.take_events()?;
        self.reorder.push(&trace);
        let settled = self.reorder.settled(now);
        self.write(&settled, now)
    }

    /// Adds swap areas that were turned on since the last check.
    fn take_new_swap(&mut self) -> Result<()> {
        let new = self.swap_areas.new_areas()?;
        if new.is_empty() {
            return Ok(());
        }
        for area in new {
            self.converter.add(area).map_err(too_large)?;
        }
        self.instance.filter(EVENTS[0], &filter(self.converter.areas()))
    }

    fn write(&mut self, traced: &[Traced], now: Timestamp) -> Result<()> {
        for (at, current, what) in traced {
            self.converter.take(*at, *current, what).map_err(too_large)?;
        }
        self.events.extend(self.converter.settled(now));
        self.written += self.events.len() as u64;
        self.output.write(&self.events, &self.converter.names)?;
        self.events.clear();
        Ok(())
    }

    /// Writes the remaining events of the stopped instance and removes it.
    fn finish(mut self) -> Result<(Converter, Output, u64, Lost)> {
        self.round()?;
        let rest = std::mem::take(&mut self.reorder).rest();
        // No mark is held back any longer.
        self.write(&rest, Timestamp::from_nanos(u64::MAX))?;
        let Self { instance, converter, output, written, .. } = self;
        let lost = instance.lost()?;
        instance.remove()?;
        Ok((converter, output, written, lost))
    }
}

fn events(options: &Options) -> Vec<String> {
    let files = FILES.iter().filter(|_| options.files);
    EVENTS.iter().chain(files).map(|&event| event.to_owned()).collect()
}

/// A filter in the kernel for requests to these areas.
fn filter<'a>(areas: impl Iterator<Item = &'a Area>) -> String {
    let filters: Vec<String> = areas.map(Area::filter).collect();
    if filters.is_empty() { "sector < 0".to_owned() } else { filters.join(" || ") }
}

fn too_large(limit: LimitReached) -> Error {
    Error::Unsupported(format!("the trace is too large: {}", limit.0))
}
