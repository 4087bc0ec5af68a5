//! Times that a recording itself names: launches and frames of Android apps, and slices.

use unjank_host::input::{Stop, Stopped};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Trace;
use unjank_host::tracefs::trace_file::Recorded;
use unjank_measure::record::Table;
use unjank_why::android::{
    AppLaunch, AppThread, AppTrace, FrameJudge, LateFrame, late_frames, launches,
};
use unjank_why::history::History;
use unjank_why::report::{self, About, Clocks, Explained, NamedSlice};

use crate::commands::measured::Settings;

/// Times that a recording itself names.
#[derive(Debug, clap::Args)]
pub(super) struct NamedArgs {
    /// A launch of an Android app, by its number in the recording [default: the longest]
    #[arg(long = "app-launch", value_name = "N", requires = "kept", conflicts_with_all = ["command", "pid", "process", "since", "until", "thread"], help_heading = "Recordings")]
    launch: Option<usize>,
    /// A late frame of an Android app, by its number; 0 for the one that missed its deadline by most
    #[arg(long = "app-frame", value_name = "N", requires = "kept", conflicts_with_all = ["command", "pid", "process", "since", "until", "thread", "launch"], help_heading = "Recordings")]
    frame: Option<i64>,
    /// The longest slice whose name begins with this text
    #[arg(long = "app-slice", value_name = "TEXT", requires = "kept", conflicts_with_all = ["command", "pid", "process", "since", "until", "thread", "launch", "frame"], help_heading = "Recordings")]
    slice: Option<String>,
}

/// The chosen times, and which of them is shown.
pub(super) enum Named {
    Launches(Vec<AppLaunch>, usize),
    Frames(Vec<LateFrame>, FrameJudge, usize),
    Slices(Vec<NamedSlice>),
}

impl NamedArgs {
    /// Whether a time is chosen.
    pub(super) fn is_given(&self) -> bool {
        self.launch.is_some() || self.frame.is_some() || self.slice.is_some()
    }

    /// Adds the options to the settings of a run.
    pub(super) fn add_to(&self, settings: Settings) -> Settings {
        let Self { launch, frame, slice } = self;
        settings.with("launch", *launch).with("frame", *frame).with("slice", slice.clone())
    }

    /// The times that are explained; `None` if the user names a process or a window instead, or if
    /// the recording names no time.
    ///
    /// # Errors
    /// What the recording does not have.
    pub(super) fn choose(
        &self,
        recorded: &Recorded,
        history: &History,
        names_time: bool,
    ) -> Result<Option<Named>, String> {
        if let Some(text) = &self.slice {
            return slices(text, recorded, history).map(Some);
        }
        let Recorded { slices, frames, processes, .. } = recorded;
        let apps = AppTrace { slices, frames, processes };
        if let Some(number) = self.frame {
            return frames_of(&apps, number).map(Some);
        }
        if self.launch.is_none() && names_time {
            return Ok(None);
        }
        let launches = launches(&apps, |process| history.name(ThreadId(process)));
        if let Some(number) = self.launch {
            let shown = number.checked_sub(1).filter(|shown| *shown < launches.len());
            let shown = shown.ok_or_else(|| match launches.len() {
                0 => "it has no launch of an Android app".to_owned(),
                last => format!("it has launches 1 to {last}, but no launch {number}"),
            })?;
            if launches.get(shown).is_some_and(|launch| launch.app.is_none()) {
                return Err(format!("it does not have the process of launch {number}"));
            }
            return Ok(Some(Named::Launches(launches, shown)));
        }
        let known = launches.iter().enumerate().filter(|(_, launch)| launch.app.is_some());
        let longest = known.max_by_key(|(_, launch)| launch.to.since(launch.from));
        if let Some((shown, _)) = longest {
            return Ok(Some(Named::Launches(launches, shown)));
        }
        let late = late_frames(&apps).filter(|(frames, _)| !frames.is_empty());
        Ok(late.map(|(frames, judge)| Named::Frames(frames, judge, 0)))
    }
}

fn frames_of(apps: &AppTrace<'_>, number: i64) -> Result<Named, String> {
    let frames = late_frames(apps).filter(|(frames, _)| !frames.is_empty());
    let (frames, judge) = frames.ok_or("it has no late frame of an Android app")?;
    let shown = match number {
        0 => Some(0),
        number => frames.iter().position(|frame| frame.number == number),
    };
    let shown = shown.ok_or_else(|| {
        let listed: Vec<String> =
            frames.iter().take(10).map(|frame| frame.number.to_string()).collect();
        format!("frame {number} is not late; those that are late by most are {}", listed.join(", "))
    })?;
    Ok(Named::Frames(frames, judge, shown))
}

fn slices(text: &str, recorded: &Recorded, history: &History) -> Result<Named, String> {
    let named = recorded.slices.iter().filter(|slice| slice.name.starts_with(text));
    let named = named.filter_map(|slice| {
        let thread = slice.thread.unwrap_or(ThreadId(slice.process));
        let first = history.first_of_process(thread, slice.from);
        let to = slice.to.filter(|to| *to > slice.from)?;
        let app = AppThread { first, thread, to };
        Some(NamedSlice { name: slice.name.to_string(), from: slice.from, app })
    });
    let mut named: Vec<NamedSlice> = named.collect();
    named.sort_by_key(|slice| (std::cmp::Reverse(slice.app.to.since(slice.from)), slice.from));
    if named.is_empty() {
        return Err(format!("it has no slice whose name begins with {text:?}"));
    }
    Ok(Named::Slices(named))
}

impl Named {
    /// Explains all of them. Returns the one that is shown, a table of all, and what to call it.
    ///
    /// # Errors
    /// After a stop request.
    pub(super) fn explain(
        self,
        trace: Trace,
        history: History,
        clocks: Clocks,
        about: &About,
        stop: &Stop,
    ) -> Result<(Explained, Vec<Table>, About), Stopped> {
        let first = match &self {
            Self::Launches(launches, shown) => {
                launches.get(*shown).and_then(|it| Some((it.app?, it.from)))
            }
            Self::Frames(frames, _, shown) => frames.get(*shown).map(|it| (it.app, it.from)),
            Self::Slices(slices) => slices.first().map(|it| (it.app, it.from)),
        };
        let (app, from) = first.ok_or(Stopped)?;
        let (threads, window) = ((app.first, app.thread), (from, app.to));
        let recorded = Explained::of_program(trace, history, threads, window, clocks, stop);
        let recorded = recorded.map_err(|_| Stopped)?;
        let mut about = about.clone();
        let (explained, table) = match &self {
            Self::Launches(launches, shown) => {
                about.package = launches.get(*shown).map(|launch| launch.package.clone());
                report::app_launches(recorded, launches, *shown, &about, stop)?
            }
            Self::Frames(frames, judge, shown) => {
                report::app_frames(recorded, (frames, *judge), *shown, &about, stop)?
            }
            Self::Slices(slices) => report::named_slices(recorded, slices, &about, stop)?,
        };
        Ok((explained, vec![table], about))
    }
}
