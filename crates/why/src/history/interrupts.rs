//! What an interrupt was about: the events of a CPU since it was interrupted.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Context, EventKind, Softirq};

use super::origin::{Cause, Origin, RequestId};

/// Vectors of soft interrupts, of `include/linux/interrupt.h`.
const NET_RX: Softirq = Softirq(3);

/// The interrupts of one CPU.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// The cause of the current interrupt, as far as it is known.
    cause: Option<Cause>,
    /// Whether a device interrupted since a thread last did something.
    by_device: bool,
    /// A soft interrupt handles packets, and no device had interrupted: the
    /// current thread sent them over loopback.
    sent_by: Option<ThreadId>,
}

impl Interrupts {
    /// Notes an event of this CPU that is not the completion of a request.
    pub(super) fn apply(&mut self, context: Context, current: ThreadId, kind: &EventKind) {
        match *kind {
            EventKind::IrqEntry(irq) => {
                self.cause = Some(Cause::Device(irq.name));
                self.by_device = true;
            }
            EventKind::SoftirqEntry(NET_RX) => {
                if self.by_device || current == ThreadId(0) {
                    self.cause = Some(Cause::Network);
                } else {
                    self.sent_by = Some(current);
                }
            }
            EventKind::SoftirqExit(NET_RX) => self.sent_by = None,
            EventKind::TimerExpires => self.cause = Some(Cause::Timer),
            // Entries and exits have the flags of what they interrupt.
            EventKind::SoftirqEntry(_)
            | EventKind::SoftirqExit(_)
            | EventKind::IrqExit(_)
            | EventKind::VectorEntry(_)
            | EventKind::VectorExit(_) => {}
            _ if context == Context::Thread => *self = Self::default(),
            _ => {}
        }
    }

    /// Notes the completion of a request.
    pub(super) fn complete(&mut self, context: Context, request: Option<RequestId>) {
        if context != Context::Thread {
            self.cause = Some(request.map_or(Cause::StorageOfOld, Cause::Storage));
        }
    }

    /// Who causes an event of this CPU.
    pub(super) fn origin(&self, context: Context, current: ThreadId) -> Origin {
        match (context, self.sent_by) {
            (Context::Thread, _) if current != ThreadId(0) => Origin::Thread(current),
            (Context::Softirq, Some(sender)) => Origin::Thread(sender),
            _ => Origin::Interrupt(self.cause.unwrap_or(Cause::Unknown)),
        }
    }
}
