//! Everything that happened on a machine in the time of a trace, and questions
//! about it.

use std::collections::{BTreeMap, HashMap};

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Comm;

use super::life::Life;
use super::origin::RequestId;
use super::requests::Request;
use super::work::WorkItem;

/// What happened on a machine in the time of a trace.
#[derive(Debug, Default)]
pub struct History {
    /// All threads that the trace names, but for the idle tasks.
    pub(super) lives: HashMap<ThreadId, Life>,
    /// Requests that a device served.
    pub(super) requests: Vec<Request>,
    /// Work items that a worker thread began, by thread, in order of time.
    pub(super) work: HashMap<ThreadId, Vec<WorkItem>>,
    /// Clock frequencies in kHz by CPU, in order of time.
    pub(super) clocks: BTreeMap<usize, Vec<(Timestamp, u64)>>,
}

impl History {
    /// The life of a thread; `None` if the trace does not name it.
    pub fn life(&self, thread: ThreadId) -> Option<&Life> {
        self.lives.get(&thread)
    }

    /// All threads.
    pub fn lives(&self) -> impl Iterator<Item = (ThreadId, &Life)> {
        self.lives.iter().map(|(thread, life)| (*thread, life))
    }

    /// The last name of a thread that the trace has.
    pub fn name(&self, thread: ThreadId) -> Option<Comm> {
        self.lives.get(&thread).map(|life| life.name).filter(|name| !name.as_bytes().is_empty())
    }

    /// A request by its number.
    pub fn request(&self, id: RequestId) -> Option<&Request> {
        self.requests.get(id.0 as usize)
    }

    /// The last work item that a thread began in the given time, its end
    /// included.
    pub fn work_begun(
        &self,
        thread: ThreadId,
        from: Timestamp,
        to: Timestamp,
    ) -> Option<&WorkItem> {
        let items = self.work.get(&thread)?;
        let end = items.partition_point(|item| item.begun <= to);
        items.get(end.checked_sub(1)?).filter(|item| item.begun >= from)
    }

    /// Sets the clock frequencies in kHz with which the trace begins.
    pub fn begin_with_clocks(&mut self, clocks: &BTreeMap<usize, u64>) {
        for (&cpu, &khz) in clocks {
            self.clocks.entry(cpu).or_default().insert(0, (Timestamp::default(), khz));
        }
    }

    /// The clock frequency of a CPU in kHz at each of its changes.
    pub fn clock(&self, cpu: usize) -> &[(Timestamp, u64)] {
        self.clocks.get(&cpu).map_or(&[], Vec::as_slice)
    }
}
