//! Launches of apps. Android marks them in three ways:
//!
//! - from Android 13 on, `launchingActivity#N`, and then `launchingActivity#N:completed-cold:PACKAGE`;
//! - from Android 10 on, `launching: PACKAGE`, after `MetricsLogger:launchObserverNotifyIntentStarted`;
//! - before, `launching: PACKAGE` alone.
//!
//! The rules are those of Perfetto's library (`android/startup/*.sql`).

use std::collections::BTreeMap;
use std::fmt;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Comm, Slice};
use unjank_units::Nanos;

use super::drawing::Drawings;
use super::{AppThread, AppTrace, apps, beginning_in};

/// A launch of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppLaunch {
    /// The package: `com.android.settings`.
    pub package: String,
    /// How much of the app was there before; `None` if the recording does not show it.
    pub kind: Option<StartKind>,
    /// When Android got the request.
    pub from: Timestamp,
    /// When Android noted that the window was drawn.
    pub to: Timestamp,
    /// From the request to the end of the first frame.
    pub initial_display: Option<Nanos>,
    /// From the request to the end of the first frame after `reportFullyDrawn()`.
    pub full_display: Option<Nanos>,
    /// The explained thread, and the end of the explained time: the first frame, or else Android's
    /// own end. `None` if the app's process is not in the recording.
    pub app: Option<AppThread>,
}

/// How much of an app was there before its launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StartKind {
    /// Nothing: its process was started.
    Cold,
    /// Its process, but not the activity.
    Warm,
    /// The activity, which only came to the front.
    Hot,
}

impl fmt::Display for StartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Hot => "hot",
        })
    }
}

/// The marks of a launch.
struct Marked<'a> {
    package: &'a str,
    kind: Option<StartKind>,
    from: Timestamp,
    to: Timestamp,
}

/// The most launches that are looked at. An hour of a phone has fewer.
const MOST: usize = 500;

/// The launches in a recording, in order, at most 500. `name` is the name of a process's first
/// thread.
pub fn launches(trace: &AppTrace<'_>, name: impl Fn(u32) -> Option<Comm>) -> Vec<AppLaunch> {
    let mut marked = numbered(trace.slices);
    if marked.is_empty() {
        marked = named(trace.slices);
    }
    marked.sort_by_key(|launch| launch.from);
    marked.truncate(MOST);
    let drawings = Drawings::of(trace.slices);
    let is_report = |slice: &&Slice| slice.name.starts_with("reportFullyDrawn");
    let reports: Vec<&Slice> = trace.slices.iter().filter(is_report).collect();
    marked.iter().map(|launch| describe(launch, trace, (&drawings, &reports), &name)).collect()
}

const NUMBERED: &str = "launchingActivity#";
const COMPLETED: &str = "completed";

/// Launches of Android 13 and later.
fn numbered(slices: &[Slice]) -> Vec<Marked<'_>> {
    // The package and the kind by number; the first mark counts.
    let mut completed: BTreeMap<&str, (&str, Option<StartKind>)> = BTreeMap::new();
    for slice in slices {
        let Some(rest) = slice.name.strip_prefix(NUMBERED) else { continue };
        let Some((number, rest)) = rest.split_once(':') else { continue };
        let Some((how, package)) = rest.split_once(':') else { continue };
        let kind = match how {
            "completed-cold" => Some(StartKind::Cold),
            "completed-warm" => Some(StartKind::Warm),
            "completed-hot" => Some(StartKind::Hot),
            // An activity of the same app.
            "completed-same-process" => continue,
            _ => None,
        };
        if how.starts_with(COMPLETED) {
            completed.entry(number).or_insert((package, kind));
        }
    }
    let launches = slices.iter().filter_map(|slice| {
        let number = slice.name.strip_prefix(NUMBERED).filter(|rest| !rest.contains(':'))?;
        let &(package, kind) = completed.get(number)?;
        let to = slice.to.filter(|to| *to > slice.from)?;
        Some(Marked { package, kind, from: slice.from, to })
    });
    launches.collect()
}

/// Launches before Android 13.
fn named(slices: &[Slice]) -> Vec<Marked<'_>> {
    const INTENT: &str = "MetricsLogger:launchObserverNotifyIntentStarted";
    let mut launches: Vec<Marked<'_>> = Vec::new();
    let mut intent = None;
    for slice in slices {
        if &*slice.name == INTENT {
            intent = Some(slice.from);
        }
        let Some(package) = slice.name.strip_prefix("launching: ") else { continue };
        let Some(to) = slice.to.filter(|to| *to > slice.from) else { continue };
        let after = launches.last().map_or(Timestamp::default(), |launch| launch.to);
        let from = intent.take().filter(|intent| *intent >= after).unwrap_or(slice.from);
        launches.push(Marked { package, kind: None, from, to });
    }
    launches
}

fn describe(
    launch: &Marked<'_>,
    trace: &AppTrace<'_>,
    (drawings, reports): (&Drawings, &[&Slice]),
    name: impl Fn(u32) -> Option<Comm>,
) -> AppLaunch {
    let &Marked { package, kind, from, to } = launch;
    let AppTrace { slices, processes, .. } = *trace;
    let process = apps::process(package, slices, processes, name, (from, to));
    let frames = process.map_or(&[][..], |app| drawings.since(app, from));
    let first = frames.first();
    let full = process.and_then(|app| {
        let reported = reports
            .iter()
            .find(|slice| slice.from >= from && slice.thread == Some(ThreadId(app)))?;
        frames.iter().find(|frame| frame.done > reported.from)
    });
    let app = process.map(|app| {
        let first_thread = ThreadId(app);
        let (thread, to) = first.map_or((first_thread, to), |frame| (frame.thread, frame.to));
        AppThread { first: first_thread, thread, to }
    });
    AppLaunch {
        package: package.to_owned(),
        kind: kind.or_else(|| kind_by_slices(slices, process?, (from, to))),
        from,
        to,
        initial_display: first.map(|frame| frame.to.since(from)),
        full_display: full.map(|frame| frame.to.since(from)),
        app,
    }
}

/// The kind of a launch by what the app did in its time.
fn kind_by_slices(
    slices: &[Slice],
    process: u32,
    (from, to): (Timestamp, Timestamp),
) -> Option<StartKind> {
    let did = |name: &str| {
        let mut slices = beginning_in(slices, from, to).filter(|it| it.process == process);
        slices.any(|slice| &*slice.name == name)
    };
    match (did(apps::BINDS), did(apps::STARTS), did(apps::RESUMES)) {
        (true, true, true) => Some(StartKind::Cold),
        (_, true, true) => Some(StartKind::Warm),
        (_, _, true) => Some(StartKind::Hot),
        _ => None,
    }
}
