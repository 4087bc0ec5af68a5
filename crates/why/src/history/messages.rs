//! Transactions of binder that are on their way.

use std::collections::HashMap;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;

/// A transaction, or a reply to one, that a thread sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    /// When the driver began to copy it. The wake-up of the receiver comes later.
    pub(super) sent: Timestamp,
    /// Who sent it.
    pub(super) by: ThreadId,
}

/// Transactions that were sent and not received, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Messages(HashMap<u32, Message>);

impl Messages {
    pub(super) fn send(&mut self, transaction: u32, message: Message) {
        self.0.insert(transaction, message);
    }

    /// Removes and returns a transaction that a thread receives; `None` if the trace does not have
    /// its sender.
    pub(super) fn receive(&mut self, transaction: u32) -> Option<Message> {
        self.0.remove(&transaction)
    }
}
