//! Side tables for content that does not fit into a packed event.

use super::super::binder_role::BinderRole;
use super::super::event::{Event, EventKind, Irq, PrevState, Softirq, Task};
use super::super::lock_flags::LockFlags;
use super::super::name::Label;
use super::super::system_call::SystemCall;
use super::numbered::Numbered;
use super::packed::{Packed, Tag, joined, split};
use crate::sched::ThreadId;

/// The side tables of events.
#[derive(Debug, Clone, Default)]
pub(super) struct Sides {
    tasks: Numbered<Task>,
    names: Numbered<Label>,
    /// Arguments of system calls.
    calls: Vec<[u64; 6]>,
    /// Events that are rare, or have numbers too large for the packed form.
    others: Vec<EventKind>,
}

/// The number of a state in `Packed::small`.
fn small_of(state: PrevState) -> u16 {
    match state {
        PrevState::Asleep => 0,
        PrevState::Runnable => 1,
        PrevState::Stopped => 2,
        PrevState::Uninterruptible => 3,
    }
}

/// The inverse of [`small_of`].
fn state_of(small: u16) -> PrevState {
    match small {
        0 => PrevState::Asleep,
        1 => PrevState::Runnable,
        2 => PrevState::Stopped,
        _ => PrevState::Uninterruptible,
    }
}

/// The number of a role in `Packed::small`.
fn small_of_role(role: BinderRole) -> u16 {
    match role {
        BinderRole::Call => 0,
        BinderRole::OneWay => 1,
        BinderRole::Reply => 2,
    }
}

/// The inverse of [`small_of_role`].
fn role_of(small: u16) -> BinderRole {
    match small {
        0 => BinderRole::Call,
        1 => BinderRole::OneWay,
        _ => BinderRole::Reply,
    }
}

type Content = (Tag, u16, [u32; 2]);

impl Sides {
    #[inline]
    pub(super) fn pack(&mut self, event: &Event) -> Packed {
        let Event { at, current, context, kind } = *event;
        let (tag, small, words) = self.content(&kind).unwrap_or_else(|| self.other(kind));
        Packed { at, current, tag, context, small, words }
    }

    /// The packed content of an event; `None` if the event belongs to `others`.
    #[inline]
    fn content(&mut self, kind: &EventKind) -> Option<Content> {
        Some(match *kind {
            EventKind::Switch { prev, prev_state, next } => {
                let tasks = [prev, next].map(|task| self.tasks.number(task));
                (Tag::Switch, small_of(prev_state), tasks)
            }
            EventKind::Waking { task, cpu } => {
                (Tag::Waking, 0, [self.tasks.number(task), u32::try_from(cpu).ok()?])
            }
            EventKind::Wakeup { task, cpu } => {
                (Tag::Wakeup, 0, [self.tasks.number(task), u32::try_from(cpu).ok()?])
            }
            EventKind::IpiSent { cpu, reschedules } => {
                (Tag::IpiSent, reschedules.into(), [u32::try_from(cpu).ok()?, 0])
            }
            EventKind::Migrate { task, from, to } => {
                let (from, to) = (u16::try_from(from).ok()?, u32::try_from(to).ok()?);
                (Tag::Migrate, from, [self.tasks.number(task), to])
            }
            EventKind::IrqEntry(Irq { number, name }) => {
                (Tag::IrqEntry, 0, [number.cast_unsigned(), self.names.number(name)])
            }
            EventKind::IrqExit(number) => (Tag::IrqExit, 0, [number.cast_unsigned(), 0]),
            EventKind::VectorEntry(name) => (Tag::VectorEntry, 0, [self.names.number(name), 0]),
            EventKind::VectorExit(name) => (Tag::VectorExit, 0, [self.names.number(name), 0]),
            EventKind::SoftirqEntry(Softirq(vector)) => (Tag::SoftirqEntry, 0, [vector, 0]),
            EventKind::SoftirqExit(Softirq(vector)) => (Tag::SoftirqExit, 0, [vector, 0]),
            EventKind::TimerArmed { timer } => (Tag::TimerArmed, 0, split(timer)),
            EventKind::TimerExpires { timer } => (Tag::TimerExpires, 0, split(timer)),
            EventKind::TimerEnds => (Tag::TimerEnds, 0, [0, 0]),
            EventKind::PageFault { address } => (Tag::PageFault, 0, split(address)),
            EventKind::ReclaimBegins => (Tag::ReclaimBegins, 0, [0, 0]),
            EventKind::ReclaimEnds => (Tag::ReclaimEnds, 0, [0, 0]),
            EventKind::TcpRetransmits => (Tag::TcpRetransmits, 0, [0, 0]),
            EventKind::LockContended { lock, flags } => (Tag::LockContended, flags.0, split(lock)),
            EventKind::LockAcquired { lock } => (Tag::LockAcquired, 0, split(lock)),
            EventKind::Idle(state) => {
                (Tag::Idle, state.is_some().into(), [state.unwrap_or_default(), 0])
            }
            EventKind::PacketQueued { packet } => (Tag::PacketQueued, 0, split(packet)),
            EventKind::PacketTaken { packet } => (Tag::PacketTaken, 0, split(packet)),
            EventKind::BinderSent { transaction, process, role } => {
                (Tag::BinderSent, small_of_role(role), [transaction, process.0])
            }
            EventKind::BinderReceived { transaction } => (Tag::BinderReceived, 0, [transaction, 0]),
            EventKind::SystemCall(SystemCall::Begins { number, arguments }) => {
                let number = u16::try_from(number).ok()?;
                self.calls.push(arguments);
                (Tag::Call, number, split(self.calls.len() as u64 - 1))
            }
            EventKind::Inherits { .. }
            | EventKind::Frequency { .. }
            | EventKind::WorkQueued { .. }
            | EventKind::WorkBegins { .. }
            | EventKind::Mark(_)
            | EventKind::Storage(_)
            | EventKind::SystemCall(SystemCall::Ends { .. }) => return None,
        })
    }

