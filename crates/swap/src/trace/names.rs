//! The names of the processes and spaces that events refer to by index.

use std::collections::HashMap;

use unjank_host::text::steers_terminal;

use super::event::{ProcessIndex, Space};

/// Limit on processes. One machine has fewer; a wrong format can yield more.
pub const MAX_PROCESSES: usize = 1_000_000;
/// Limit on spaces: what fits into a [`Space`], without [`Space::NONE`].
pub const MAX_SPACES: usize = 65_535;
/// Limit on the bytes of all names together.
const MAX_BYTES: usize = 256 << 20;

/// A process or app.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Process {
    /// Its name; empty where only its process ID is known.
    pub name: String,
    /// Its process ID, where the trace has one. The kernel's tracers give the thread ID.
    pub pid: Option<u32>,
    /// The control group that it was in when first seen, where the trace has it.
    pub cgroup: Option<String>,
    /// The number of the launch that it is part of, where the trace has it: its own launch, or
    /// that of its nearest launched ancestor.
    pub launch: Option<u32>,
    /// The process ID of the recorded command, if the process is that command or a descendant.
    pub command: Option<u32>,
}

/// A process as a trace describes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Member<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) pid: Option<u32>,
    pub(crate) cgroup: &'a [u8],
    pub(crate) launch: Option<u32>,
    pub(crate) command: Option<u32>,
}

/// Processes, devices and files of a trace. Their number is bounded.
#[derive(Debug, Clone)]
pub struct Names {
    processes: Vec<Process>,
    spaces: Vec<String>,
    indexes: HashMap<Vec<u8>, ProcessIndex>,
    space_numbers: HashMap<Vec<u8>, Space>,
    /// Processes by process ID, for traces that report names separately from requests.
    pids: HashMap<u32, ProcessIndex>,
    /// The last results: neighbouring events are mostly of the same process and space.
    last_process: (Vec<u8>, Option<u32>, ProcessIndex),
    last_member: LastMember,
    last_space: (Vec<u8>, Space),
    /// The key that is looked up: the name, followed by the process ID.
    key: Vec<u8>,
    bytes: usize,
}

/// The member that was looked up last.
#[derive(Debug, Clone, Default)]
struct LastMember {
    name: Vec<u8>,
    cgroup: Vec<u8>,
    numbers: [Option<u32>; 3],
    who: ProcessIndex,
}

/// A limit was reached; the message says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitReached(pub(crate) &'static str);

impl Default for Names {
    fn default() -> Self {
        Self {
            processes: vec![Process::default()],
            spaces: vec![String::new()],
            indexes: HashMap::new(),
            space_numbers: HashMap::new(),
            pids: HashMap::new(),
            last_process: (Vec::new(), None, ProcessIndex::UNKNOWN),
            last_member: LastMember::default(),
            last_space: (Vec::new(), Space::NONE),
            key: Vec::new(),
            bytes: 0,
        }
    }
}

impl Names {
    /// The process with index `who`; the unknown process for an index that was never assigned.
    pub fn process(&self, who: ProcessIndex) -> &Process {
        self.processes.get(who.0 as usize).unwrap_or(&self.processes[0])
    }

    /// The name of `space`; empty for [`Space::NONE`].
    pub fn space(&self, space: Space) -> &str {
        self.spaces.get(usize::from(space.0)).map_or("", String::as_str)
    }

    /// All processes; the first is the unknown process.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// All spaces; the first is [`Space::NONE`].
    pub fn spaces(&self) -> &[String] {
        &self.spaces
    }

    /// Adds a process that has no process ID, for synthetic traces.
    pub(crate) fn add_process(&mut self, name: &str) -> ProcessIndex {
        // Synthetic traces stay below the limits.
        self.process_index(name.as_bytes(), None).unwrap_or_default()
    }

    /// Adds a device, a file or another address space.
    pub(crate) fn add_space(&mut self, name: &str) -> Space {
        self.space_number(name.as_bytes()).unwrap_or_default()
    }

    /// The index of a process, a new one if it was not seen before.
    pub(crate) fn process_index(
        &mut self,
        name: &[u8],
        pid: Option<u32>,
    ) -> Result<ProcessIndex, LimitReached> {
        if pid == self.last_process.1 && name == self.last_process.0 {
            return Ok(self.last_process.2);
        }
        if name.is_empty() && pid.is_none() {
            return Ok(ProcessIndex::UNKNOWN);
        }
        set_key(&mut self.key, name);
        if let Some(pid) = pid {
            self.key.push(0);
            self.key.extend_from_slice(&pid.to_le_bytes());
        }
        let who = match self.indexes.get(&self.key) {
            Some(who) => *who,
            None => self.new_process(Process { pid, ..Process::default() })?,
        };
        self.last_process.0.clear();
        self.last_process.0.extend_from_slice(name);
        (self.last_process.1, self.last_process.2) = (pid, who);
        Ok(who)
    }

