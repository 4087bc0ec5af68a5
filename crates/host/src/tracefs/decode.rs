//! Decodes the bytes of a record into an [`Event`], without an allocation for
//! each record.

use super::binder_role::BinderRole;
use super::event::{Context, Event, EventKind, Irq, PrevState, Softirq, Task};
use super::format::{Field, Format};
use super::lock_flags::LockFlags;
use super::name::{Comm, Label};
use super::page::Record;
use super::{storage, system_call};
use crate::sched::ThreadId;
use unjank_units::Hertz;

/// Decodes the records of the events whose formats it was given.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    known: Vec<LearnedEvent>,
    /// For the id of an event, its index in `known` plus 1; 0 for an event that
    /// was not learned.
    places: Vec<u16>,
}

#[derive(Debug, Clone, Copy)]
struct LearnedEvent {
    /// `common_pid`: the current thread.
    current: Field,
    /// `common_flags`: the [`Context`] of the event.
    flags: Field,
    recipe: Recipe,
}

/// The positions of an event's fields in its records.
#[derive(Debug, Clone, Copy)]
enum Recipe {
    Switch { prev: TaskFields, prev_state: Field, next: TaskFields },
    Waking(TaskFields, Field),
    Wakeup(TaskFields, Field),
    IpiSent { cpu: Field, callback: Field },
    Migrate { task: TaskFields, from: Field, to: Field },
    IrqEntry { number: Field, name: Field },
    IrqExit(Field),
    VectorEntry(Label),
    VectorExit(Label),
    SoftirqEntry(Field),
    SoftirqExit(Field),
    TimerArmed(Field),
    TimerExpires(Field),
    TimerEnds,
    Inherits { thread: Field, from: Field, to: Field },
    PageFault(Field),
    TcpRetransmits,
    ReclaimBegins,
    ReclaimEnds,
    LockContended { lock: Field, flags: Field },
    LockAcquired(Field),
    Idle(Field),
    Frequency { khz: Field, cpu: Field },
    WorkQueued { item: Field, function: Field },
    WorkBegins { item: Field, function: Field },
    PacketQueued(Field),
    PacketTaken(Field),
    BinderSent { id: Field, process: Option<Field>, reply: Option<Field>, flags: Option<Field> },
    BinderReceived(Field),
    Mark(Field),
    Storage(storage::Recipe),
    SystemCall(system_call::Recipe),
}

#[derive(Debug, Clone, Copy)]
struct TaskFields {
    comm: Field,
    tid: Field,
    prio: Field,
}

