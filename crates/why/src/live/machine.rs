//! The data of the machine that an explanation needs beside a recording: clocks, swap areas, names,
//! servers.

use std::collections::BTreeMap;

use unjank_host::inode::{FileId, paths_of};
use unjank_host::machine::{CpuTime, ThrottledGroup, ThrottledTimes};
use unjank_host::perf_event::StackRecords;
use unjank_host::swap_area::{self, Area};
use unjank_host::text::one_line;
use unjank_host::{Bytes, Nanos, Root, Support, kernel_symbols, threads};

use super::clocks::ClockReader;
use crate::report::{Clocks, Explained, Server, shown_files};

/// A warning about a 32-bit program.
pub(super) const FOREIGN: &str = "the program's system calls have numbers of another \
    architecture: the calls that waits are in may be wrong";

/// A warning that a recording ended early.
pub(super) fn memory_was_full(memory: Bytes, after: Nanos) -> String {
    format!(
        "the {memory} for events (--max-memory) were full: the recording and the explained time \
         ended after {after}"
    )
}

/// From this share of stolen CPU time on, in percent, there is a warning.
const STEAL_LIMIT: f64 = 1.0;

/// A warning that a hypervisor gave a notable share of the CPU time since `before` to other
/// virtual machines. No event shows such time: the thread that had the CPU seems to run.
pub(super) fn stolen(before: Option<CpuTime>, root: &Root) -> Option<String> {
    let spent = CpuTime::read(root).ok()?.since(before?);
    let share = spent.steal_percent().filter(|&share| share >= STEAL_LIMIT)?;
    Some(format!(
        "the host of this virtual machine used {share:.1} % of its CPU time for others meanwhile: \
         that time counts as computing"
    ))
}

/// The groups that were held back by their CPU quotas since `before`, as seen from `process`.
pub(super) fn throttled(before: &State, process: u32, root: &Root) -> Vec<ThrottledGroup> {
    ThrottledTimes::read(root, process)
        .map_or_else(|_| Vec::new(), |now| now.since(&before.throttled))
}

/// Reads the state of a machine.
#[derive(Debug)]
pub struct StateReader<'a> {
    root: &'a Root,
    clocks: ClockReader<'a>,
}

/// The state of a machine before a recording.
#[derive(Debug)]
pub struct State {
    pub(super) clocks: Clocks,
    pub(super) swap: Vec<Area>,
    /// The CPU time of the machine so far, if it can be read.
    pub(super) cpu_time: Option<CpuTime>,
    /// How long groups were held back by their CPU quotas so far.
    throttled: ThrottledTimes,
}

impl<'a> StateReader<'a> {
    /// For one or several recordings of the machine under `root`.
    pub fn new(root: &'a Root) -> Self {
        Self { root, clocks: ClockReader::new(root) }
    }

    /// The present clock frequencies, and the swap areas and the CPU time as far as they can be
    /// read.
    pub fn read(&self) -> State {
        let swap = swap_area::all(self.root).unwrap_or_default();
        State {
            clocks: self.clocks.read(),
            swap,
            cpu_time: CpuTime::read(self.root).ok(),
            throttled: ThrottledTimes::read(self.root, std::process::id()).unwrap_or_default(),
        }
    }
}

/// Adds swap areas, names of functions and files, the server, and stacks. The mappings of explained
/// threads that still run help to find files and functions.
pub(super) fn name(
    explained: &mut Explained,
    swap: Vec<Area>,
    stacks: Option<Support<StackRecords>>,
    root: &Root,
) {
    explained.know_swap(swap);
    let functions = kernel_symbols::names_of(root, &explained.kernel_addresses());
    explained.name_functions(functions.unwrap_or_default());
    explained.name_files(files(explained, root));
    know_server(explained, root);
    if let Some(stacks) = stacks {
        let threads = explained.threads_on_path();
        explained.add_stacks(stacks.map(|records| records.stacks_of(root, &threads)));
    }
}

/// Finds the process that answered the explained program, while it runs.
fn know_server(explained: &mut Explained, root: &Root) {
    let other = |process: &u32| *process != std::process::id();
    let running = explained.servers().into_iter().find_map(|thread| {
        threads::process_of(root, thread).filter(other).map(|process| (process, thread))
    });
    if let Some((process, thread)) = running {
        let threads = threads::ids(root, process).unwrap_or_default();
        let threads = threads.into_iter().chain([thread]).collect();
        explained.served_by(Server { process, threads });
    }
}

/// The paths of the files that are shown, as far as they can be found.
fn files(explained: &Explained, root: &Root) -> BTreeMap<FileId, String> {
    let takers = explained.page_takers().map(|thread| thread.0);
    let paths = paths_of(root, &shown_files(explained), takers).into_iter();
    paths.map(|(file, path)| (file, one_line(&path.to_string_lossy()).into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notable_share_of_stolen_time_is_told() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        std::fs::create_dir(tree.path().join("proc")).unwrap();
        let spend = |idle: u32, steal: u32| {
            let line = format!("cpu  0 0 0 {idle} 0 0 0 {steal}\n");
            std::fs::write(tree.path().join("proc/stat"), line).unwrap();
        };
        spend(1_000, 500);
        let before = CpuTime::read(&root).ok();
        spend(1_098, 502);
        let told = stolen(before, &root).unwrap();
        assert!(told.contains("2.0 % of its CPU time"), "{told}");
        spend(1_998, 503);
        assert_eq!(stolen(before, &root), None);
        assert_eq!(stolen(None, &root), None);
    }
}