    fn other(&mut self, kind: EventKind) -> Content {
        self.others.push(kind);
        (Tag::Other, 0, split(self.others.len() as u64 - 1))
    }

    /// The inverse of [`pack`](Self::pack).
    #[inline]
    pub(super) fn unpack(&self, packed: &Packed) -> Event {
        let Packed { at, current, context, .. } = *packed;
        Event { at, current, context, kind: self.kind(packed) }
    }

    #[inline]
    fn kind(&self, packed: &Packed) -> EventKind {
        let Packed { tag, small, words, .. } = *packed;
        let [first, second] = words;
        match tag {
            Tag::Switch => EventKind::Switch {
                prev: self.tasks.value(first),
                prev_state: state_of(small),
                next: self.tasks.value(second),
            },
            Tag::Waking => {
                EventKind::Waking { task: self.tasks.value(first), cpu: second as usize }
            }
            Tag::Wakeup => {
                EventKind::Wakeup { task: self.tasks.value(first), cpu: second as usize }
            }
            Tag::IpiSent => EventKind::IpiSent { cpu: first as usize, reschedules: small != 0 },
            Tag::Migrate => EventKind::Migrate {
                task: self.tasks.value(first),
                from: small.into(),
                to: second as usize,
            },
            Tag::IrqEntry => EventKind::IrqEntry(Irq {
                number: first.cast_signed(),
                name: self.names.value(second),
            }),
            Tag::IrqExit => EventKind::IrqExit(first.cast_signed()),
            Tag::VectorEntry => EventKind::VectorEntry(self.names.value(first)),
            Tag::VectorExit => EventKind::VectorExit(self.names.value(first)),
            Tag::SoftirqEntry => EventKind::SoftirqEntry(Softirq(first)),
            Tag::SoftirqExit => EventKind::SoftirqExit(Softirq(first)),
            Tag::TimerArmed => EventKind::TimerArmed { timer: joined(words) },
            Tag::TimerExpires => EventKind::TimerExpires { timer: joined(words) },
            Tag::TimerEnds => EventKind::TimerEnds,
            Tag::PageFault => EventKind::PageFault { address: joined(words) },
            Tag::ReclaimBegins => EventKind::ReclaimBegins,
            Tag::ReclaimEnds => EventKind::ReclaimEnds,
            Tag::TcpRetransmits => EventKind::TcpRetransmits,
            Tag::LockContended => {
                EventKind::LockContended { lock: joined(words), flags: LockFlags(small) }
            }
            Tag::LockAcquired => EventKind::LockAcquired { lock: joined(words) },
            Tag::Idle => EventKind::Idle((small != 0).then_some(first)),
            Tag::PacketQueued => EventKind::PacketQueued { packet: joined(words) },
            Tag::PacketTaken => EventKind::PacketTaken { packet: joined(words) },
            Tag::BinderSent => EventKind::BinderSent {
                transaction: first,
                process: ThreadId(second),
                role: role_of(small),
            },
            Tag::BinderReceived => EventKind::BinderReceived { transaction: first },
            Tag::Call => EventKind::SystemCall(SystemCall::Begins {
                number: small.into(),
                arguments: self.calls[joined(words) as usize],
            }),
            Tag::Other => self.others[joined(words) as usize],
        }
    }

    pub(super) fn shrink(&mut self) {
        self.tasks.shrink();
        self.names.shrink();
        self.calls.shrink_to_fit();
        self.others.shrink_to_fit();
    }
}
