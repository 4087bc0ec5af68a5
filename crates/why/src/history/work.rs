//! Work items of the kernel's workqueues, and the threads or interrupts that queued them.

use std::collections::HashMap;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;

use super::by_id::ById;
use super::origin::{Cause, Origin};

/// A work item that a worker thread began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkItem {
    /// When it began.
    pub begun: Timestamp,
    /// The address of the kernel function that the worker called.
    pub function: u64,
    /// Its queueing, if that is in the trace.
    pub queued: Option<Queued>,
}

/// The queueing of a work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued {
    /// When the item was queued.
    pub at: Timestamp,
    /// The thread or the interrupt that queued it.
    pub by: Origin,
}

/// Work items that wait in queues, by address, and those that workers have begun.
#[derive(Debug, Default)]
pub(super) struct Queues {
    waiting: HashMap<u64, Queued>,
    begun: ById<Vec<WorkItem>>,
}

impl Queues {
    pub(super) fn queue(&mut self, item: u64, at: Timestamp, by: Origin) {
        self.waiting.insert(item, Queued { at, by });
    }

    /// Removes an item that begins now; its queueing, if that is in the trace.
    pub(super) fn take(&mut self, item: u64) -> Option<Queued> {
        self.waiting.remove(&item)
    }

    pub(super) fn begin(&mut self, worker: ThreadId, item: u64, function: u64, at: Timestamp) {
        let queued = self.take(item);
        self.begun.entry(worker).or_default().push(WorkItem { begun: at, function, queued });
    }

    /// The issuer of a request that a thread gives to the driver. If the interrupt of a device
    /// queued the work item of that thread, it is the interrupt: the request had waited in the
    /// block layer, because the driver's queue was full until another request ended. A timer or a
    /// packet frees no place in that queue.
    pub(super) fn dispatched_for(&self, by: Origin) -> Origin {
        let Origin::Thread(worker) = by else { return by };
        let queued = self.begun.get(&worker).and_then(|items| items.last()?.queued);
        match queued {
            Some(Queued { by: Origin::Interrupt(Cause::Timer(_) | Cause::Network), .. }) => by,
            Some(Queued { by: interrupt @ Origin::Interrupt(_), .. }) => interrupt,
            _ => by,
        }
    }

    pub(super) fn finish(self) -> ById<Vec<WorkItem>> {
        self.begun
    }
}
