//! The same event from both of the kernel's forms: a line of the text file
//! `trace`, and a decoded record. Used to check one against the other.

use unjank_host::tracefs::{Event, EventKind, Softirq, Task};

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
    // A name may hold anything, but it is short and padded.
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
            event = head.to_owned();
        }
    }
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
        EventKind::Switch { prev, prev_runnable, next } => format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_runnable={prev_runnable} \
             ==> next_comm={} next_pid={} next_prio={}",
            name(&prev),
            prev.tid.0,
            prev.prio,
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
        EventKind::Idle(state) => {
            format!("cpu_idle: state={} cpu_id={cpu}", state.unwrap_or(u32::MAX))
        }
        EventKind::Frequency { cpu, frequency } => {
            format!("cpu_frequency: state={} cpu_id={cpu}", frequency.0 / 1_000)
        }
        EventKind::WorkQueued { function } => {
            format!("workqueue_queue_work: function={function:#x}")
        }
        EventKind::WorkBegins { function } => {
            format!("workqueue_execute_start: function {function:#x}")
        }
        EventKind::Mark(text) => format!("tracing_mark_write: {text}"),
    }
}

/// The name as the kernel prints it, byte for byte.
fn name(task: &Task) -> String {
    String::from_utf8_lossy(task.comm.as_bytes()).into_owned()
}
