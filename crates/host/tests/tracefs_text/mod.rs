//! One common form of an event, from a line of the text file `trace` and from a
//! decoded record, so that tests can compare both.

use unjank_host::tracefs::{
    DeviceRequest, Event, EventKind, FilePages, Softirq, StorageEvent, SystemCall, Task,
};

/// The lines of `trace` for one CPU, in the form of [`of_event`].
pub(crate) fn of_cpu(text: &str, cpu: usize) -> Vec<String> {
    text.lines().filter_map(of_line).filter(|(at, _)| *at == cpu).map(|(_, line)| line).collect()
}

/// The CPU and the rest of one line: 16 places of name, a number, `[cpu]`,
/// flags, the time in microseconds and the event.
fn of_line(line: &str) -> Option<(usize, String)> {
    if line.starts_with('#') {
        return None;
    }
    // A name may contain any text, but is padded to 16 characters.
    let (_, rest) = line.split_at_checked(17)?;
    let (tid, rest) = rest.split_once(" [").or_else(|| rest.split_once('['))?;
    let (cpu, rest) = rest.split_once(']')?;
    let (_flags, rest) = rest.trim_start().split_once(' ')?;
    let (time, event) = rest.trim_start().split_once(": ")?;
    let mut event = event.trim_end().to_owned();
    if let Some((head, tail)) = event.split_once(" prev_state=") {
        let (state, tail) = tail.split_once(' ')?;
        let runnable = state.starts_with('R');
        event = format!("{head} prev_runnable={runnable} {tail}");
    }
    for not_decoded in [" ret=", " vector="] {
        if let Some((head, _value)) = event.split_once(not_decoded) {
            event.truncate(head.len());
        }
    }
    let event = storage_text(&event).unwrap_or(event);
    Some((cpu.parse().ok()?, format!("{} {time} {event}", tid.trim())))
}

/// `<current thread> <seconds> <event>: <arguments>`.
pub(crate) fn of_event(event: &Event, cpu: usize) -> String {
    // The kernel rounds to microseconds.
    let micros = (event.at.as_nanos() + 500) / 1_000;
    let time = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    format!("{} {time} {}", event.current.0, arguments(&event.kind, cpu))
}

fn arguments(kind: &EventKind, cpu: usize) -> String {
    const SOFTIRQS: [&str; 10] = [
        "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
        "RCU",
    ];
    let softirq = |Softirq(vector)| format!("vec={vector} [action={}]", SOFTIRQS[vector as usize]);
    let woken = |task: Task| format!("comm={} pid={} prio={}", name(&task), task.tid.0, task.prio);
    match *kind {
        EventKind::Switch { prev, prev_state, next } => format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_runnable={} \
             ==> next_comm={} next_pid={} next_prio={}",
            name(&prev),
            prev.tid.0,
            prev.prio,
            prev_state.is_runnable(),
            name(&next),
            next.tid.0,
            next.prio
        ),
        EventKind::Waking { task, cpu } => {
            format!("sched_waking: {} target_cpu={cpu:03}", woken(task))
        }
        EventKind::Wakeup { task, cpu } => {
            format!("sched_wakeup: {} target_cpu={cpu:03}", woken(task))
        }
        EventKind::IpiSent { cpu, .. } => format!("ipi_send_cpu: cpu={cpu}"),
        EventKind::Migrate { task, from, to } => {
            format!("sched_migrate_task: {} orig_cpu={from} dest_cpu={to}", woken(task))
        }
        EventKind::IrqEntry(irq) => {
            format!("irq_handler_entry: irq={} name={}", irq.number, irq.name)
        }
        EventKind::IrqExit(number) => format!("irq_handler_exit: irq={number}"),
        EventKind::VectorEntry(name) => format!("{name}_entry:"),
        EventKind::VectorExit(name) => format!("{name}_exit:"),
        EventKind::SoftirqEntry(vector) => format!("softirq_entry: {}", softirq(vector)),
        EventKind::SoftirqExit(vector) => format!("softirq_exit: {}", softirq(vector)),
        EventKind::PacketQueued { packet } => format!("netif_rx: skbaddr={packet:x}"),
        EventKind::PacketTaken { packet } => format!("netif_receive_skb: skbaddr={packet:x}"),
        EventKind::BinderSent { transaction, .. } => {
            format!("binder_transaction: transaction={}", transaction.cast_signed())
        }
        EventKind::BinderReceived { transaction } => {
            format!("binder_transaction_received: transaction={}", transaction.cast_signed())
        }
        EventKind::TimerArmed { .. } => "hrtimer_start:".to_owned(),
        EventKind::TimerExpires { .. } => "hrtimer_expire_entry:".to_owned(),
        EventKind::TimerEnds => "hrtimer_expire_exit:".to_owned(),
        EventKind::Idle(state) => {
            format!("cpu_idle: state={} cpu_id={cpu}", state.unwrap_or(u32::MAX))
        }
        EventKind::Frequency { cpu, frequency } => {
            format!("cpu_frequency: state={} cpu_id={cpu}", frequency.0 / 1_000)
        }
        EventKind::Inherits { thread, from, to } => {
            format!("sched_pi_setprio: pid={} oldprio={from} newprio={to}", thread.0)
        }
        EventKind::LockContended { lock, flags } => {
            format!("contention_begin: lock_addr={lock:#x} flags={}", flags.0)
        }
        EventKind::LockAcquired { lock } => format!("contention_end: lock_addr={lock:#x} ret=0"),
        EventKind::ReclaimBegins => {
            "mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_HIGHUSER_MOVABLE".to_owned()
        }
        EventKind::ReclaimEnds => "mm_vmscan_direct_reclaim_end: nr_reclaimed=32".to_owned(),
        EventKind::TcpRetransmits => "tcp_retransmit_skb: skbaddr=0xffff8881 skaddr=0xffff8882 \
             family=AF_INET sport=443 dport=5 saddr=1.2.3.4 daddr=1.2.3.4 state=TCP_ESTABLISHED err=0"
            .to_owned(),
        EventKind::PageFault { address } => format!("page_fault_user: address={address:#x}"),
        EventKind::WorkQueued { item, function } => {
            format!("workqueue_queue_work: work struct={item:#x} function={function:#x}")
        }
        EventKind::WorkBegins { item, function } => {
            format!("workqueue_execute_start: work struct {item:#x}: function {function:#x}")
        }
        EventKind::Mark(text) => format!("tracing_mark_write: {text}"),
        EventKind::Storage(event) => storage(&event),
        EventKind::SystemCall(SystemCall::Begins { number, arguments }) => {
            let arguments = arguments.map(|argument| format!("{argument:x}")).join(", ");
            format!("sys_enter: NR {number} ({arguments})")
        }
        EventKind::SystemCall(SystemCall::Ends { number, result }) => {
            format!("sys_exit: NR {number} = {result}")
        }
    }
}

