//! Tables of the launches and of the late frames of Android apps in a recording, each with its
//! largest cause and its best change.

use unjank_host::Timestamp;
use unjank_host::input::{Stop, Stopped};
use unjank_host::tracefs::seconds;
use unjank_measure::Unit;
use unjank_measure::number::counted;
use unjank_measure::record::{Cell as TableCell, Column, Table};
use unjank_units::Nanos;

use super::about::{About, Remedy, doing};
use super::explained::{Explained, Subject};
use super::names::thread_name;
use super::split;
use super::what_if;
use crate::android::{AppLaunch, AppThread, FrameJudge, LateFrame};
use crate::path::Way;
use crate::split::Cell;

/// The most launches that are explained.
const LAUNCHES: usize = 50;
/// The most late frames that are explained, those that are late by most first.
const FRAMES: usize = 20;

/// The largest cause of a time, and the change that would save most of it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Gist {
    /// The largest part of the split, and its share.
    cause: Option<(Way, Cell, f64)>,
    /// The change, and the share that it saves; `None` below a percent.
    change: Option<(Remedy, f64)>,
}

/// The smallest share that a named change saves.
const SMALLEST: f64 = 0.01;

impl Gist {
    fn of(launch: &Explained, about: &About, stop: &Stop) -> Option<Self> {
        let share = |time: Nanos| time.get() as f64 / (launch.total().get() as f64).max(1.0);
        let cells = launch.split().cells.iter();
        let cause = cells.max_by_key(|(_, time)| **time);
        let cause = cause.map(|((way, cell), time)| (*way, *cell, share(*time)));
        let lengths = what_if::lengths(launch, about.handoff.as_ref(), stop)?;
        let savings = what_if::savings(&[(launch.total(), lengths)]);
        let single = savings.iter().filter(|saving| saving.remedy.is_candidate());
        let best = single.max_by(|a, b| a.share.total_cmp(&b.share));
        let change = best.filter(|best| best.share >= SMALLEST);
        Some(Self { cause, change: change.map(|best| (best.remedy, best.share)) })
    }

    /// `41 % own thread: waiting for a CPU`, and `first in the run queue: −24 %`.
    fn cells(&self) -> [TableCell; 2] {
        let cause = self.cause.map(|(way, cell, share)| {
            format!("{:.0} % {}: {}", 100.0 * share, split::name(way), doing(cell))
        });
        let change = self
            .change
            .map(|(remedy, share)| format!("{}: {}", remedy.name(), Unit::Change.show(-share)));
        [cause, change].map(|text| text.map_or(TableCell::Empty, TableCell::from))
    }
}

/// The columns for the cells of a gist.
fn gist_columns() -> [Column; 2] {
    [Column::text("largest cause"), Column::text("best change")]
}

/// Explains the launches, at most 50 of them. Returns the explanation of the one with the index `shown`, and a table of
/// all. `recorded` is any explanation of the recording.
///
/// # Errors
/// After a stop request.
pub fn app_launches(
    recorded: Explained,
    launches: &[AppLaunch],
    shown: usize,
    about: &About,
    stop: &Stop,
) -> Result<(Explained, Table), Stopped> {
    let columns = [
        Column::text("number"),
        Column::text("app"),
        Column::text("start"),
        Column::of("by Android", Unit::Nanoseconds),
        Column::of("first frame", Unit::Nanoseconds),
        Column::of("fully drawn", Unit::Nanoseconds),
    ];
    let columns = columns.into_iter().chain(gist_columns());
    let mut table = Table::new("why/app_launches", "Launches in the recording", columns);
    let mut recorded = recorded;
    let time = |time: Option<Nanos>| {
        time.map_or(TableCell::Empty, |time| TableCell::number(time.get() as f64))
    };
    for (launch, number) in launches.iter().take(LAUNCHES).zip(1..) {
        let mut row = vec![
            TableCell::from(i32::to_string(&number)),
            launch.package.as_str().into(),
            launch.kind.map_or(TableCell::Empty, |kind| kind.to_string().into()),
            time(Some(launch.to.since(launch.from))),
            time(launch.initial_display),
            time(launch.full_display),
        ];
        if let Some(app) = launch.app {
            recorded = recorded.again(Subject::Launch, app, launch.from, stop)?;
            row.extend(Gist::of(&recorded, about, stop).ok_or(Stopped)?.cells());
        }
        table.push(row);
    }
    if launches.len() > LAUNCHES {
        table = table.with_note(format!("the recording has {} launches", launches.len()));
    }
    if launches.len() > 1 {
        table = table.with_note(format!(
            "launch {} is explained below; choose another with --app-launch",
            shown + 1
        ));
    }
    if launches.iter().any(|launch| launch.app.is_none()) {
        table = table.with_note(
            "of an app whose process is not in the recording, only Android's times are known",
        );
    }
    if let Some(launch) = launches.get(shown)
        && let Some(app) = launch.app
    {
        recorded = recorded.again(Subject::Launch, app, launch.from, stop)?;
    }
    Ok((recorded, table))
}

