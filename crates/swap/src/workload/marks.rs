//! Launches of apps from the marks of a trace, and the steps that are part of them.

use std::collections::HashMap;

use unjank_cachesim::workload::{App, Launch, Process, Span};
use unjank_host::Nanos;

use crate::launches::{Launches, called, is_of_command};
use crate::trace::{Event, Names, ProcessIndex};

/// The launches that count, and their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launching {
    /// How long a launch lasts.
    pub lasts: Nanos,
    /// In a trace of a recorded command: whether launches of all other programs count, too.
    pub all: bool,
}

impl Launching {
    /// Launches of the recorded command, or all without one; each lasts for this time.
    pub fn lasting(lasts: Nanos) -> Self {
        Self { lasts, all: false }
    }
}

/// Launches so far. A launch lasts for a given time, or until the same program is launched again;
/// if steps cannot be assigned by process, until the next launch.
#[derive(Debug, Clone)]
pub(super) struct Marks {
    launching: Launching,
    launches: Launches,
    all: Vec<Mark>,
    /// Steps of the launched processes.
    own: Vec<Span>,
    /// Steps of all processes.
    any: Vec<Span>,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    process: Process,
    at: Nanos,
    /// The number of steps before the mark.
    place: usize,
    of_command: bool,
}

impl Marks {
    pub(super) fn new(launching: Launching) -> Self {
        let (all, own, any) = (Vec::new(), Vec::new(), Vec::new());
        Self { launching, launches: Launches::default(), all, own, any }
    }

    /// Takes the mark of a launch after `place` steps.
    pub(super) fn begin(&mut self, event: &Event, names: &Names, place: usize) {
        self.launches.begin(event.who, names);
        let of_command = is_of_command(names, event.who);
        self.all.push(Mark { process: event.who.0, at: event.at, place, of_command });
    }

    /// Takes the end of a process.
    pub(super) fn exit(&mut self, event: &Event, names: &Names) {
        self.launches.exit(event.who, names);
    }

    /// Takes the step at `place`.
    pub(super) fn step(&mut self, event: &Event, names: &Names, place: usize) {
        let Some(last) = self.all.len().checked_sub(1) else { return };
        let own = self.launches.of(event, names).map(|launch| launch as usize);
        for (launch, spans) in [(own, &mut self.own), (Some(last), &mut self.any)] {
            let Some(launch) = launch else { continue };
            let begin = self.all[launch].at;
            if event.at < Nanos(begin.0.saturating_add(self.launching.lasts.0)) {
                Span::extend(spans, launch, place);
            }
        }
    }

    /// The apps, grouped by name because an app that starts again is another process; their
    /// launches; and the steps that are part of these.
    pub(super) fn finish(self, names: &Names) -> (Vec<App>, Vec<Launch>, Vec<Span>) {
        let mut spans = if self.launches.are_assignable() { self.own } else { self.any };
        let has_command = !self.launching.all && self.all.iter().any(|mark| mark.of_command);
        let mut apps: Vec<App> = Vec::new();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        let mut rounds: Vec<usize> = Vec::new();
        let mut launches = Vec::new();
        // The index of each launch among those that count.
        let mut numbers = Vec::with_capacity(self.all.len());
        for mark in &self.all {
            if has_command && !mark.of_command {
                numbers.push(None);
                continue;
            }
            let name = called(names, ProcessIndex(mark.process));
            let app = *by_name.entry(name).or_insert_with_key(|name| {
                apps.push(App { name: name.clone(), processes: Vec::new() });
                rounds.push(0);
                apps.len() - 1
            });
            numbers.push(Some(launches.len()));
            launches.push(Launch { app, round: rounds[app], place: mark.place });
            rounds[app] += 1;
        }
        for process in 0..names.processes().len() as Process {
            if let Some(app) = by_name.get(&called(names, ProcessIndex(process))) {
                apps[*app].processes.push(process);
            }
        }
        spans.retain_mut(|span| {
            let number = numbers[span.launch];
            span.launch = number.unwrap_or_default();
            number.is_some()
        });
        (apps, launches, spans)
    }
}
