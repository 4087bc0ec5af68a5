//! Events that Perfetto has no message for. Old versions write them with the names of their fields
//! (`GenericFtraceEvent`), new ones as messages that the bundle describes
//! (`FtraceEventBundle.generic_event_descriptors`, since version 50).

use std::collections::HashMap;

use super::events::{device, program};
use super::wire::{Fields, Malformed, Value};
use crate::sched::ThreadId;
use crate::tracefs::binder_role::BinderRole;
use crate::tracefs::event::{EventKind, Irq, Softirq};
use crate::tracefs::lock_flags::LockFlags;
use crate::tracefs::name::Label;
use crate::tracefs::storage::{FilePages, StorageEvent};

/// An event with the names of its fields.
#[derive(Debug, Default)]
pub(super) struct Named<'a> {
    name: &'a str,
    fields: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Named<'a> {
    /// Reads a `GenericFtraceEvent`.
    pub(super) fn of_generic(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut named = Self::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => named.name = word(value)?,
                (2, value) => {
                    let (mut name, mut content) = ("", Value::Number(0));
                    for part in Fields::of(value.bytes()?) {
                        match part? {
                            (1, value) => name = word(value)?,
                            (3..=5, value) => content = value,
                            _ => {}
                        }
                    }
                    named.fields.push((name, content));
                }
                _ => {}
            }
        }
        Ok(named)
    }

    fn number(&self, name: &str) -> Option<u64> {
        let (_, value) = self.fields.iter().find(|(field, _)| *field == name)?;
        value.number().ok()
    }

    /// The kind and content of the event; `None` for events that are not used or lack a field.
    pub(super) fn kind(&self) -> Option<EventKind> {
        let number = |name: &str| self.number(name);
        let thread = |name: &str| Some(ThreadId(self.number(name)? as u32));
        let cpu = |name: &str| usize::try_from(self.number(name)?).ok();
        Some(match self.name {
            "irq_handler_entry" => EventKind::IrqEntry(Irq {
                number: number("irq")? as i32,
                name: Label::new(self.text("name").unwrap_or_default()),
            }),
            "softirq_entry" => EventKind::SoftirqEntry(Softirq(number("vec")? as u32)),
            "page_fault_user" => EventKind::PageFault { address: number("address")? },
            "ipi_send_cpu" => {
                EventKind::IpiSent { cpu: cpu("cpu")?, reschedules: number("callback")? == 0 }
            }
            "contention_begin" => EventKind::LockContended {
                lock: number("lock_addr")?,
                flags: LockFlags(number("flags")? as u16),
            },
            "contention_end" => EventKind::LockAcquired { lock: number("lock_addr")? },
            "netif_rx" => EventKind::PacketQueued { packet: number("skbaddr")? },
            "netif_receive_skb" => EventKind::PacketTaken { packet: number("skbaddr")? },
            "hrtimer_start" => EventKind::TimerArmed { timer: number("hrtimer")? },
            "hrtimer_expire_entry" => EventKind::TimerExpires { timer: number("hrtimer")? },
            "timer_expire_entry" => EventKind::TimerExpires { timer: number("timer")? },
            "hrtimer_expire_exit" | "timer_expire_exit" => EventKind::TimerEnds,
            "workqueue_queue_work" => EventKind::WorkQueued {
                item: number("work")?,
                function: number("function").unwrap_or_default(),
            },
            "workqueue_execute_start" => EventKind::WorkBegins {
                item: number("work")?,
                function: number("function").unwrap_or_default(),
            },
            "mm_vmscan_direct_reclaim_begin" | "mm_vmscan_memcg_reclaim_begin" => {
                EventKind::ReclaimBegins
            }
            "mm_vmscan_direct_reclaim_end" | "mm_vmscan_memcg_reclaim_end" => {
                EventKind::ReclaimEnds
            }
            "tcp_retransmit_skb" => EventKind::TcpRetransmits,
            "binder_transaction" => EventKind::BinderSent {
                transaction: number("debug_id")? as u32,
                process: thread("to_proc").unwrap_or(ThreadId(0)),
                role: BinderRole::of(
                    number("reply").unwrap_or_default(),
                    number("flags").unwrap_or_default(),
                ),
            },
            "binder_transaction_received" => {
                EventKind::BinderReceived { transaction: number("debug_id")? as u32 }
            }
            "mm_filemap_fault" => StorageEvent::Touched(self.pages()?).into(),
            "mm_filemap_add_to_page_cache" => StorageEvent::Cached(self.pages()?).into(),
            "sched_process_exec" => StorageEvent::Executed {
                process: thread("pid")?,
                before: thread("old_pid").or_else(|| thread("pid"))?,
                program: program(self.text("filename").unwrap_or_default()),
            }
            .into(),
            name => match name.rsplit_once('_')? {
                (vector, "entry") if is_vector(vector) => EventKind::VectorEntry(label(vector)),
                (vector, "exit") if is_vector(vector) => EventKind::VectorExit(label(vector)),
                _ => return None,
            },
        })
    }

    fn text(&self, name: &str) -> Option<&'a [u8]> {
        let (_, value) = self.fields.iter().find(|(field, _)| *field == name)?;
        value.bytes().ok()
    }

    fn pages(&self) -> Option<FilePages> {
        Some(FilePages {
            device: device(self.number("s_dev")?),
            inode: self.number("i_ino")?,
            first: self.number("index")?,
            order: self.number("order").unwrap_or_default() as u8,
        })
    }
}

