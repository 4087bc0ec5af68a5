//! `FtraceEvent`: an event of the kernel. Field numbers are those of `ftrace/ftrace_event.proto` and
//! of the messages in `ftrace/*.proto` of Perfetto.

use super::wire::{Fields, Malformed, Small, Value};
use crate::block_device::DeviceNumber;
use crate::clock::Timestamp;
use crate::sched::ThreadId;
use crate::tracefs::binder_role::BinderRole;
use crate::tracefs::event::{Context, EventKind, Irq, PrevState, Softirq, Task};
use crate::tracefs::name::{Comm, Label, Name};
use crate::tracefs::storage::{DeviceRequest, FilePages, StorageEvent};
use crate::tracefs::system_call::SystemCall;
use unjank_units::Hertz;

/// `CLONE_THREAD` of `clone(2)`.
const CLONE_THREAD: u64 = 0x0001_0000;

/// `FtraceEvent.print`: a line in `trace_marker`.
pub(super) const PRINT: u32 = 3;
/// `FtraceEvent.generic`: an event that Perfetto has no message for.
pub(super) const GENERIC: u32 = 327;
/// `FtraceEvent.task_newtask`, which precedes `sched_process_fork`.
pub(super) const NEW_TASK: u32 = 235;
/// `FtraceEvent.sched_process_fork`.
pub(super) const FORK: u32 = 239;

/// The head of an `FtraceEvent`, and the message in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begin<'a> {
    pub(super) at: Timestamp,
    pub(super) current: ThreadId,
    pub(super) context: Context,
    /// The number of the field that contains the message.
    pub(super) event: u32,
    pub(super) message: &'a [u8],
}

impl<'a> Begin<'a> {
    pub(super) fn of(event: &'a [u8]) -> Result<Self, Malformed> {
        let (mut at, mut current, mut flags, mut found) = (0, 0, 0, None);
        for field in Fields::of(event) {
            match field? {
                (1, value) => at = value.number()?,
                (2, value) => current = value.number()?,
                (5, value) => flags = value.number()?,
                (number, Value::Bytes(message)) => found = Some((number, message)),
                _ => {}
            }
        }
        let (event, message) = found.ok_or(Malformed)?;
        Ok(Self {
            at: Timestamp::from_nanos(at),
            current: ThreadId(current as u32),
            context: Context::of_flags(flags.cast_signed()),
            event,
            message,
        })
    }
}