    /// The index of a process of which more is known than its name and process ID.
    pub(crate) fn member(&mut self, member: Member<'_>) -> Result<ProcessIndex, LimitReached> {
        let Member { name, pid, cgroup, launch, command } = member;
        if cgroup.is_empty() && launch.is_none() && command.is_none() {
            return self.process_index(name, pid);
        }
        let last = &self.last_member;
        let numbers = [pid, launch, command];
        if numbers == last.numbers && name == last.name && cgroup == last.cgroup {
            return Ok(last.who);
        }
        set_key(&mut self.key, cgroup);
        let group = String::from_utf8_lossy(&self.key).into_owned();
        set_key(&mut self.key, name);
        // Each number takes five bytes, so this never equals a key made by `process_index`.
        self.key.push(0);
        for number in numbers {
            self.key.push(u8::from(number.is_some()));
            self.key.extend(number.unwrap_or(0).to_le_bytes());
        }
        self.key.extend_from_slice(group.as_bytes());
        let who = if let Some(who) = self.indexes.get(&self.key) {
            *who
        } else {
            let cgroup = (!group.is_empty()).then_some(group);
            self.new_process(Process { pid, cgroup, launch, command, ..Process::default() })?
        };
        let last = &mut self.last_member;
        last.name.clear();
        last.name.extend_from_slice(name);
        last.cgroup.clear();
        last.cgroup.extend_from_slice(cgroup);
        (last.numbers, last.who) = (numbers, who);
        Ok(who)
    }

    /// Adds a process; the key starts with its name.
    fn new_process(&mut self, known: Process) -> Result<ProcessIndex, LimitReached> {
        if self.processes.len() > MAX_PROCESSES {
            return Err(LimitReached("the trace names more than 1,000,000 processes"));
        }
        self.take(self.key.len())?;
        let who = ProcessIndex(self.processes.len() as u32);
        let name = self.key.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        self.processes.push(Process { name, ..known });
        self.indexes.insert(self.key.clone(), who);
        Ok(who)
    }

    /// The process with this process ID, with the name that [`Self::name_pid`] last set.
    pub(super) fn pid(&mut self, pid: u32) -> Result<ProcessIndex, LimitReached> {
        match self.pids.get(&pid) {
            Some(who) => Ok(*who),
            None => self.process_index(b"", Some(pid)),
        }
    }

    /// Names the process that was known only by its process ID. If it already has a name, the
    /// process ID was reused, and this is a new process.
    pub(super) fn name_pid(&mut self, pid: u32, name: &[u8]) -> Result<ProcessIndex, LimitReached> {
        let unnamed = [&[0][..], &pid.to_le_bytes()].concat();
        let Some(who) = self.indexes.remove(&unnamed) else {
            let who = self.process_index(name, Some(pid))?;
            self.pids.insert(pid, who);
            return Ok(who);
        };
        set_key(&mut self.key, name);
        self.take(self.key.len())?;
        self.processes[who.0 as usize].name = String::from_utf8_lossy(&self.key).into_owned();
        self.key.push(0);
        self.key.extend_from_slice(&pid.to_le_bytes());
        self.indexes.insert(self.key.clone(), who);
        self.last_process = (Vec::new(), None, ProcessIndex::UNKNOWN);
        self.pids.insert(pid, who);
        Ok(who)
    }

    /// The index of a device or file, a new one if it was not seen before.
    pub(crate) fn space_number(&mut self, name: &[u8]) -> Result<Space, LimitReached> {
        if name.is_empty() {
            return Ok(Space::NONE);
        }
        if name == self.last_space.0 {
            return Ok(self.last_space.1);
        }
        set_key(&mut self.key, name);
        let space = match self.space_numbers.get(&self.key) {
            Some(space) => *space,
            None => self.new_space()?,
        };
        self.last_space.0.clear();
        self.last_space.0.extend_from_slice(name);
        self.last_space.1 = space;
        Ok(space)
    }

