//! What an interrupt was about: the events of a CPU since it was interrupted.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Context, Event, EventKind, Softirq};
use unjank_host::{Nanos, Timestamp};

use super::origin::{Cause, InterruptId, Origin};
use super::packets::Packet;

/// Vectors of soft interrupts, of `include/linux/interrupt.h`.
const HI: Softirq = Softirq(0);
const NET_TX: Softirq = Softirq(2);
const NET_RX: Softirq = Softirq(3);
const BLOCK: Softirq = Softirq(4);
const IRQ_POLL: Softirq = Softirq(5);
const TASKLET: Softirq = Softirq(6);

/// How long after an event an interrupt is still the same, where nothing marks
/// its end: interrupts last some ten microseconds.
const SAME: Nanos = Nanos::from_micros(100);

/// The interrupts of one CPU.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// What the current interrupt is about, as far as it is known.
    known: Option<Known>,
    /// Whether the ends of timers are recorded.
    timers_end: bool,
    /// The device that interrupted last since a thread did something, and the begin or
    /// end of its handler.
    device: Option<(InterruptId, Timestamp)>,
    /// The current soft interrupt, and what it is about, as far as it is known.
    soft: Option<(Softirq, Option<Cause>)>,
    /// The packet that a soft interrupt works on, if it did not come from
    /// outside.
    packet: Option<Packet>,
}

/// What is known of an interrupt.
#[derive(Debug, Clone, Copy)]
struct Known {
    cause: Cause,
    /// When that was seen.
    at: Timestamp,
    /// Its handler marks its end. The processor's own interrupts have none: the
    /// next event of an idle CPU may be of another interrupt.
    handled: bool,
}

impl Interrupts {
    /// Notes that the handler of a device's interrupt begins.
    pub(super) fn enter(&mut self, at: Timestamp, device: InterruptId) {
        self.known = Some(Known { cause: Cause::Device(device), at, handled: true });
        self.device = Some((device, at));
    }

    /// Notes that an interrupt begins that the processor sent to itself or to another.
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
                // The processor's own ones have nothing to do with the device before.
                if let (Some(Known { handled: true, .. }), Some((_, seen))) =
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
            // Entries and exits have the flags of what they interrupt.
            EventKind::VectorEntry(_) | EventKind::VectorExit(_) => {}
            _ if context == Context::Thread => self.are_over(),
            _ => {}
        }
    }

    /// Forgets them.
    pub(super) fn are_over(&mut self) {
        *self = Self { timers_end: self.timers_end, ..Self::default() };
    }

    fn begin(&mut self, vector: Softirq, at: Timestamp) {
        self.packet = None;
        let device = self.device_at(at);
        let cause = match vector {
            // Without events of packets and an interrupt of a device, any thread may
            // have sent them over loopback.
            NET_RX => device.map(|_| Cause::Network),
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
            Some(Known { cause: Cause::Device(device), .. }) if context == Context::Irq => {
                Some(device)
            }
            _ => None,
        }
    }

    /// Notes what the present interrupt is about.
    pub(super) fn is_about(&mut self, at: Timestamp, context: Context, cause: Cause) {
        match (&mut self.soft, context) {
            (_, Context::Thread) => {}
            (Some((_, of_soft)), Context::Softirq) => *of_soft = Some(cause),
            _ => {
                let handled = self.known.is_some_and(|known| known.handled);
                self.known = Some(Known { cause, at, handled });
            }
        }
    }

    /// Notes that the present interrupt is no longer about a timer.
    fn is_over(&mut self, context: Context) {
        match (&mut self.soft, context) {
            (_, Context::Thread) => {}
            (Some((_, of_soft)), Context::Softirq) => {
                *of_soft = of_soft.filter(|cause| !is_timer(*cause));
            }
            _ => self.known = self.known.filter(|known| !is_timer(known.cause)),
        }
    }

    /// Notes that a packet is taken, which a thread of this machine has sent, or
    /// which came from outside.
    pub(super) fn takes(&mut self, at: Timestamp, context: Context, packet: Option<Packet>) {
        if context != Context::Thread {
            self.packet = packet;
            self.is_about(at, context, Cause::Network);
        }
    }

    /// Who causes an event of this CPU.
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

    /// What the interrupt of a moment is about.
    fn cause(&self, at: Timestamp) -> Option<Cause> {
        let is_same = |known: &Known| {
            let is_marked = known.handled || is_timer(known.cause) && self.timers_end;
            is_marked || at.since(known.at) <= SAME
        };
        self.known.filter(is_same).map(|known| known.cause)
    }

    /// The packet that an event of this CPU is about.
    pub(super) fn packet(&self, context: Context) -> Option<Packet> {
        self.packet.filter(|_| context == Context::Softirq)
    }

    /// The device whose interrupt began or ended last, if nothing has happened
    /// since: it wakes the thread of its interrupt after the end of its handler.
    pub(super) fn device(&self, at: Timestamp, context: Context) -> Option<InterruptId> {
        self.device_at(at).filter(|_| context == Context::Irq)
    }

    /// The same in every context. On an idle CPU nothing tells that it is over.
    fn device_at(&self, at: Timestamp) -> Option<InterruptId> {
        self.device.filter(|(_, seen)| at.since(*seen) <= SAME).map(|(device, _)| device)
    }
}

const fn is_timer(cause: Cause) -> bool {
    matches!(cause, Cause::Timer(_))
}
