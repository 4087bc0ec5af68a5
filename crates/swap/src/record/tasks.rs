//! The process of a thread, its name, and its control group.

use std::collections::{HashMap, HashSet, VecDeque};

use unjank_host::Root;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Comm;

use crate::trace::{LimitReached, Member, Names, ProcessIndex};

/// The number of ended threads to remember: a thread still touches memory of its process after
/// its `sched_process_exit` (`exit_mm_release` in `kernel/fork.c`).
const MAX_ENDED: usize = 4096;

/// Threads and processes in the trace that have not ended long ago.
#[derive(Debug)]
pub(super) struct Tasks {
    root: Root,
    /// The process of each thread.
    processes: HashMap<ThreadId, u32>,
    /// The program that each process executed last.
    programs: HashMap<u32, Comm>,
    known: HashMap<u32, NamedProcess>,
    /// The ancestry of processes, if known.
    families: HashMap<u32, Family>,
    /// The process of the recorded command, and its control group if that is its own.
    command: Option<(u32, Option<String>)>,
    /// Ended threads, and their order.
    ended: HashSet<ThreadId>,
    endings: VecDeque<ThreadId>,
}

/// A process with its latest name.
#[derive(Debug)]
struct NamedProcess {
    who: ProcessIndex,
    name: Vec<u8>,
}

/// The ancestry of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Family {
    /// The process's own launch, or that of its nearest launched ancestor.
    launch: Option<u32>,
    is_of_command: bool,
}

impl Tasks {
    pub(super) fn new(root: &Root) -> Self {
        Self {
            root: root.clone(),
            processes: HashMap::new(),
            programs: HashMap::new(),
            known: HashMap::new(),
            families: HashMap::new(),
            command: None,
            ended: HashSet::new(),
            endings: VecDeque::new(),
        }
    }

    /// The process of `thread`, whose name is `comm`, or empty if unknown. Reads `/proc` once for
    /// each process; if the thread has ended by then, its own name and number stand for the
    /// process. A process has the name of its main thread, as Android's apps do.
    pub(super) fn who(
        &mut self,
        thread: ThreadId,
        comm: &[u8],
        names: &mut Names,
    ) -> Result<ProcessIndex, LimitReached> {
        let process = self.process(thread);
        let is_main = thread.0 == process && !comm.is_empty();
        let known = self.known.get(&process);
        if let Some(known) = known
            && (!is_main || known.name == comm)
        {
            return Ok(known.who);
        }
        let read = |file: &str| self.root.read(format!("/proc/{process}/{file}"));
        let name = match self.programs.get(&process) {
            _ if is_main => comm.to_owned(),
            Some(program) => program.as_bytes().to_owned(),
            None => read("comm").map_or(comm.to_owned(), |name| name.trim_end().into()),
        };
        let cgroup = if let Some(known) = known {
            names.process(known.who).cgroup.clone().unwrap_or_default()
        } else {
            memory_group(&read("cgroup").unwrap_or_default()).unwrap_or_default().to_owned()
        };
        let family = self.families.get(&process).copied().unwrap_or_default();
        // The group identifies the command even if the kernel lost the event of a start.
        let command = self.command.as_ref().filter(|(_, group)| {
            family.is_of_command || group.as_ref().is_some_and(|group| *group == cgroup)
        });
        let who = names.member(Member {
            name: &name,
            pid: Some(process),
            cgroup: cgroup.as_bytes(),
            launch: family.launch,
            command: command.map(|(command, _)| *command),
        })?;
        self.known.insert(process, NamedProcess { who, name });
        Ok(who)
    }

    /// Marks `process` as the recorded command. `has_own_group`: it is in a control group of its
    /// own.
    pub(super) fn is_command(&mut self, process: u32, has_own_group: bool) {
        self.families.insert(process, Family { launch: None, is_of_command: true });
        let groups = || self.root.read(format!("/proc/{process}/cgroup")).ok();
        let group = has_own_group.then(groups).flatten();
        let group = group.and_then(|groups| memory_group(&groups).map(str::to_owned));
        self.command = Some((process, group));
    }

