//! Identifies the futex of a call across processes, and finds its name.

use std::collections::HashMap;

use unjank_host::Root;
use unjank_host::address_space::{AddressSpace, FutexId};
use unjank_host::program_code::ProgramCode;
use unjank_host::sched::ThreadId;
use unjank_host::threads;
use unjank_host::waiting_call::FutexWord;

use super::roster::Roster;

/// How often the memory map of one process is read: it may map more while it runs.
const MOST_MAPS: u32 = 20;
/// How many futexes are looked up by name.
const MOST_NAMED: usize = 16;

/// The address spaces of the processes, read on demand.
#[derive(Debug, Default)]
pub(crate) struct Futexes {
    spaces: HashMap<u32, (AddressSpace, u32)>,
    /// Processes of threads that are not in the roster yet.
    owners: HashMap<ThreadId, u32>,
}

impl Futexes {
    /// The futex of a call by this thread.
    pub(crate) fn id(
        &mut self,
        root: &Root,
        roster: &Roster,
        thread: ThreadId,
        word: FutexWord,
    ) -> FutexId {
        let process = roster.process_of(thread).unwrap_or_else(|| {
            let look = || threads::process_of(root, thread).unwrap_or(thread.0);
            *self.owners.entry(thread).or_insert_with(look)
        });
        if word.private {
            return FutexId::Private { process, address: word.address };
        }
        let (space, read) = self.spaces.entry(process).or_default();
        if space.region(word.address).is_none() && *read < MOST_MAPS {
            *space = AddressSpace::of(root, process).unwrap_or_default();
            *read += 1;
        }
        match space.futex(word) {
            FutexId::Private { address, .. } => FutexId::Private { process, address },
            shared @ FutexId::Shared { .. } => shared,
        }
    }
}

/// The variables in which these futexes lie.
pub(crate) fn names(
    root: &Root,
    futexes: impl Iterator<Item = FutexId>,
) -> HashMap<FutexId, String> {
    let mut programs: HashMap<u32, Option<ProgramCode>> = HashMap::new();
    let name = |id: FutexId| {
        let FutexId::Private { process, address } = id else { return None };
        let program =
            programs.entry(process).or_insert_with(|| ProgramCode::of(root, process).ok());
        let (name, _) = program.as_ref()?.variable(root, address)?;
        Some((id, name))
    };
    futexes.take(MOST_NAMED).filter_map(name).collect()
}