    fn new_space(&mut self) -> Result<Space, LimitReached> {
        if self.spaces.len() > MAX_SPACES {
            return Err(LimitReached("the trace names more than 65,535 devices and files"));
        }
        self.take(self.key.len())?;
        let space = Space(self.spaces.len() as u16);
        self.spaces.push(String::from_utf8_lossy(&self.key).into_owned());
        self.space_numbers.insert(self.key.clone(), space);
        Ok(space)
    }

    fn take(&mut self, bytes: usize) -> Result<(), LimitReached> {
        self.bytes += bytes;
        if self.bytes > MAX_BYTES {
            return Err(LimitReached("the names in the trace take more than 256 MiB"));
        }
        Ok(())
    }
}

/// Sets the key to `name`. Names are printed and written into other formats, so invalid UTF-8 and
/// characters that steer a terminal become replacement characters.
fn set_key(key: &mut Vec<u8>, name: &[u8]) {
    key.clear();
    if name.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        key.extend_from_slice(name);
        return;
    }
    let text = String::from_utf8_lossy(name);
    let clean = |c: char| if steers_terminal(c) { char::REPLACEMENT_CHARACTER } else { c };
    key.extend(text.chars().map(clean).collect::<String>().into_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, cgroup: Option<&str>) -> Process {
        let (name, cgroup) = (name.to_owned(), cgroup.map(str::to_owned));
        Process { name, pid: Some(7), cgroup, ..Process::default() }
    }

    #[test]
    fn the_control_group_and_launch_are_part_of_the_identity() {
        let mut names = Names::default();
        let nowhere = names.process_index(b"app", Some(7)).unwrap();
        let app = Member { name: b"app", pid: Some(7), ..Member::default() };
        let front = names.member(Member { cgroup: b"/top-app", ..app }).unwrap();
        let back = names.member(Member { cgroup: b"/background", ..app }).unwrap();
        assert!(nowhere != front && front != back);
        assert_eq!(names.member(Member { cgroup: b"/top-app", ..app }).unwrap(), front);
        assert_eq!(names.member(app).unwrap(), nowhere);
        assert_eq!(names.process(front), &named("app", Some("/top-app")));
        let launched = names.member(Member { launch: Some(1), ..app }).unwrap();
        let command = names.member(Member { launch: Some(1), command: Some(7), ..app }).unwrap();
        assert!(launched != nowhere && launched != command);
        assert_eq!(names.process(command).command, Some(7));
    }

    #[test]
    fn the_same_name_and_pid_is_the_same_process() {
        let mut names = Names::default();
        let first = names.process_index(b"app", Some(7)).unwrap();
        assert_ne!(names.process_index(b"app", Some(8)).unwrap(), first);
        assert_ne!(names.process_index(b"app", None).unwrap(), first);
        assert_eq!(names.process_index(b"app", Some(7)).unwrap(), first);
        assert_eq!(names.process(first), &named("app", None));
        assert_eq!(names.process_index(b"", None).unwrap(), ProcessIndex::UNKNOWN);
        assert_eq!(names.process(ProcessIndex(99)), &Process::default());
    }

    #[test]
    fn a_pid_is_named_later_and_a_reused_pid_is_a_new_process() {
        let mut names = Names::default();
        let unnamed = names.process_index(b"", Some(7)).unwrap();
        assert_eq!(names.name_pid(7, b"app").unwrap(), unnamed);
        assert_eq!(names.process(unnamed).name, "app");
        assert_eq!(names.process_index(b"app", Some(7)).unwrap(), unnamed);
        assert_ne!(names.name_pid(7, b"other").unwrap(), unnamed);
    }

    #[test]
    fn control_characters_are_replaced() {
        let mut names = Names::default();
        let who = names.process_index(b"a\x1b[2J\xff\n", None).unwrap();
        assert_eq!(names.process(who).name, "a\u{fffd}[2J\u{fffd}\u{fffd}");
        let space = names.space_number(b"8,0\x00").unwrap();
        assert_eq!(names.space(space), "8,0\u{fffd}");
        assert_eq!(names.space_number(b"8,0\x00").unwrap(), space);
        let turned = names.process_index("a\u{202e}b\u{200b}".as_bytes(), None).unwrap();
        assert_eq!(names.process(turned).name, "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn the_number_of_spaces_is_bounded() {
        let mut names = Names::default();
        for number in 0..MAX_SPACES {
            names.space_number(number.to_string().as_bytes()).unwrap();
        }
        assert_eq!(names.space_number(b"0").unwrap(), Space(1));
        assert!(names.space_number(b"one more").unwrap_err().0.contains("65,535"));
    }
}
