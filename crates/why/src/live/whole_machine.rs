//! Records what all threads of a machine do, straight into a trace of Perfetto. The kernel's buffers
//! are emptied forty times a second, so that the recording needs the memory of these buffers alone,
//! however long it takes.

use std::io::Write;
use std::path::PathBuf;

use unjank_host::process::listing;
use unjank_host::sched::ThreadId;
use unjank_host::swap_area::Area;
use unjank_host::threads::of_kernel;
use unjank_host::tracefs::trace_file::Annex;
use unjank_host::tracefs::{Instance, InstanceOptions, Lost, Tracefs, buffer_per_cpu, online_cpus};
use unjank_host::{Bytes, Error, Nanos, Result, Root, Timestamp, kernel_symbols};

use super::machine::{State, StateReader};
use crate::export::{MachineTrace, MachineTraceEnd};
use crate::record::{BUFFER, MACHINE_EVENTS, MACHINE_FILTERS, PERIOD, PROGRAM_EVENTS};
use crate::report::Clocks;

/// The smallest buffer of a CPU.
const SMALLEST: Bytes = Bytes::from_kib(256);
/// The end of a system call, without which Perfetto draws none.
const CALL_ENDS: &str = "raw_syscalls/sys_exit";

/// What is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeMachineOptions {
    /// The memory of the kernel's buffers of all CPUs; `None` for 16 MiB each, or less on machines
    /// with many CPUs.
    pub buffers: Option<Bytes>,
    /// Whether system calls, page faults and armed timers of all threads are recorded, too.
    pub calls: bool,
}

/// A recording in progress. Dropping it removes its trace instance.
#[derive(Debug)]
pub struct WholeMachine<W> {
    root: Root,
    instance: Instance,
    trace: MachineTrace<W>,
    /// The name of the trace, for errors.
    path: PathBuf,
    began: Timestamp,
    /// When the recording ended.
    ended: Option<Timestamp>,
    clocks: Clocks,
    swap: Vec<Area>,
    /// Kernel threads before the recording began. Some may end during it.
    kernel_threads: Vec<u32>,
}

/// What is written so far.
#[derive(Debug, Clone, Copy)]
pub struct WholeMachineProgress {
    /// The number of events.
    pub events: u64,
    /// The size of the trace.
    pub size: Bytes,
    /// How long it has recorded.
    pub length: Nanos,
}

/// What was recorded.
#[derive(Debug)]
pub struct WholeMachineRecorded<W> {
    /// What the trace was written to. It is not flushed.
    pub out: W,
    /// The number of events.
    pub events: u64,
    /// The size of the trace.
    pub size: Bytes,
    /// The events that the kernel lost.
    pub lost: Lost,
    /// How long it took.
    pub length: Nanos,
}

impl<W: Write> WholeMachine<W> {
    /// The time after which the buffers should be emptied again.
    pub const PERIOD: Nanos = PERIOD;

    /// Starts recording to `out`, which errors call `path`.
    ///
    /// # Errors
    /// A trace instance cannot be created; a failed write.
    pub fn start(
        tracefs: &Tracefs,
        root: &Root,
        options: WholeMachineOptions,
        out: W,
        path: PathBuf,
    ) -> Result<Self> {
        tracefs.remove_leftovers()?;
        let calls = || PROGRAM_EVENTS.iter().chain([&CALL_ENDS]).filter(|_| options.calls);
        // Those of the recorder itself say nothing.
        let others = format!("common_pid != {}", ThreadId::current().0);
        let owned = |(event, filter): (&str, &str)| (event.to_owned(), filter.to_owned());
        let filters = calls().map(|&event| (event, others.as_str()));
        let instance = tracefs.instance(&InstanceOptions {
            buffer: buffer_of_cpu(root, options.buffers),
            events: MACHINE_EVENTS.iter().chain(calls()).map(|&event| event.to_owned()).collect(),
            filters: MACHINE_FILTERS.into_iter().chain(filters).map(owned).collect(),
            ..InstanceOptions::default()
        })?;
        // Opens the buffers.
        instance.take_parts(|_| Ok(()))?;
        let state = StateReader::new(root);
        // What begins after this listing is in the recording.
        instance.start()?;
        let began = Timestamp::now();
        let processes = listing::all(root);
        let kernel_threads = of_kernel(root).iter().map(|thread| thread.0).collect();
        // After the start: the recording has every later change of a clock.
        let State { clocks, swap, .. } = state.read();
        let trace = MachineTrace::begin(out, began, &processes, &clocks.at_start)
            .map_err(|why| Error::file("write", &path, why))?;
        let root = root.clone();
        let ended = None;
        Ok(Self { root, instance, trace, path, began, ended, clocks, swap, kernel_threads })
    }

    /// Writes what is in the buffers. After each part, and at the end, `goes_on` decides whether the
    /// recording goes on: on a busy machine, the kernel may fill the buffers as fast as they are
    /// emptied. Returns whether it does.
    ///
    /// # Errors
    /// A page of a buffer that cannot be decoded; a failed write.
    pub fn write(&mut self, mut goes_on: impl FnMut(WholeMachineProgress) -> bool) -> Result<bool> {
        let Self { instance, trace, path, began, ended, .. } = self;
        let mut decide = |trace: &MachineTrace<W>| {
            let length = Timestamp::now().since(*began);
            let size = Bytes(trace.bytes());
            if ended.is_none()
                && !goes_on(WholeMachineProgress { events: trace.events(), size, length })
            {
                *ended = Some(Timestamp::now());
                instance.stop()?;
            }
            Ok(())
        };
        instance.take_parts(|part| {
            trace.add(part).map_err(|why| Error::file("write", &*path, why))?;
            decide(trace)
        })?;
        decide(trace)?;
        Ok(self.ended.is_none())
    }

    /// How long it has recorded.
    pub fn length(&self) -> Nanos {
        self.ended.unwrap_or_else(Timestamp::now).since(self.began)
    }

    /// Stops, and writes the rest.
    ///
    /// # Errors
    /// As [`write`](Self::write); a file of the trace instance cannot be read.
    pub fn finish(mut self) -> Result<WholeMachineRecorded<W>> {
        let at = self.ended.unwrap_or_else(Timestamp::now);
        self.instance.stop()?;
        self.write(|_| true)?;
        let Self { root, instance, trace, path, began, clocks, swap, mut kernel_threads, .. } =
            self;
        let lost = instance.lost()?;
        instance.remove()?;
        kernel_threads.extend(of_kernel(&root).iter().map(|thread| thread.0));
        let functions = kernel_symbols::names_of(&root, trace.functions()).unwrap_or_default();
        let annex = Annex {
            highest_khz: clocks.highest,
            start_khz: clocks.at_start,
            kernel_threads: kernel_threads.into_iter().collect(),
            functions,
            swap,
            ..Annex::default()
        };
        let events = trace.events();
        let end = MachineTraceEnd { at, processes: listing::all(&root), lost, annex };
        let (out, bytes) = trace.finish(end).map_err(|why| Error::file("write", &path, why))?;
        Ok(WholeMachineRecorded { out, events, size: Bytes(bytes), lost, length: at.since(began) })
    }
}

/// The buffer of each CPU.
fn buffer_of_cpu(root: &Root, of_all: Option<Bytes>) -> Bytes {
    let Some(of_all) = of_all else { return buffer_per_cpu(root, BUFFER) };
    Bytes((of_all.get() / online_cpus(root)).max(SMALLEST.get()))
}
