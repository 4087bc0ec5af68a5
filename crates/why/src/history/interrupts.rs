//! What an interrupt was about: the events of a CPU since it was interrupted.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Context, EventKind, Label, Softirq};

use super::origin::{Cause, Origin};
use super::packets::Packet;

/// Vectors of soft interrupts, of `include/linux/interrupt.h`.
const HI: Softirq = Softirq(0);
const NET_TX: Softirq = Softirq(2);
const NET_RX: Softirq = Softirq(3);
const BLOCK: Softirq = Softirq(4);
const IRQ_POLL: Softirq = Softirq(5);
const TASKLET: Softirq = Softirq(6);

/// The interrupts of one CPU.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// What the current interrupt is about, as far as it is known.
    cause: Option<Cause>,
    /// The device that interrupted last since a thread did something.
    device: Option<Label>,
    /// The current soft interrupt, and what it is about, as far as it is known.
    soft: Option<(Softirq, Option<Cause>)>,
    /// The packet that a soft interrupt works on, if it did not come from
    /// outside.
    packet: Option<Packet>,
}

impl Interrupts {
    /// Notes an event of this CPU that is neither the completion of a request
    /// nor a packet.
    pub(super) fn apply(&mut self, context: Context, current: ThreadId, kind: &EventKind) {
        match *kind {
            EventKind::IrqEntry(irq) => {
                self.cause = Some(Cause::Device(irq.name));
                self.device = Some(irq.name);
            }
            // Another interrupt may follow before a thread does something.
            EventKind::IrqExit(_) => self.cause = None,
            EventKind::SoftirqEntry(vector) => self.begin(vector, current),
            EventKind::SoftirqExit(_) => (self.soft, self.packet) = (None, None),
            EventKind::TimerExpires => self.is_about(context, Cause::Timer),
            // Entries and exits have the flags of what they interrupt.
            EventKind::VectorEntry(_) | EventKind::VectorExit(_) => {}
            _ if context == Context::Thread => *self = Self::default(),
            _ => {}
        }
    }

    fn begin(&mut self, vector: Softirq, current: ThreadId) {
        self.packet = None;
        let cause = match vector {
            // Without events of packets: if no device had interrupted, the
            // current thread sent them over loopback.
            NET_RX if self.device.is_none() && current != ThreadId(0) => {
                self.packet = Some(Packet { sent: None, by: Origin::Thread(current) });
                None
            }
            NET_RX => Some(Cause::Network),
            HI | NET_TX | BLOCK | IRQ_POLL | TASKLET => self.device.map(Cause::Device),
            // Timers and requests have events of their own. Grace periods of
            // RCU and load balancing belong to no device.
            _ => None,
        };
        self.soft = Some((vector, cause));
    }

    /// The device whose handler runs, if nothing else is known of the interrupt.
    pub(super) fn handler(&self, context: Context) -> Option<Label> {
        match self.cause {
            Some(Cause::Device(name)) if context == Context::Irq => Some(name),
            _ => None,
        }
    }

    /// Notes what the present interrupt is about.
    pub(super) fn is_about(&mut self, context: Context, cause: Cause) {
        match (&mut self.soft, context) {
            (_, Context::Thread) => {}
            (Some((_, of_soft)), Context::Softirq) => *of_soft = Some(cause),
            _ => self.cause = Some(cause),
        }
    }

    /// Notes that a packet is taken, which a thread of this machine has sent, or
    /// which came from outside.
    pub(super) fn takes(&mut self, context: Context, packet: Option<Packet>) {
        if context != Context::Thread {
            self.packet = packet;
            self.is_about(context, Cause::Network);
        }
    }

    /// Who causes an event of this CPU.
    pub(super) fn origin(&self, context: Context, current: ThreadId) -> Origin {
        let soft = match (context, self.soft) {
            (Context::Softirq, Some((_, cause))) => Some(cause),
            _ => None,
        };
        match (context, self.packet) {
            (Context::Thread, _) if current != ThreadId(0) => Origin::Thread(current),
            (Context::Softirq, Some(packet)) => packet.by,
            _ => Origin::Interrupt(soft.unwrap_or(self.cause).unwrap_or(Cause::Unknown)),
        }
    }

    /// The packet that an event of this CPU is about.
    pub(super) fn packet(&self, context: Context) -> Option<Packet> {
        self.packet.filter(|_| context == Context::Softirq)
    }

    /// The device whose interrupt began or ended last, if nothing has happened
    /// since: it wakes the thread of its interrupt after the end of its handler.
    pub(super) fn device(&self, context: Context) -> Option<Label> {
        self.device.filter(|_| context == Context::Irq)
    }
}
