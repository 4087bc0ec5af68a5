//! The data of the machine that an explanation needs beside a recording: clocks, swap areas, names,
//! servers.

use std::collections::BTreeMap;

use unjank_host::inode::{FileId, paths_of};
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
}

impl<'a> StateReader<'a> {
    /// For one or several recordings of the machine under `root`.
    pub fn new(root: &'a Root) -> Self {
        Self { root, clocks: ClockReader::new(root) }
    }

    /// The present clock frequencies, and the swap areas as far as they can be read.
    pub fn read(&self) -> State {
        let swap = swap_area::all(self.root).unwrap_or_default();
        State { clocks: self.clocks.read(), swap }
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
