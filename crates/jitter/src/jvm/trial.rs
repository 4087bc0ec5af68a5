//! One run of a cell: its JVM, the scheduler trace, and the labels of late wake-ups.

use std::fs;
use std::path::Path;

use unjank_host::sched::{Policy, ThreadId, check_policy};
use unjank_host::tracefs::{Instance, InstanceOptions, Trace, Tracefs, buffer_per_cpu};
use unjank_host::{Bytes, Error, Nanos, Result, Root, Support};
use unjank_measure::Monitor;

use super::application::Application;
use super::cell::Cell;
use super::label::{DelayKind, label};
use super::options::Options;
use super::recording::Recording;
use super::rivals::Rivals;
use crate::explain::{Cause, LateWakeUp, cause_events, cause_of};

/// The largest file that is read: room for 100 million wake-ups and their events.
const LARGEST_FILE: u64 = 1 << 30;
/// Late wake-ups of a trial that are explained.
pub(crate) const EXPLAINED: usize = 64;
/// Trace buffer for each second and CPU: enough for a busy JVM.
const TRACED_PER_SECOND: Bytes = Bytes::from_mib(1);
/// The largest trace buffer; when it is full, the oldest events are overwritten.
const LARGEST_TRACE: Bytes = Bytes::from_mib(96);

/// The result of one run of a cell.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) recording: Recording,
    /// Its latest wake-ups, the latest first.
    pub(crate) worst: Vec<Late>,
    /// Why there was no trace.
    pub(crate) untraced: Option<String>,
}

/// A late wake-up.
#[derive(Debug)]
pub(crate) struct Late {
    /// Its period, from 0.
    pub(crate) period: usize,
    /// Its latency.
    pub(crate) by: Nanos,
    /// The main reason.
    pub(crate) kind: DelayKind,
    /// Label and cause in a sentence.
    pub(crate) story: String,
}

impl Trial {
    /// Runs a cell; `None` if interrupted.
    pub(crate) fn run(
        cell: &Cell,
        options: &Options,
        root: &Root,
        monitor: &dyn Monitor,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Option<Self>> {
        let load = &options.load;
        if !cell.collector.is_in(&cell.jdk)? {
            let why = format!("this build of JDK {} has no collector {}", cell.jdk, cell.collector);
            return Err(Error::Unsupported(why));
        }
        if cell.variant.is_realtime() {
            check_policy(root, Policy::Fifo(load.priorities.measuring), options.force)?;
        }
        let out = options.directory.join("run.ujj");
        let java = cell.java(load, &options.jar, &out);
        let Some(mut application) = Application::start(java, &cell.cpus, monitor)? else {
            return Ok(None);
        };
        application.raise(cell.variant, load.priorities, root)?;
        let thread = application.measuring_thread(root)?;
        let expected = load.length();
        let rivals = Rivals::start(load.rivals, &cell.cpus)?;
        let tracing = trace(options, expected, root)?;
        let mut progress =
            |passed: Nanos| progress(passed.get() as f64 / expected.get().max(1) as f64);
        let limits = [expected, options.patience];
        if !application.measure(limits, root, monitor, &mut progress)? {
            return Ok(None);
        }
        drop(rivals);
        let (trace, untraced) = match tracing {
            Support::Yes(instance) => (Some(finish(instance)?), None),
            Support::No(reason) => (None, Some(reason)),
        };
        application.end(monitor)?;
        let recording = read(&out)?;
        let worst = worst(&recording, thread, trace.as_ref());
        Ok(Some(Self { recording, worst, untraced }))
    }
}

fn trace(options: &Options, expected: Nanos, root: &Root) -> Result<Support<Instance>> {
    if !options.trace {
        return Ok(Support::No("--no-trace was given".to_owned()));
    }
    let tracefs = match Tracefs::open(root) {
        Support::Yes(tracefs) => tracefs,
        Support::No(reason) => return Ok(Support::No(reason)),
    };
    tracefs.remove_leftovers()?;
    let seconds = expected.get().div_ceil(Nanos::from_millis(1_000).get());
    let buffer = Bytes(TRACED_PER_SECOND.get().saturating_mul(seconds)).min(LARGEST_TRACE);
    let instance = tracefs.instance(&InstanceOptions {
        buffer: buffer_per_cpu(root, buffer),
        events: cause_events(),
        ..InstanceOptions::default()
    })?;
    instance.start()?;
    Ok(Support::Yes(instance))
}

fn finish(instance: Instance) -> Result<Trace> {
    instance.stop()?;
    let trace = instance.read_events()?;
    instance.remove()?;
    Ok(trace)
}

fn read(out: &Path) -> Result<Recording> {
    let length = fs::metadata(out).map_err(|error| Error::file("read", out, error))?.len();
    if length > LARGEST_FILE {
        return Err(Error::Invalid(format!("{} has {length} bytes", out.display())));
    }
    let bytes = fs::read(out).map_err(|error| Error::file("read", out, error))?;
    let _it_goes_with_the_directory = fs::remove_file(out);
    Recording::parse(&bytes, out)
}

fn worst(recording: &Recording, thread: Option<ThreadId>, trace: Option<&Trace>) -> Vec<Late> {
    let mut late: Vec<(usize, Nanos)> = recording
        .lateness
        .iter()
        .enumerate()
        .filter_map(|(period, lateness)| Some((period, (*lateness)?)))
        .collect();
    late.sort_by_key(|(_, lateness)| std::cmp::Reverse(*lateness));
    late.truncate(EXPLAINED);
    let explained = late.into_iter().map(|(period, by)| {
        let due = recording.due(period);
        let cause = trace.zip(thread).and_then(|(trace, thread)| {
            let timer_slack = Nanos::ZERO;
            cause_of(trace, &LateWakeUp { thread, due, ran: due + by, timer_slack }).yes()
        });
        let label = label(recording, period, by, cause.as_ref());
        let story = story(&label.to_string(), cause.as_ref());
        Late { period, by, kind: label.kind, story }
    });
    explained.collect()
}

fn story(label: &str, cause: Option<&Cause>) -> String {
    match cause {
        Some(cause) => format!("{label}: {cause}"),
        None => label.to_owned(),
    }
}