/// A name of the kernel: no longer than 128 bytes.
fn word(value: Value<'_>) -> Result<&str, Malformed> {
    let bytes = value.bytes()?;
    let bytes = bytes.get(..128).unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|_| Malformed)
}

/// Interrupts of the processor itself: `irq_vectors/*` of x86.
fn is_vector(name: &str) -> bool {
    matches!(
        name,
        "local_timer"
            | "reschedule"
            | "call_function"
            | "call_function_single"
            | "irq_work"
            | "error_apic"
            | "spurious_apic"
            | "thermal_apic"
            | "threshold_apic"
            | "deferred_error_apic"
            | "x86_platform_ipi"
    )
}

fn label(name: &str) -> Label {
    name.into()
}

/// The messages that bundles describe, by the number of their field in `FtraceEvent`.
#[derive(Debug, Default)]
pub(super) struct Descriptions(HashMap<u32, Described>);

/// The most descriptions that are kept. A kernel has some thousand events.
const MOST_DESCRIPTIONS: usize = 10_000;
/// The most fields of a description that are kept.
const MOST_FIELDS: usize = 64;

#[derive(Debug, Default)]
struct Described {
    name: String,
    fields: HashMap<u32, String>,
}

impl Descriptions {
    /// Adds a `GenericEventDescriptor`.
    pub(super) fn add(&mut self, descriptor: &[u8]) -> Result<(), Malformed> {
        let (mut event, mut message) = (0, &[][..]);
        for field in Fields::of(descriptor) {
            match field? {
                (1, value) => event = value.number()? as u32,
                (2, value) => message = value.bytes()?,
                _ => {}
            }
        }
        // `DescriptorProto` and `FieldDescriptorProto` of `google/protobuf/descriptor.proto`.
        let mut described = Described::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => word(value)?.clone_into(&mut described.name),
                (2, value) if described.fields.len() < MOST_FIELDS => {
                    let (mut name, mut number) = (String::new(), 0);
                    for part in Fields::of(value.bytes()?) {
                        match part? {
                            (1, value) => word(value)?.clone_into(&mut name),
                            (3, value) => number = value.number()? as u32,
                            _ => {}
                        }
                    }
                    described.fields.insert(number, name);
                }
                _ => {}
            }
        }
        if self.0.len() < MOST_DESCRIPTIONS {
            self.0.insert(event, described);
        }
        Ok(())
    }

    /// The event in the message of a described field; `None` if it was not described.
    pub(super) fn named<'a>(
        &'a self,
        event: u32,
        message: &'a [u8],
    ) -> Result<Option<Named<'a>>, Malformed> {
        let Some(described) = self.0.get(&event) else { return Ok(None) };
        let mut named = Named { name: &described.name, fields: Vec::new() };
        for field in Fields::of(message) {
            let (number, value) = field?;
            if let Some(name) = described.fields.get(&number) {
                named.fields.push((name, value));
            }
        }
        Ok(Some(named))
    }
}

impl From<StorageEvent> for EventKind {
    fn from(event: StorageEvent) -> Self {
        Self::Storage(event)
    }
}
