//! The cause of an interrupt, found from the events of its CPU since the interrupt began.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Context, Event, EventKind, Softirq};
use unjank_host::{Nanos, Timestamp};

use super::origin::{Cause, InterruptId, Origin};
use super::packets::Packet;

/// Softirq vectors of `include/linux/interrupt.h`.
const HI: Softirq = Softirq(0);
const NET_TX: Softirq = Softirq(2);
const BLOCK: Softirq = Softirq(4);
const IRQ_POLL: Softirq = Softirq(5);
const TASKLET: Softirq = Softirq(6);

/// How long after its last event an interrupt is taken to go on, where no event marks its end. An
/// interrupt lasts tens of microseconds.
const SAME: Nanos = Nanos::from_micros(100);

/// The interrupts of one CPU.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// The cause of the current interrupt, if it is known.
    known: Option<KnownInterrupt>,
    /// Whether the ends of timers are recorded.
    timers_end: bool,
    /// The device that interrupted last, and when its handler began or ended; `None` once a thread
    /// has had an event since.
    device: Option<(InterruptId, Timestamp)>,
    /// The vector of the current softirq, and its cause, if that is known.
    soft: Option<(Softirq, Option<Cause>)>,
    /// The packet that the current softirq delivers, if it was sent on this machine.
    packet: Option<Packet>,
}

/// What is known of an interrupt.
#[derive(Debug, Clone, Copy)]
struct KnownInterrupt {
    cause: Cause,
    /// The time of the event that shows the cause.
    at: Timestamp,
    /// Whether a handler was entered, whose exit marks the interrupt's end. The processor's own
    /// interrupts have no such mark: the next event of an idle CPU may be of another interrupt.
    handled: bool,
}

impl Interrupts {
    /// Notes that the handler of a device's interrupt begins.
    pub(super) fn enter(&mut self, at: Timestamp, device: InterruptId) {
        self.known = Some(KnownInterrupt { cause: Cause::Device(device), at, handled: true });
        self.device = Some((device, at));
    }

    /// Notes that one of the processor's own interrupts begins: its timer, or one from another CPU.
    pub(super) fn enter_own(&mut self) {
        self.known = None;
    }

    /// Notes another event of this CPU that is neither the completion of a request,
    /// nor a packet, nor the expiry of a timer.
    pub(super) fn apply(&mut self, event: &Event) {
        let Event { at, context, kind, .. } = *event;
        match kind {
            // Another interrupt may follow before a thread does something.
            EventKind::IrqExit(_) => {
                // One of the processor's own interrupts is unrelated to the device before it.
                if let (Some(KnownInterrupt { handled: true, .. }), Some((_, seen))) =
                    (self.known, &mut self.device)
                {
                    *seen = at;
                }
                self.known = None;
            }
            EventKind::SoftirqEntry(vector) => self.begin(vector, at),
            EventKind::SoftirqExit(_) => (self.soft, self.packet) = (None, None),
            EventKind::TimerEnds => {
                self.timers_end = true;
                self.is_over(context);
            }
            // Entries and exits have the flags of the interrupted context.
            EventKind::VectorEntry(_) | EventKind::VectorExit(_) => {}
            _ if context == Context::Thread => self.are_over(),
            _ => {}
        }
    }

    /// Forgets all interrupts, because a thread has an event, or events were lost.
    pub(super) fn are_over(&mut self) {
        *self = Self { timers_end: self.timers_end, ..Self::default() };
    }

    fn begin(&mut self, vector: Softirq, at: Timestamp) {
        self.packet = None;
        let device = self.device_at(at);
        let cause = match vector {
            // Without events of packets and an interrupt of a device, any thread may
            // have sent them over loopback.
            Softirq::NET_RX => device.map(|_| Cause::Network),
            HI | NET_TX | BLOCK | IRQ_POLL | TASKLET => device.map(Cause::Device),
            // Timers and requests have events of their own. Grace periods of
            // RCU and load balancing belong to no device.
            _ => None,
        };
        self.soft = Some((vector, cause));
    }

    /// The device whose handler runs, if nothing else is known of the interrupt.
    pub(super) fn handler(&self, context: Context) -> Option<InterruptId> {
        match self.known {
            Some(KnownInterrupt { cause: Cause::Device(device), .. })
                if context == Context::Irq =>
            {
                Some(device)
            }
            _ => None,
        }
    }

    /// Notes the cause of the current softirq or interrupt. The context of a thread has none.
    pub(super) fn is_about(&mut self, at: Timestamp, context: Context, cause: Cause) {
        match (&mut self.soft, context) {
            (_, Context::Thread) => {}
            (Some((_, of_soft)), Context::Softirq) => *of_soft = Some(cause),
            _ => {
                let handled = self.known.is_some_and(|known| known.handled);
                self.known = Some(KnownInterrupt { cause, at, handled });
            }
        }
    }

    /// Notes the end of a timer callback: the timer is no longer the cause of the current
    /// interrupt.
    fn is_over(&mut self, context: Context) {
        match (&mut self.soft, context) {
            (_, Context::Thread) => {}
            (Some((_, of_soft)), Context::Softirq) => {
                *of_soft = of_soft.filter(|cause| !is_timer(*cause));
            }
            _ => self.known = self.known.filter(|known| !is_timer(known.cause)),
        }
    }

    /// Notes that an interrupt takes a packet from a queue: `None` if it came from outside.
    pub(super) fn takes(&mut self, at: Timestamp, context: Context, packet: Option<Packet>) {
        if context != Context::Thread {
            self.packet = packet;
            self.is_about(at, context, Cause::Network);
        }
    }

    /// The origin of an event of this CPU: the current thread, the sender of the packet that is
    /// delivered, or the current interrupt.
    pub(super) fn origin(&self, at: Timestamp, context: Context, current: ThreadId) -> Origin {
        let soft = match (context, self.soft) {
            (Context::Softirq, Some((_, cause))) => Some(cause),
            _ => None,
        };
        match (context, self.packet) {
            (Context::Thread, _) if current != ThreadId(0) => Origin::Thread(current),
            (Context::Softirq, Some(packet)) => packet.by,
            _ => Origin::Interrupt(soft.unwrap_or(self.cause(at)).unwrap_or(Cause::Unknown)),
        }
    }

    /// The cause of the interrupt at a moment, if it is known.
    fn cause(&self, at: Timestamp) -> Option<Cause> {
        let is_same = |known: &KnownInterrupt| {
            let is_marked = known.handled || is_timer(known.cause) && self.timers_end;
            is_marked || at.since(known.at) <= SAME
        };
        self.known.filter(is_same).map(|known| known.cause)
    }

    /// The packet that is delivered in the softirq of an event of this CPU.
    pub(super) fn packet(&self, context: Context) -> Option<Packet> {
        self.packet.filter(|_| context == Context::Softirq)
    }

    /// The device whose handler began or ended last, for an event in interrupt context. The kernel
    /// wakes a handler's thread after the end of the handler.
    pub(super) fn device(&self, at: Timestamp, context: Context) -> Option<InterruptId> {
        self.device_at(at).filter(|_| context == Context::Irq)
    }

    /// As `device`, in every context. On an idle CPU no event shows that the interrupt is over, so
    /// it counts for [`SAME`] only.
    fn device_at(&self, at: Timestamp) -> Option<InterruptId> {
        self.device.filter(|(_, seen)| at.since(*seen) <= SAME).map(|(device, _)| device)
    }
}

const fn is_timer(cause: Cause) -> bool {
    matches!(cause, Cause::Timer(_))
}