    /// Whether there is a recorded command.
    pub(super) fn has_command(&self) -> bool {
        self.command.is_some()
    }

    /// `process` is the launched process of the launch with this number.
    pub(super) fn launched(&mut self, process: u32, launch: u32) {
        self.families.entry(process).or_default().launch = Some(launch);
        self.known.remove(&process);
    }

    /// `thread` was started by `parent`.
    pub(super) fn started(&mut self, parent: ThreadId, thread: ThreadId, same_process: bool) {
        let process = if same_process { self.process(parent) } else { thread.0 };
        self.processes.insert(thread, process);
        self.ended.remove(&thread);
        if !same_process {
            // The number may be reused.
            self.forget(process);
            // If the parent has a family, the start of its threads was traced.
            let parent = self.processes.get(&parent).copied().unwrap_or(parent.0);
            if let Some(family) = self.families.get(&parent) {
                self.families.insert(process, *family);
            }
        }
    }

    /// `process` executed `program`.
    pub(super) fn executed(&mut self, process: ThreadId, program: Comm) {
        self.processes.insert(process, process.0);
        self.programs.insert(process.0, program);
        self.known.remove(&process.0);
    }

    /// `thread` ended. Its process ends with it if it was the `last` thread; if the kernel does not
    /// say that, if it was the main thread. Returns the ended process if it is in the trace.
    pub(super) fn ended(&mut self, thread: ThreadId, last: Option<bool>) -> Option<ProcessIndex> {
        if !self.ended.insert(thread) {
            return None;
        }
        self.endings.push_back(thread);
        if self.endings.len() > MAX_ENDED
            && let Some(oldest) = self.endings.pop_front()
            && self.ended.remove(&oldest)
            && self.processes.remove(&oldest) == Some(oldest.0)
        {
            self.forget(oldest.0);
        }
        let process = *self.processes.entry(thread).or_insert(thread.0);
        let is_over = last.unwrap_or(process == thread.0);
        if is_over { self.known.get(&process).map(|known| known.who) } else { None }
    }

    fn forget(&mut self, process: u32) {
        if self.command.as_ref().is_none_or(|(command, _)| *command != process) {
            self.families.remove(&process);
        }
        self.programs.remove(&process);
        self.known.remove(&process);
    }

    pub(super) fn process(&mut self, thread: ThreadId) -> u32 {
        if let Some(process) = self.processes.get(&thread) {
            return *process;
        }
        let status = self.root.read(format!("/proc/{}/status", thread.0)).unwrap_or_default();
        let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        let process = process.and_then(|number| number.trim().parse().ok());
        // Without `/proc`, the thread stands for itself.
        let process = process.unwrap_or(thread.0);
        self.processes.insert(thread, process);
        process
    }
}