impl Decoder {
    /// Learns an event of `system` from its `format` file.
    ///
    /// # Errors
    /// The reason why records of this event cannot be decoded: the event is
    /// unknown to this crate, or lacks a field.
    pub fn learn(&mut self, system: &str, format: &Format) -> Result<(), String> {
        let field =
            |name: &str| format.field(name).ok_or_else(|| format!("it has no field {name}"));
        let task = |comm: &str, tid: &str, prio: &str| -> Result<_, String> {
            Ok(TaskFields { comm: field(comm)?, tid: field(tid)?, prio: field(prio)? })
        };
        let woken = || task("comm", "pid", "prio");
        let recipe = match (system, format.name.as_str()) {
            ("sched", "sched_switch") => Recipe::Switch {
                prev: task("prev_comm", "prev_pid", "prev_prio")?,
                prev_state: field("prev_state")?,
                next: task("next_comm", "next_pid", "next_prio")?,
            },
            ("sched", "sched_waking") => Recipe::Waking(woken()?, field("target_cpu")?),
            ("sched", "sched_wakeup" | "sched_wakeup_new") => {
                Recipe::Wakeup(woken()?, field("target_cpu")?)
            }
            ("sched", "sched_migrate_task") => {
                let (from, to) = (field("orig_cpu")?, field("dest_cpu")?);
                Recipe::Migrate { task: woken()?, from, to }
            }
            ("ipi", "ipi_send_cpu") => {
                Recipe::IpiSent { cpu: field("cpu")?, callback: field("callback")? }
            }
            ("irq", "irq_handler_entry") => {
                Recipe::IrqEntry { number: field("irq")?, name: field("name")? }
            }
            ("irq", "irq_handler_exit") => Recipe::IrqExit(field("irq")?),
            ("irq", "softirq_entry") => Recipe::SoftirqEntry(field("vec")?),
            ("irq", "softirq_exit") => Recipe::SoftirqExit(field("vec")?),
            ("timer", "hrtimer_start") => Recipe::TimerArmed(field("hrtimer")?),
            ("timer", "hrtimer_expire_entry") => Recipe::TimerExpires(field("hrtimer")?),
            ("timer", "timer_expire_entry") => Recipe::TimerExpires(field("timer")?),
            ("timer", "hrtimer_expire_exit" | "timer_expire_exit") => Recipe::TimerEnds,
            ("sched", "sched_pi_setprio") => Recipe::Inherits {
                thread: field("pid")?,
                from: field("oldprio")?,
                to: field("newprio")?,
            },
            ("exceptions", "page_fault_user") => Recipe::PageFault(field("address")?),
            ("vmscan", "mm_vmscan_direct_reclaim_begin" | "mm_vmscan_memcg_reclaim_begin") => {
                Recipe::ReclaimBegins
            }
            ("vmscan", "mm_vmscan_direct_reclaim_end" | "mm_vmscan_memcg_reclaim_end") => {
                Recipe::ReclaimEnds
            }
            ("tcp", "tcp_retransmit_skb") => Recipe::TcpRetransmits,
            ("lock", "contention_begin") => {
                Recipe::LockContended { lock: field("lock_addr")?, flags: field("flags")? }
            }
            ("lock", "contention_end") => Recipe::LockAcquired(field("lock_addr")?),
            ("power", "cpu_idle") => Recipe::Idle(field("state")?),
            ("power", "cpu_frequency") => {
                Recipe::Frequency { khz: field("state")?, cpu: field("cpu_id")? }
            }
            ("workqueue", "workqueue_queue_work") => {
                Recipe::WorkQueued { item: field("work")?, function: field("function")? }
            }
            ("workqueue", "workqueue_execute_start") => {
                Recipe::WorkBegins { item: field("work")?, function: field("function")? }
            }
            ("net", "netif_rx") => Recipe::PacketQueued(field("skbaddr")?),
            ("net", "netif_receive_skb") => Recipe::PacketTaken(field("skbaddr")?),
            // The driver in Rust of Linux 6.18 has a system of its own.
            ("binder" | "rust_binder", "binder_transaction") => {
                let [process, reply, flags] =
                    ["to_proc", "reply", "flags"].map(|name| format.field(name));
                Recipe::BinderSent { id: field("debug_id")?, process, reply, flags }
            }
            ("binder" | "rust_binder", "binder_transaction_received") => {
                Recipe::BinderReceived(field("debug_id")?)
            }
            ("ftrace", "print") => Recipe::Mark(field("buf")?),
            ("irq_vectors", name) => match name.rsplit_once('_') {
                Some((vector, "entry")) => Recipe::VectorEntry(vector.into()),
                Some((vector, "exit")) => Recipe::VectorExit(vector.into()),
                _ => return Err("it is not decoded".to_owned()),
            },
            ("raw_syscalls", _) => match system_call::Recipe::learn(system, format)? {
                Some(recipe) => Recipe::SystemCall(recipe),
                None => return Err("it is not decoded".to_owned()),
            },
            _ => match storage::Recipe::learn(system, format)? {
                Some(recipe) => Recipe::Storage(recipe),
                None => return Err("it is not decoded".to_owned()),
            },
        };
        let (current, flags) = (field("common_pid")?, field("common_flags")?);
        let known = LearnedEvent { current, flags, recipe };
        let id = usize::from(format.id);
        self.places.resize(self.places.len().max(id + 1), 0);
        if let Some(before) = usize::from(self.places[id]).checked_sub(1) {
            self.known[before] = known;
        } else {
            self.known.push(known);
            // Only the last of 2¹⁶ events would not fit; a kernel has some thousand.
            self.places[id] = u16::try_from(self.known.len()).unwrap_or(0);
        }
        Ok(())
    }

    /// Decodes `record`; `None` for an event that was not learned, or a record
    /// too short for its event.
    #[inline]
    pub fn decode(&self, record: &Record) -> Option<Event> {
        let id = u16::from_le_bytes(record.data.get(..2)?.try_into().ok()?);
        let place = *self.places.get(usize::from(id))?;
        let known = self.known.get(usize::from(place).checked_sub(1)?)?;
        let current = ThreadId(known.current.number(record.data)? as u32);
        let context = Context::of_flags(known.flags.number(record.data)?);
        Some(Event { at: record.at, current, context, kind: known.recipe.apply(record.data)? })
    }
}