/// The kind and content of an event by its field number; `None` for events that are not used.
pub(super) fn kind(event: u32, message: &[u8]) -> Result<Option<EventKind>, Malformed> {
    let fields = Small::of(message)?;
    let thread = |field| ThreadId(fields.number(field) as u32);
    let cpu = |field| usize::try_from(fields.signed(field)).map_err(|_| Malformed);
    let storage = |event| Some(EventKind::Storage(event));
    Ok(match event {
        4 => Some(EventKind::Switch {
            prev: task(&fields, [1, 2, 3]),
            prev_state: PrevState::of_bits(fields.number(4).cast_signed()),
            next: task(&fields, [5, 6, 7]),
        }),
        11 => Some(EventKind::Frequency {
            cpu: cpu(2)?,
            frequency: Hertz::from_khz(fields.number(1)),
        }),
        13 => Some(EventKind::Idle(match fields.number(1) as u32 {
            // The kernel's −1: the CPU leaves its idle state.
            u32::MAX => None,
            state => Some(state),
        })),
        17 | 114 => Some(EventKind::Wakeup { task: task(&fields, [1, 2, 3]), cpu: cpu(5)? }),
        20 => Some(EventKind::Waking { task: task(&fields, [1, 2, 3]), cpu: cpu(5)? }),
        24 => Some(EventKind::SoftirqEntry(Softirq(fields.number(1) as u32))),
        25 => Some(EventKind::SoftirqExit(Softirq(fields.number(1) as u32))),
        36 => Some(EventKind::IrqEntry(Irq {
            number: fields.signed(1),
            name: Label::new(fields.text(2)),
        })),
        37 => Some(EventKind::IrqExit(fields.signed(1))),
        45 => storage(StorageEvent::Issued(request(&fields))),
        125 => storage(StorageEvent::Completed(request(&fields))),
        126 => storage(StorageEvent::Queued(request(&fields))),
        46 | 607 => Some(EventKind::ReclaimBegins),
        47 | 608 => Some(EventKind::ReclaimEnds),
        363 => Some(EventKind::TcpRetransmits),
        50 => Some(EventKind::BinderSent {
            transaction: fields.number(1) as u32,
            process: thread(3),
            role: BinderRole::of(fields.number(5), fields.number(7)),
        }),
        51 => Some(EventKind::BinderReceived { transaction: fields.number(1) as u32 }),
        58 => Some(EventKind::WorkBegins { item: fields.number(1), function: fields.number(2) }),
        59 => Some(EventKind::WorkQueued { item: fields.number(1), function: fields.number(2) }),
        97 => storage(StorageEvent::Cached(FilePages {
            device: device(fields.number(4)),
            inode: fields.number(2),
            first: fields.number(3),
            order: 0,
        })),
        NEW_TASK => storage(StorageEvent::Started {
            thread: thread(1),
            same_process: fields.number(3) & CLONE_THREAD != 0,
        }),
        237 => storage(StorageEvent::Executed {
            process: thread(2),
            before: if fields.number(3) == 0 { thread(2) } else { thread(3) },
            program: program(fields.text(1)),
        }),
        238 => storage(StorageEvent::Ended { thread: thread(2), last: None }),
        FORK => storage(StorageEvent::Started { thread: thread(4), same_process: false }),
        329 => Some(EventKind::SystemCall(call(message)?)),
        330 => Some(EventKind::SystemCall(SystemCall::Ends {
            number: fields.number(1).cast_signed(),
            result: fields.number(2).cast_signed(),
        })),
        353 => Some(EventKind::Inherits {
            thread: thread(4),
            from: fields.signed(3),
            to: fields.signed(2),
        }),
        360 => Some(EventKind::PacketTaken { packet: fields.number(3) }),
        491 => {
            Some(EventKind::Migrate { task: task(&fields, [1, 2, 3]), from: cpu(4)?, to: cpu(5)? })
        }
        551 => Some(EventKind::TimerArmed { timer: fields.number(1) }),
        553 | 557 => Some(EventKind::TimerExpires { timer: fields.number(1) }),
        554 | 558 => Some(EventKind::TimerEnds),
        559 => Some(EventKind::VectorEntry(LOCAL_TIMER.into())),
        560 => Some(EventKind::VectorExit(LOCAL_TIMER.into())),
        _ => None,
    })
}

/// The vector of `irq_vectors/local_timer_entry`.
const LOCAL_TIMER: &str = "local_timer";

fn task(fields: &Small<'_>, [comm, pid, prio]: [usize; 3]) -> Task {
    Task {
        tid: ThreadId(fields.number(pid) as u32),
        comm: Comm::new(fields.text(comm)),
        prio: fields.signed(prio),
    }
}

fn request(fields: &Small<'_>) -> DeviceRequest {
    DeviceRequest {
        device: device(fields.number(1)),
        sector: fields.number(2),
        sectors: fields.number(3) as u32,
        letters: Name::new(fields.text(5)),
    }
}

/// The last component of a program's path, cut as the kernel names a thread.
pub(super) fn program(path: &[u8]) -> Comm {
    let program = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    Comm::new(&program[..program.len().min(15)])
}

/// A device number. Perfetto writes it as `stat(2)` has it, not as the kernel's events do
/// (`CpuReader::TranslateBlockDeviceIDToUserspace`).
pub(super) fn device(number: u64) -> DeviceNumber {
    DeviceNumber::from_stat(number)
}

fn call(message: &[u8]) -> Result<SystemCall, Malformed> {
    let (mut number, mut listed) = (0, Vec::new());
    for field in Fields::of(message) {
        match field? {
            (1, value) => number = value.number()?.cast_signed(),
            (2, value) => value.append_to(&mut listed)?,
            _ => {}
        }
    }
    let mut arguments = [0; 6];
    for (argument, value) in arguments.iter_mut().zip(listed) {
        *argument = value;
    }
    Ok(SystemCall::Begins { number, arguments })
}