/// The control group that memory is charged to, from `/proc/PID/cgroup`: that of the memory
/// controller of version 1, else that of version 2 (`cgroups(7)`).
fn memory_group(groups: &str) -> Option<&str> {
    let lines = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let memory = lines().find(|(names, _)| names.split(',').any(|name| name == "memory"));
    memory.or_else(|| lines().find(|(names, _)| names.is_empty())).map(|(_, group)| group)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let top = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = top.path().join("proc").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let root = Root::at(top.path());
        (top, root)
    }

    #[test]
    fn a_thread_is_mapped_to_its_process() {
        let (_top, root) = machine(&[
            ("12/status", "Name:\tG1 Conc#0\nTgid:\t10\n"),
            ("10/comm", "java\n"),
            ("10/cgroup", "4:memory:/app\n0::/\n"),
        ]);
        let (mut tasks, mut names) = (Tasks::new(&root), Names::default());
        let who = tasks.who(ThreadId(12), b"G1 Conc#0", &mut names).unwrap();
        let process = names.process(who);
        assert_eq!((process.name.as_str(), process.pid), ("java", Some(10)));
        assert_eq!(process.cgroup.as_deref(), Some("/app"));
        assert_eq!(tasks.who(ThreadId(12), b"other", &mut names).unwrap(), who);
        assert_eq!(tasks.ended(ThreadId(12), Some(false)), None, "others live on");
        assert_eq!(tasks.ended(ThreadId(10), Some(true)), Some(who));
        assert_eq!(tasks.ended(ThreadId(10), Some(true)), None);
    }

    #[test]
    fn traced_starts_and_programs_need_no_proc() {
        let (_top, root) = machine(&[]);
        let (mut tasks, mut names) = (Tasks::new(&root), Names::default());
        tasks.started(ThreadId(1), ThreadId(20), false);
        tasks.started(ThreadId(20), ThreadId(21), true);
        tasks.executed(ThreadId(20), "app".into());
        let who = tasks.who(ThreadId(21), b"worker", &mut names).unwrap();
        assert_eq!(names.process(who).name, "app");
        assert_eq!(tasks.ended(ThreadId(21), None), None);
        assert_eq!(tasks.ended(ThreadId(20), None), Some(who), "a kernel that does not say");
        // The number is reused by a process that has ended when it is looked up.
        tasks.started(ThreadId(1), ThreadId(20), false);
        let other = tasks.who(ThreadId(20), b"short", &mut names).unwrap();
        assert_ne!(other, who);
        assert_eq!(names.process(other).name, "short");
    }

    #[test]
    fn a_process_has_the_name_of_its_main_thread() {
        let (_top, root) = machine(&[("10/comm", "late\n"), ("10/cgroup", "0::/app\n")]);
        let (mut tasks, mut names) = (Tasks::new(&root), Names::default());
        tasks.started(ThreadId(1), ThreadId(10), false);
        tasks.started(ThreadId(10), ThreadId(11), true);
        let mut name = |thread, comm: &[u8]| {
            let who = tasks.who(ThreadId(thread), comm, &mut names).unwrap();
            let process = names.process(who);
            (process.name.clone(), process.cgroup.clone().unwrap_or_default())
        };
        let is = |name: &str| (name.to_owned(), "/app".to_owned());
        assert_eq!(name(10, b"zygote64"), is("zygote64"), "as it was called then");
        assert_eq!(name(11, b"worker"), is("zygote64"));
        assert_eq!(name(10, b"com.example.app"), is("com.example.app"));
        assert_eq!(name(11, b"worker"), is("com.example.app"));
        assert_eq!(name(10, b""), is("com.example.app"), "an event that does not say");
    }

    #[test]
    fn ended_threads_are_remembered_for_a_while() {
        let (_top, root) = machine(&[]);
        let (mut tasks, mut names) = (Tasks::new(&root), Names::default());
        tasks.started(ThreadId(1), ThreadId(20), false);
        tasks.started(ThreadId(20), ThreadId(21), true);
        let who = tasks.who(ThreadId(20), b"app", &mut names).unwrap();
        tasks.ended(ThreadId(21), Some(false));
        assert_eq!(tasks.who(ThreadId(21), b"worker", &mut names).unwrap(), who);
        assert_eq!(tasks.ended(ThreadId(20), Some(true)), Some(who));
        assert_eq!(tasks.who(ThreadId(21), b"worker", &mut names).unwrap(), who);
        for other in 100..100 + MAX_ENDED as u32 {
            tasks.started(ThreadId(1), ThreadId(other), false);
            tasks.ended(ThreadId(other), Some(true));
        }
        assert!(tasks.known.is_empty());
        assert_eq!((tasks.processes.len(), tasks.ended.len()), (MAX_ENDED, MAX_ENDED));
        let other = tasks.who(ThreadId(21), b"worker", &mut names).unwrap();
        assert_eq!(names.process(other).pid, Some(21), "another one");
    }

    #[test]
    fn the_memory_group_is_found_in_both_versions() {
        assert_eq!(memory_group("5:cpu:/a\n4:memory,x:/b:c\n0::/d\n"), Some("/b:c"));
        assert_eq!(memory_group("1:name=systemd:/a\n0::/user.slice\n"), Some("/user.slice"));
        assert_eq!(memory_group("nothing\n"), None);
    }
}
