//! Which events are part of which launch.
//!
//! Traces of `swap record` tell it: a process has the number of its own launch, or of the launch
//! that it descends from. In other traces it is the process that was launched, by its number or
//! its name, and whoever is in a control group that was first seen with it. Kernel threads that
//! work for all belong to none.

use std::collections::HashMap;

use crate::trace::{Event, Names, Process, Who};

/// The root of the control groups: everybody's.
const ROOT_GROUP: &str = "/";

/// Tells of each event which launch it is part of, while the trace is read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Launches {
    /// The launch of each process, by the process's index, since the last launch or exit.
    known: Vec<Known>,
    by_number: HashMap<(Option<u32>, u32), u32>,
    by_pid: HashMap<u32, u32>,
    by_name: HashMap<String, u32>,
    groups: HashMap<String, Group>,
    count: u32,
    marks: Told,
    events: Told,
}

/// What is known of a process.
#[derive(Debug, Clone, Copy, Default)]
enum Known {
    #[default]
    NotAsked,
    Is(Option<u32>),
}

/// Whose a control group is.
#[derive(Debug, Clone)]
enum Group {
    /// Of an app, which has had this launch last.
    Own {
        app: String,
        launch: u32,
    },
    Shared,
}

/// How processes are told.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    by_launch: bool,
    by_pid: bool,
    by_name: bool,
}

impl Told {
    fn note(&mut self, process: &Process) {
        self.by_launch |= process.launch.is_some();
        self.by_pid |= process.pid.is_some();
        self.by_name |= process.pid.is_none() && !process.name.is_empty();
    }
}

impl Launches {
    /// Takes the mark of a launch, and says which one it is, counted from 0.
    pub(crate) fn begin(&mut self, who: Who, names: &Names) -> u32 {
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

    /// A process has ended: its number may be used again.
    pub(crate) fn exit(&mut self, who: Who, names: &Names) {
        if let Some(pid) = names.process(who).pid
            && self.by_pid.remove(&pid).is_some()
        {
            self.known.clear();
        }
    }

    /// The launch that an event of a page is part of, if it is part of any.
    pub(crate) fn of(&mut self, event: &Event, names: &Names) -> Option<u32> {
        if event.who == Who::UNKNOWN || !event.operation.is_of_page() {
            return None;
        }
        let index = event.who.0 as usize;
        if let Some(Known::Is(launch)) = self.known.get(index) {
            return *launch;
        }
        let process = names.process(event.who);
        self.events.note(process);
        let launch = self.look(process);
        if index >= self.known.len() {
            self.known.resize(index + 1, Known::NotAsked);
        }
        self.known[index] = Known::Is(launch);
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

    /// Whether marks and events tell processes in the same way, so that [`Self::of`] could tell
    /// whose the events are; else only time says what may be part of a launch.
    pub(crate) fn are_told(&self) -> bool {
        self.count == 0
            || self.marks.by_launch
            || (self.marks.by_pid && self.events.by_pid)
            || (self.marks.by_name && self.events.by_name)
    }
}

/// The control group of a process, unless all are in it.
fn own_group(process: &Process) -> Option<&str> {
    process.cgroup.as_deref().filter(|group| *group != ROOT_GROUP)
}

/// What a process is called: an app that starts anew is another process of the same name.
pub(crate) fn called(names: &Names, who: Who) -> String {
    let known = names.process(who);
    match known.pid {
        Some(pid) if known.name.is_empty() => format!("process {pid}"),
        _ => known.name.clone(),
    }
}

/// Whether the launch of `who` is one of the command that was recorded.
pub(crate) fn is_of_command(names: &Names, who: Who) -> bool {
    names.process(who).command.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Operation, Options, Trace};

    /// The launch of each event of a page, and whether that could be told.
    fn told(csv: &str) -> (Vec<Option<u32>>, bool) {
        let text = format!("process,pid,cgroup,launch_id,command_pid,page,operation\n{csv}");
        let options = Options { format: Some("csv".parse().unwrap()), ..Options::default() };
        let mut trace = Trace::from_memory("t", text.into_bytes(), &options).unwrap();
        let mut events = Vec::new();
        while trace.read(&mut events, 64).unwrap() {}
        let (mut launches, mut told) = (Launches::default(), Vec::new());
        for event in &events {
            match event.operation {
                Operation::Launch => _ = launches.begin(event.who, trace.names()),
                Operation::Exit => launches.exit(event.who, trace.names()),
                _ => told.push(launches.of(event, trace.names())),
            }
        }
        (told, launches.are_told())
    }

    #[test]
    fn descendants_of_what_was_launched_are_part_of_it() {
        let (launches, are_told) = told(
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
        assert!(are_told);
    }

    #[test]
    fn without_a_tree_it_is_the_process_and_its_own_group() {
        let (launches, _) = told(
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
    fn names_tell_where_there_are_no_numbers() {
        let (launches, are_told) = told(
            "game,,,,,0,launch\n\
             game,,,,,1,read\n\
             mail,,,,,1,read\n",
        );
        assert_eq!((launches, are_told), (vec![Some(0), None], true));
        // As the kernel's tracer on a phone: the mark names an app, the event a thread.
        let (launches, are_told) = told("game,,,,,0,launch\nRenderThread,11,,,,1,read\n");
        assert_eq!((launches, are_told), (vec![None], false));
    }
}
