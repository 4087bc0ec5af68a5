//! Events as names and fields, with the kernel's own names for both.

use unjank_host::tracefs::{EventKind, FilePages, StorageEvent};

use super::kernel_messages::{Generic, GenericField};

/// The event with its fields; `None` for events that no explanation uses.
pub(super) fn generic(kind: &EventKind) -> Option<Generic> {
    let event = |name: &str, fields: &[(&str, u64)]| Generic {
        event_name: Some(name.to_owned()),
        field: fields.iter().map(|&(name, value)| number(name, value)).collect(),
    };
    Some(match *kind {
        EventKind::IrqEntry(irq) => {
            let mut entry = event("irq_handler_entry", &[("irq", irq.number as u64)]);
            entry.field.push(text("name", irq.name.to_string()));
            entry
        }
        EventKind::SoftirqEntry(vector) => event("softirq_entry", &[("vec", vector.0.into())]),
        EventKind::VectorEntry(vector) => event(&format!("{vector}_entry"), &[]),
        EventKind::VectorExit(vector) => event(&format!("{vector}_exit"), &[]),
        EventKind::IpiSent { cpu, reschedules } => {
            event("ipi_send_cpu", &[("cpu", cpu as u64), ("callback", u64::from(!reschedules))])
        }
        EventKind::PageFault { address } => event("page_fault_user", &[("address", address)]),
        EventKind::LockContended { lock, flags } => {
            event("contention_begin", &[("lock_addr", lock), ("flags", flags.0.into())])
        }
        EventKind::LockAcquired { lock } => event("contention_end", &[("lock_addr", lock)]),
        EventKind::WorkQueued { item, function } => {
            event("workqueue_queue_work", &[("work", item), ("function", function)])
        }
        EventKind::WorkBegins { item, function } => {
            event("workqueue_execute_start", &[("work", item), ("function", function)])
        }
        EventKind::PacketQueued { packet } => event("netif_rx", &[("skbaddr", packet)]),
        EventKind::BinderSent { transaction, process, role } => {
            let [reply, flags] = role.fields();
            let to = [("debug_id", transaction.into()), ("to_proc", process.0.into())];
            event("binder_transaction", &[to, [("reply", reply), ("flags", flags)]].concat())
        }
        EventKind::BinderReceived { transaction } => {
            event("binder_transaction_received", &[("debug_id", transaction.into())])
        }
        EventKind::Storage(StorageEvent::Cached(pages)) => {
            event("mm_filemap_add_to_page_cache", &of_pages(&pages))
        }
        EventKind::Storage(StorageEvent::Touched(pages)) => {
            event("mm_filemap_fault", &of_pages(&pages))
        }
        _ => return None,
    })
}

fn of_pages(pages: &FilePages) -> [(&'static str, u64); 4] {
    [
        ("s_dev", pages.device.to_stat()),
        ("i_ino", pages.inode),
        ("index", pages.first),
        ("order", pages.order.into()),
    ]
}

fn number(name: &str, value: u64) -> GenericField {
    GenericField { name: Some(name.to_owned()), str_value: None, uint_value: Some(value) }
}

fn text(name: &str, value: String) -> GenericField {
    GenericField { name: Some(name.to_owned()), str_value: Some(value), uint_value: None }
}