/// The name as the kernel prints it, byte for byte.
fn name(task: &Task) -> String {
    String::from_utf8_lossy(task.comm.as_bytes()).into_owned()
}

/// The text of a storage event, with only the fields that are decoded; `None` for others.
fn storage_text(event: &str) -> Option<String> {
    let (name, rest) = event.split_once(": ")?;
    let value =
        |key: &str| rest.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    match name {
        "mm_filemap_add_to_page_cache" | "mm_filemap_delete_from_page_cache" => {
            let kept = rest.split(' ').filter(|word| !word.starts_with("pfn="));
            Some(format!("{name}: {}", kept.collect::<Vec<_>>().join(" ")))
        }
        "mm_vmscan_write_folio" => {
            let first = value("flags")?.split('|').next()?;
            Some(format!("{name}: {first}"))
        }
        "task_newtask" => {
            let flags = u64::from_str_radix(value("clone_flags")?, 16).ok()?;
            let same_process = flags & 0x1_0000 != 0;
            Some(format!("{name}: pid={} same_process={same_process}", value("pid")?))
        }
        "sched_process_exec" => {
            let program = value("filename")?.rsplit('/').next()?;
            let program = program.get(..15).unwrap_or(program);
            Some(format!("{name}: {program} pid={}", value("pid")?))
        }
        "sched_process_exit" => {
            let dead =
                value("group_dead").map_or(String::new(), |dead| format!(" group_dead={dead}"));
            Some(format!("{name}: pid={}{dead}", value("pid")?))
        }
        _ => None,
    }
}

/// A decoded storage event in the same form.
fn storage(event: &StorageEvent) -> String {
    let pages = |pages: &FilePages| {
        let FilePages { device, inode, first, order } = pages;
        let (major, minor) = (device.major(), device.minor());
        format!("dev {major}:{minor} ino {inode:x} ofs={} order={order}", first << 12)
    };
    match event {
        StorageEvent::Request(request) => format!(
            "block_bio_queue: {} {} {} + {} [{}]",
            request.device,
            String::from_utf8_lossy(request.letters.as_bytes()),
            request.sector,
            request.sectors,
            String::from_utf8_lossy(request.comm.as_bytes()),
        ),
        StorageEvent::Queued(request) => format!("block_rq_insert: {}", device_request(request)),
        StorageEvent::Issued(request) => format!("block_rq_issue: {}", device_request(request)),
        StorageEvent::Completed(request) => {
            format!("block_rq_complete: {}", device_request(request))
        }
        StorageEvent::Cached(of) => format!("mm_filemap_add_to_page_cache: {}", pages(of)),
        StorageEvent::Touched(of) => {
            format!("mm_filemap_fault: dev={} ino={:x}", of.device, of.inode)
        }
        StorageEvent::Uncached(of) => format!("mm_filemap_delete_from_page_cache: {}", pages(of)),
        StorageEvent::Reclaimed { anonymous } => {
            let flags = match anonymous {
                Some(true) => "RECLAIM_WB_ANON",
                Some(false) => "RECLAIM_WB_FILE",
                None => "RECLAIM_WB_MIXED",
            };
            format!("mm_vmscan_write_folio: {flags}")
        }
        StorageEvent::Started { thread, same_process } => {
            format!("task_newtask: pid={} same_process={same_process}", thread.0)
        }
        StorageEvent::Executed { process, program, .. } => {
            let program = String::from_utf8_lossy(program.as_bytes());
            format!("sched_process_exec: {program} pid={}", process.0)
        }
        StorageEvent::Ended { thread, last } => format!(
            "sched_process_exit: pid={}{}",
            thread.0,
            last.map_or(String::new(), |last| format!(" group_dead={last}")),
        ),
    }
}

fn device_request(request: &DeviceRequest) -> String {
    let letters = String::from_utf8_lossy(request.letters.as_bytes());
    format!("{} {letters} {} + {}", request.device, request.sector, request.sectors)
}
