//! Assigns events to launches.
//!
//! In traces of `swap record`, a process has the number of its own launch, or of the launch that it
//! descends from. In other traces, a launch has the process of its mark, by number or name, and
//! every process in a control group that was first seen with that process. Kernel threads belong to
//! no launch.

use std::collections::HashMap;

use crate::trace::{Event, Names, Process, ProcessIndex};

/// The root control group, which all processes may share.
const ROOT_GROUP: &str = "/";

/// Assigns events to launches while the trace is read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Launches {
    /// The launch of each process, by the process's index, since the last launch or exit.
    known: Vec<CachedLaunch>,
    by_number: HashMap<(Option<u32>, u32), u32>,
    by_pid: HashMap<u32, u32>,
    by_name: HashMap<String, u32>,
    groups: HashMap<String, Group>,
    count: u32,
    marks: Identification,
    events: Identification,
}

/// The cached launch of a process.
#[derive(Debug, Clone, Copy, Default)]
enum CachedLaunch {
    #[default]
    NotAsked,
    Is(Option<u32>),
}

/// The owner of a control group.
#[derive(Debug, Clone)]
enum Group {
    /// An app, with its last launch.
    Own {
        app: String,
        launch: u32,
    },
    Shared,
}

/// How processes are identified.
#[derive(Debug, Clone, Copy, Default)]
struct Identification {
    by_launch: bool,
    by_pid: bool,
    by_name: bool,
}

impl Identification {
    fn note(&mut self, process: &Process) {
        self.by_launch |= process.launch.is_some();
        self.by_pid |= process.pid.is_some();
        self.by_name |= process.pid.is_none() && !process.name.is_empty();
    }
}

impl Launches {
    /// Takes the mark of a launch and returns the launch's number, counted from 0.
    pub(crate) fn begin(&mut self, who: ProcessIndex, names: &Names) -> u32 {
        let process = names.process(who);
        let launch = self.count;
        self.count += 1;
        self.known.clear();
        self.marks.note(process);
        if let Some(number) = process.launch {
            self.by_number.insert((process.command, number), launch);
            return launch;
        }
        match process.pid {
            Some(pid) => _ = self.by_pid.insert(pid, launch),
            None => _ = self.by_name.insert(process.name.clone(), launch),
        }
        if let Some(group) = own_group(process) {
            let app = called(names, who);
            let own = Group::Own { app: app.clone(), launch };
            match self.groups.get_mut(group) {
                None => _ = self.groups.insert(group.to_owned(), own),
                Some(Group::Own { app: of, .. }) if *of != app => {
                    self.groups.insert(group.to_owned(), Group::Shared);
                }
                Some(known @ Group::Own { .. }) => *known = own,
                Some(Group::Shared) => {}
            }
        }
        launch
    }

    /// Takes the end of a process: its number may be reused.
    pub(crate) fn exit(&mut self, who: ProcessIndex, names: &Names) {
        if let Some(pid) = names.process(who).pid
            && self.by_pid.remove(&pid).is_some()
        {
            self.known.clear();
        }
    }

    /// The launch that an event is part of, if any.
    pub(crate) fn of(&mut self, event: &Event, names: &Names) -> Option<u32> {
        if event.who == ProcessIndex::UNKNOWN || !event.operation.is_of_page() {
            return None;
        }
        let index = event.who.0 as usize;
        if let Some(CachedLaunch::Is(launch)) = self.known.get(index) {
            return *launch;
        }
        let process = names.process(event.who);
        self.events.note(process);
        let launch = self.look(process);
        if index >= self.known.len() {
            self.known.resize(index + 1, CachedLaunch::NotAsked);
        }
        self.known[index] = CachedLaunch::Is(launch);
        launch
    }

    fn look(&mut self, process: &Process) -> Option<u32> {
        if let Some(number) = process.launch {
            return self.by_number.get(&(process.command, number)).copied();
        }
        if self.marks.by_launch {
            return None;
        }
        if let Some(group) = own_group(process) {
            match self.groups.get(group) {
                None => _ = self.groups.insert(group.to_owned(), Group::Shared),
                Some(Group::Own { launch, .. }) => return Some(*launch),
                Some(Group::Shared) => {}
            }
        }
        match process.pid {
            Some(pid) => self.by_pid.get(&pid).copied(),
            None => self.by_name.get(&process.name).copied(),
        }
    }

