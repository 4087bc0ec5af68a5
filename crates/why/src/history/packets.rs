//! Packets that threads of this machine send to each other.

use std::collections::HashMap;

use unjank_host::Timestamp;

use super::origin::Origin;

/// A packet that was sent on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packet {
    /// When it was put into a queue.
    pub(super) sent: Timestamp,
    /// Who sent it.
    pub(super) by: Origin,
}

/// Packets in queues, by their addresses.
#[derive(Debug, Default)]
pub(super) struct Packets {
    queued: HashMap<u64, Packet>,
}

impl Packets {
    pub(super) fn queue(&mut self, packet: u64, at: Timestamp, by: Origin) {
        self.queued.insert(packet, Packet { sent: at, by });
    }

    /// Removes and returns a packet that a softirq takes; `None` if it came from outside.
    pub(super) fn take(&mut self, packet: u64) -> Option<Packet> {
        self.queued.remove(&packet)
    }
}