/// Explains the frames that are late by most. Returns the explanation of the one with the index `shown`, and a
/// table of them.
///
/// # Errors
/// After a stop request.
pub fn app_frames(
    recorded: Explained,
    (frames, judge): (&[LateFrame], FrameJudge),
    shown: usize,
    about: &About,
    stop: &Stop,
) -> Result<(Explained, Table), Stopped> {
    let columns = [
        Column::text("frame"),
        Column::text("app"),
        Column::of("length", Unit::Nanoseconds),
        Column::of("late by", Unit::Nanoseconds),
    ];
    let reason = matches!(judge, FrameJudge::Android(_)).then(|| Column::text("Android's reason"));
    let columns = columns.into_iter().chain(gist_columns()).chain(reason);
    let mut table = Table::new("why/app_frames", "Late frames", columns);
    let mut recorded = recorded;
    for frame in frames.iter().take(FRAMES) {
        recorded = recorded.again(Subject::Window, frame.app, frame.from, stop)?;
        let mut row = vec![
            frame.number.to_string().into(),
            thread_name(recorded.history(), frame.app.first).into(),
            TableCell::number(frame.app.to.since(frame.from).get() as f64),
            TableCell::number(frame.late.get() as f64),
        ];
        row.extend(Gist::of(&recorded, about, stop).ok_or(Stopped)?.cells());
        row.push(frame.reason.as_str().into());
        table.push(row);
    }
    let late = frames.len();
    table = table.with_note(match judge {
        FrameJudge::Android(all) => {
            format!("{late} of {} were late, by Android's FrameTimeline", frames_of(all))
        }
        FrameJudge::Distance(usual, all) => format!(
            "{late} of {} took longer than {usual}, the usual distance of frames; the recording \
             does not have their deadlines (data source android.surfaceflinger.frametimeline)",
            frames_of(all)
        ),
    });
    if let Some(frame) = frames.get(shown) {
        recorded = recorded.again(Subject::Window, frame.app, frame.from, stop)?;
        table = table.with_note(format!(
            "frame {} is explained below; choose another with --app-frame",
            frame.number
        ));
    }
    Ok((recorded, table))
}

/// A slice, and the thread that it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSlice {
    /// Its name.
    pub name: String,
    /// Its beginning.
    pub from: Timestamp,
    /// Its thread, and its end.
    pub app: AppThread,
}

/// Explains the longest slices. `slices` begins with the longest, whose explanation is returned with
/// a table of the others.
///
/// # Errors
/// After a stop request.
pub fn named_slices(
    recorded: Explained,
    slices: &[NamedSlice],
    about: &About,
    stop: &Stop,
) -> Result<(Explained, Table), Stopped> {
    let columns = [
        Column::text("slice"),
        Column::text("thread"),
        Column::text("from"),
        Column::of("length", Unit::Nanoseconds),
    ];
    let columns = columns.into_iter().chain(gist_columns());
    let mut table = Table::new("why/slices", "The longest slices of this name", columns);
    let mut recorded = recorded;
    for slice in slices.iter().take(FRAMES) {
        recorded = recorded.again(Subject::Window, slice.app, slice.from, stop)?;
        let mut row = vec![
            slice.name.as_str().into(),
            thread_name(recorded.history(), slice.app.thread).into(),
            seconds(slice.from).into(),
            TableCell::number(slice.app.to.since(slice.from).get() as f64),
        ];
        row.extend(Gist::of(&recorded, about, stop).ok_or(Stopped)?.cells());
        table.push(row);
    }
    if slices.len() > 1 {
        let all = slices.len();
        table = table.with_note(format!(
            "{all} slices have such a name; the longest one is explained below"
        ));
    }
    if let Some(slice) = slices.first() {
        recorded = recorded.again(Subject::Window, slice.app, slice.from, stop)?;
    }
    Ok((recorded, table))
}

fn frames_of(all: usize) -> String {
    counted(all, "frame", "frames")
}

impl Explained {
    /// Another time of the same recording.
    ///
    /// # Errors
    /// After a stop request.
    pub fn again(
        self,
        subject: Subject,
        AppThread { first, thread, to }: AppThread,
        from: Timestamp,
        stop: &Stop,
    ) -> Result<Self, Stopped> {
        let (trace, history, clocks) = self.into_recording();
        let threads = (first, thread);
        let explained = Self::of(subject, trace, history, threads, (from, to), clocks, stop);
        if stop.is_requested() { Err(Stopped) } else { Ok(explained) }
    }
}