    /// Whether marks and events identify processes in the same way, so that [`Self::of`] can assign
    /// events. Otherwise only the time says what may be part of a launch.
    pub(crate) fn are_assignable(&self) -> bool {
        self.count == 0
            || self.marks.by_launch
            || (self.marks.by_pid && self.events.by_pid)
            || (self.marks.by_name && self.events.by_name)
    }
}

/// The control group of a process, unless it is the root.
fn own_group(process: &Process) -> Option<&str> {
    process.cgroup.as_deref().filter(|group| *group != ROOT_GROUP)
}

/// The name of a process. An app that starts again is another process with the same name.
pub(crate) fn called(names: &Names, who: ProcessIndex) -> String {
    let known = names.process(who);
    match known.pid {
        Some(pid) if known.name.is_empty() => format!("process {pid}"),
        _ => known.name.clone(),
    }
}

/// Whether a launch of `who` is a launch of the recorded command.
pub(crate) fn is_of_command(names: &Names, who: ProcessIndex) -> bool {
    names.process(who).command.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Operation, Options, Trace};

    /// The launch of each page event, and whether processes could be identified.
    fn assign(csv: &str) -> (Vec<Option<u32>>, bool) {
        let text = format!("process,pid,cgroup,launch_id,command_pid,page,operation\n{csv}");
        let options = Options { format: Some("csv".parse().unwrap()), ..Options::default() };
        let mut trace = Trace::from_memory("t", text.into_bytes(), &options).unwrap();
        let mut events = Vec::new();
        while trace.read(&mut events, 64).unwrap() {}
        let (mut launches, mut assigned) = (Launches::default(), Vec::new());
        for event in &events {
            match event.operation {
                Operation::Launch => _ = launches.begin(event.who, trace.names()),
                Operation::Exit => launches.exit(event.who, trace.names()),
                _ => assigned.push(launches.of(event, trace.names())),
            }
        }
        (assigned, launches.are_assignable())
    }

    #[test]
    fn descendants_of_a_launched_process_are_part_of_the_launch() {
        let (launches, are_assignable) = assign(
            "sh,10,/s,1,10,0,launch\n\
             exe,99,/s,,,1,page-out\n\
             gimp,11,/s,2,10,0,launch\n\
             exe,98,/s,3,,0,launch\n\
             script-fu,12,/s,2,10,1,page-in\n\
             exe,98,/s,3,,1,page-out\n\
             sh,10,/s,1,10,1,page-in\n\
             kswapd0,50,/,,,1,page-out\n",
        );
        assert_eq!(launches, [None, Some(1), Some(2), Some(0), None]);
        assert!(are_assignable);
    }

    #[test]
    fn without_launch_numbers_a_launch_has_its_process_and_control_group() {
        let (launches, _) = assign(
            "bash,1,/session,,,1,read\n\
             app,10,/apps/a,,,0,launch\n\
             app,10,/apps/a,,,1,read\n\
             helper,11,/apps/a,,,1,read\n\
             tool,12,/session,,,0,launch\n\
             tool,12,/session,,,1,read\n\
             bash,1,/session,,,1,read\n\
             app,10,/apps/a,,,0,launch\n\
             helper,11,/apps/a,,,1,read\n\
             tool,12,/session,,,0,exit\n\
             other,12,/session,,,1,read\n",
        );
        assert_eq!(launches, [None, Some(0), Some(0), Some(1), None, Some(2), None]);
    }

    #[test]
    fn without_process_numbers_a_launch_has_processes_of_its_name() {
        let (launches, are_assignable) = assign(
            "game,,,,,0,launch\n\
             game,,,,,1,read\n\
             mail,,,,,1,read\n",
        );
        assert_eq!((launches, are_assignable), (vec![Some(0), None], true));
        // As the kernel's tracer on a phone: the mark names an app, the event a thread.
        let (launches, are_assignable) = assign("game,,,,,0,launch\nRenderThread,11,,,,1,read\n");
        assert_eq!((launches, are_assignable), (vec![None], false));
    }
}
