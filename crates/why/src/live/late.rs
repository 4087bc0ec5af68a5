//! Delays of threads that nobody has named, explained from a recording of the whole machine.

use std::collections::BTreeSet;

use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Trace;
use unjank_host::{Root, threads};

use super::machine::{State, StateReader, name};
use crate::android::AppThread;
use crate::late::Delay;
use crate::report::{Explained, Subject};

/// Explains the first of some delays whose explanation is accepted, or else the first one. `state`
/// is the machine's at the end of the recording: a clock that changed before is known by its event.
/// `None` without delays.
pub fn explain_delays(
    trace: Trace,
    delays: &[Delay],
    accepts: impl Fn(&Explained, &Delay) -> bool,
    state: State,
    root: &Root,
) -> Option<(Explained, Delay)> {
    let first = delays.first()?;
    let State { mut clocks, swap, .. } = state;
    // They are those of now, not of the beginning.
    clocks.at_start.clear();
    let threads = delays.iter().flat_map(|delay| threads_beside(root, delay.thread));
    let known: BTreeSet<(u32, ThreadId)> = threads.collect();
    let window = (first.from, first.to);
    let mut explained = Explained::in_window(trace, &[], &known, first.thread, window, clocks);
    let mut chosen = *first;
    let mut others = delays.iter().skip(1).chain([first]);
    while !accepts(&explained, &chosen) {
        let Some(delay) = others.next() else { break };
        let own = AppThread { first: delay.thread, thread: delay.thread, to: delay.to };
        let stop = Stop::default();
        explained = explained.again(Subject::Window, own, delay.from, &stop).ok()?;
        chosen = *delay;
    }
    name(&mut explained, swap, None, root);
    Some((explained, chosen))
}

/// The threads of a thread's process, each with the process.
fn threads_beside(root: &Root, thread: ThreadId) -> Vec<(u32, ThreadId)> {
    let Some(process) = threads::process_of(root, thread) else { return Vec::new() };
    let threads = threads::ids(root, process).unwrap_or_default();
    threads.into_iter().map(|thread| (process, thread)).collect()
}

/// The state of the machine now, for [`explain_delays`].
pub fn state(root: &Root) -> State {
    StateReader::new(root).read()
}
