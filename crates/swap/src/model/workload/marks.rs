//! Launches of apps, from the marks of a trace.

use std::collections::HashMap;

use unjank_host::Nanos;

use super::{App, Launch, Process};
use crate::trace::{Event, Names};

/// Launches so far. Each lasts until the next one, or for a given time.
#[derive(Debug, Clone)]
pub(in crate::model) struct Marks {
    launch_for: Nanos,
    launches: Vec<Mark>,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    process: Process,
    at: Nanos,
    begin: usize,
    end: Option<usize>,
}

impl Marks {
    pub(in crate::model) fn new(launch_for: Nanos) -> Self {
        Self { launch_for, launches: Vec::new() }
    }

    /// A launch, `place` steps from the beginning.
    pub(in crate::model) fn begin(&mut self, event: &Event, place: usize) {
        if let Some(Mark { end: end @ None, .. }) = self.launches.last_mut() {
            *end = Some(place);
        }
        let (process, at) = (event.who.0, event.at);
        self.launches.push(Mark { process, at, begin: place, end: None });
    }

    /// It is `now`, and there were `place` steps: the last launch may be over.
    pub(in crate::model) fn pass(&mut self, now: Nanos, place: usize) {
        if let Some(Mark { at, end: end @ None, .. }) = self.launches.last_mut()
            && now >= Nanos(at.0.saturating_add(self.launch_for.0))
        {
            *end = Some(place);
        }
    }

    /// Apps by name, since an app that starts anew is another process; and
    /// their launches.
    pub(in crate::model) fn finish(
        mut self,
        names: &Names,
        places: usize,
    ) -> (Vec<App>, Vec<Launch>) {
        self.pass(Nanos(u64::MAX), places);
        let mut apps: Vec<App> = Vec::new();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        for mark in &self.launches {
            by_name.entry(called(names, mark.process)).or_insert_with_key(|name| {
                apps.push(App { name: name.clone(), processes: Vec::new() });
                apps.len() - 1
            });
        }
        for process in 0..names.processes().len() as Process {
            if let Some(app) = by_name.get(&called(names, process)) {
                apps[*app].processes.push(process);
            }
        }
        let mut rounds = vec![0; apps.len()];
        let launches = self.launches.iter().map(|mark| {
            let app = by_name[&called(names, mark.process)];
            rounds[app] += 1;
            let (begin, round) = (mark.begin, rounds[app] - 1);
            Launch { app, round, begin, end: mark.end.unwrap_or(begin) }
        });
        let launches = launches.collect();
        (apps, launches)
    }
}

fn called(names: &Names, process: Process) -> String {
    let known = names.processes().get(process as usize);
    known.map_or_else(String::new, |known| match known.pid {
        Some(pid) if known.name.is_empty() => format!("process {pid}"),
        _ => known.name.clone(),
    })
}