impl Recipe {
    fn apply(&self, record: &[u8]) -> Option<EventKind> {
        let number = |field: &Field| field.number(record);
        let cpu = |field: &Field| usize::try_from(field.number(record)?).ok();
        let softirq = |field: &Field| Some(Softirq(field.number(record)? as u32));
        Some(match self {
            Self::Switch { prev, prev_state, next } => EventKind::Switch {
                prev: prev.task(record)?,
                prev_state: PrevState::of_bits(number(prev_state)?),
                next: next.task(record)?,
            },
            Self::Waking(task, to) => EventKind::Waking { task: task.task(record)?, cpu: cpu(to)? },
            Self::Wakeup(task, to) => EventKind::Wakeup { task: task.task(record)?, cpu: cpu(to)? },
            Self::IpiSent { cpu: to, callback } => {
                EventKind::IpiSent { cpu: cpu(to)?, reschedules: number(callback)? == 0 }
            }
            Self::Migrate { task, from, to } => {
                EventKind::Migrate { task: task.task(record)?, from: cpu(from)?, to: cpu(to)? }
            }
            Self::IrqEntry { number: irq, name } => EventKind::IrqEntry(Irq {
                number: number(irq)? as i32,
                name: Label::new(name.bytes(record)?),
            }),
            Self::IrqExit(irq) => EventKind::IrqExit(number(irq)? as i32),
            Self::VectorEntry(name) => EventKind::VectorEntry(*name),
            Self::VectorExit(name) => EventKind::VectorExit(*name),
            Self::SoftirqEntry(vector) => EventKind::SoftirqEntry(softirq(vector)?),
            Self::SoftirqExit(vector) => EventKind::SoftirqExit(softirq(vector)?),
            Self::Frequency { khz, cpu: of } => EventKind::Frequency {
                cpu: cpu(of)?,
                frequency: Hertz::from_khz(u64::from(number(khz)? as u32)),
            },
            Self::TimerArmed(timer) => EventKind::TimerArmed { timer: number(timer)? as u64 },
            Self::TimerExpires(timer) => EventKind::TimerExpires { timer: number(timer)? as u64 },
            Self::TimerEnds => EventKind::TimerEnds,
            Self::Inherits { thread, from, to } => EventKind::Inherits {
                thread: ThreadId(number(thread)? as u32),
                from: number(from)? as i32,
                to: number(to)? as i32,
            },
            Self::PageFault(address) => EventKind::PageFault { address: number(address)? as u64 },
            Self::TcpRetransmits => EventKind::TcpRetransmits,
            Self::ReclaimBegins => EventKind::ReclaimBegins,
            Self::ReclaimEnds => EventKind::ReclaimEnds,
            Self::LockContended { lock, flags } => EventKind::LockContended {
                lock: number(lock)? as u64,
                flags: LockFlags(number(flags)? as u16),
            },
            Self::LockAcquired(lock) => EventKind::LockAcquired { lock: number(lock)? as u64 },
            // Leaving an idle state is reported as state −1.
            Self::Idle(state) => match number(state)? as u32 {
                u32::MAX => EventKind::Idle(None),
                state => EventKind::Idle(Some(state)),
            },
            Self::WorkQueued { item, function } => EventKind::WorkQueued {
                item: number(item)? as u64,
                function: number(function)? as u64,
            },
            Self::WorkBegins { item, function } => EventKind::WorkBegins {
                item: number(item)? as u64,
                function: number(function)? as u64,
            },
            Self::PacketQueued(packet) => {
                EventKind::PacketQueued { packet: number(packet)? as u64 }
            }
            Self::PacketTaken(packet) => EventKind::PacketTaken { packet: number(packet)? as u64 },
            Self::BinderSent { id, process, reply, flags } => {
                let maybe = |field: &Option<Field>| field.as_ref().map_or(Some(0), number);
                EventKind::BinderSent {
                    transaction: number(id)? as u32,
                    process: ThreadId(maybe(process)? as u32),
                    role: BinderRole::of(maybe(reply)? as u64, maybe(flags)? as u64),
                }
            }
            Self::BinderReceived(id) => {
                EventKind::BinderReceived { transaction: number(id)? as u32 }
            }
            Self::Mark(text) => EventKind::Mark(Label::new(trim_end(text.bytes(record)?))),
            Self::Storage(recipe) => EventKind::Storage(recipe.apply(record)?),
            Self::SystemCall(recipe) => EventKind::SystemCall(recipe.apply(record)?),
        })
    }
}

impl TaskFields {
    fn task(&self, record: &[u8]) -> Option<Task> {
        Some(Task {
            tid: ThreadId(self.tid.number(record)? as u32),
            comm: Comm::new(self.comm.bytes(record)?),
            prio: self.prio.number(record)? as i32,
        })
    }
}

/// Removes the line feed and zeroes that the kernel appends to a mark.
fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !matches!(byte, 0 | b'\n'));
    &text[..end.map_or(0, |last| last + 1)]
}

#[cfg(test)]
mod tests;
