//! The recording as bundles of kernel events, which Perfetto draws as if it had
//! recorded them itself.
//!
//! Perfetto makes slices of the beginnings and ends of interrupt handlers and work items. If
//! a recording has beginnings only, they are written as generic events, because their slices would
//! never end. So are events that Perfetto has no message for. unjank reads all of them back.

use std::io::{self, Write};
use std::ops::Range;

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{
    Context, CpuTrace, DeviceRequest, Event, EventKind, PrevState, StorageEvent, SystemCall, Task,
    Trace,
};
use unjank_host::{Hertz, Timestamp};

use super::generic_events::generic;
use super::kernel_messages::{
    BlockRequest, Bundle, Empty, Exec, Exit, IrqHandlerEntry, IrqHandlerExit, KernelEvent,
    KernelEventKind, Migration, NewTask, OfCpu, ReceivedPacket, SchedSwitch, SetPriority, Softirq,
    SysEnter, SysExit, Timer, Wakeup,
};
use super::packets::Packet;
use super::thread_facts::ThreadFacts;
use super::write::PacketWriter;
use crate::history::History;
use crate::report::Explained;

/// The most events in a packet, and so in memory at a time.
const BUNDLE: usize = 1_000;
/// Bits of `common_flags`: `include/linux/trace_events.h`.
const HARDIRQ: u32 = 0x08;
const SOFTIRQ: u32 = 0x10;
/// `prev_state` of a thread that sleeps, of one that signals do not wake, and of one that has ended,
/// as Perfetto reads them in a trace without the kernel's version.
const ASLEEP: i64 = 0x01;
const UNINTERRUPTIBLE: i64 = 0x02;
const STOPPED: i64 = 0x04;
const DEAD: i64 = 0x10;
/// `CLONE_THREAD` of `clone(2)`.
const CLONE_THREAD: u64 = 0x0001_0000;

/// Writes the events of all CPUs.
pub(super) fn write<W: Write>(
    launch: &Explained,
    packets: &mut PacketWriter<'_, W>,
) -> io::Result<()> {
    let (trace, history) = (launch.trace(), launch.history());
    let converter = Converter {
        threads: history,
        with_handlers: has(trace, |kind| matches!(kind, EventKind::IrqExit(_))),
        with_softirqs: has(trace, |kind| matches!(kind, EventKind::SoftirqExit(_))),
    };
    let firsts = trace.cpus.iter().filter_map(|cpu| cpu.events.first());
    if let Some(begin) = firsts.map(|event| event.at).min() {
        let clocks = trace.cpus.iter().filter_map(|cpu| first_clock(history, cpu.cpu));
        write_first_clocks(begin, clocks, packets)?;
    }
    for cpu in &trace.cpus {
        let mut known_to = Timestamp::default();
        let has_lost = trace.lost.overwritten > 0;
        write_bundles(cpu, has_lost, &mut known_to, &converter, packets)?;
    }
    Ok(())
}

/// Writes the events of a CPU. Those before `known_to` have been written; if there are none,
/// `has_lost` says whether events were lost before these.
pub(super) fn write_bundles<W: Write>(
    cpu: &CpuTrace,
    has_lost: bool,
    known_to: &mut Timestamp,
    converter: &Converter<'_, impl ThreadFacts>,
    packets: &mut PacketWriter<'_, W>,
) -> io::Result<()> {
    for bundle in bundles(cpu) {
        let events = cpu.events.range(bundle);
        let Some(first) = events.clone().next() else { continue };
        let Some(latest) = events.clone().next_back() else { continue };
        let lost = has_lost && *known_to == Timestamp::default()
            || cpu.gap_begins(*known_to, first.at.max(*known_to));
        *known_to = latest.at;
        let messages = events.filter_map(|event| converter.message(cpu.cpu, &event));
        packets.write(packet(cpu.cpu, messages.collect(), lost))?;
    }
    Ok(())
}

/// The events of each bundle. A gap is between two bundles: Perfetto knows only that events are
/// missing before a bundle.
fn bundles(cpu: &CpuTrace) -> Vec<Range<usize>> {
    let gaps = [&cpu.gaps, &cpu.call_gaps].into_iter().flatten();
    let ends = gaps.map(|gap| cpu.events.places(Timestamp::default(), gap.from).end);
    let mut ends: Vec<usize> = ends.chain([cpu.events.len()]).collect();
    ends.sort_unstable();
    let mut bundles = Vec::new();
    let mut begin = 0;
    for end in ends {
        while begin < end {
            let next = end.min(begin + BUNDLE);
            bundles.push(begin..next);
            begin = next;
        }
    }
    bundles
}

fn packet(cpu: usize, event: Vec<KernelEvent>, lost: bool) -> Packet {
    let bundle = Bundle { cpu: Some(cpu as u32), event, lost_events: lost.then_some(true) };
    Packet { ftrace_events: Some(bundle), ..Packet::default() }
}

fn has(trace: &Trace, is: impl Fn(&EventKind) -> bool) -> bool {
    let mut events = trace.cpus.iter().flat_map(|cpu| &cpu.events);
    events.any(|event| is(&event.kind))
}

/// The clock frequency with which the recording of a CPU begins, in kHz.
fn first_clock(history: &History, cpu: usize) -> Option<(usize, u64)> {
    let (at, khz) = history.clock(cpu).first().copied()?;
    (at == Timestamp::default()).then_some((cpu, khz))
}

/// Writes the clock frequencies, by CPU and in kHz, with which a recording begins.
pub(super) fn write_first_clocks<W: Write>(
    begin: Timestamp,
    clocks: impl Iterator<Item = (usize, u64)>,
    packets: &mut PacketWriter<'_, W>,
) -> io::Result<()> {
    let clock = |(cpu, khz)| {
        let kind = frequency(cpu, Hertz::from_khz(khz));
        message(begin, ThreadId(0), Context::Thread, kind)
    };
    let clocks: Vec<KernelEvent> = clocks.map(clock).collect();
    if clocks.is_empty() { Ok(()) } else { packets.write(packet(0, clocks, false)) }
}

fn message(
    at: Timestamp,
    current: ThreadId,
    context: Context,
    kind: KernelEventKind,
) -> KernelEvent {
    KernelEvent {
        timestamp: Some(at.as_nanos()),
        pid: Some(current.0),
        common_flags: Some(match context {
            Context::Thread => 0,
            Context::Softirq => SOFTIRQ,
            Context::Irq => HARDIRQ,
        }),
        event: Some(kind),
    }
}

/// Makes messages of events.
pub(super) struct Converter<'a, T> {
    pub(super) threads: &'a T,
    /// The recording has the ends of interrupt handlers.
    pub(super) with_handlers: bool,
    /// It has the ends of soft interrupts.
    pub(super) with_softirqs: bool,
}

impl<T: ThreadFacts> Converter<'_, T> {
    /// The message of an event; `None` for events that are left out.
    fn message(&self, cpu: usize, event: &Event) -> Option<KernelEvent> {
        let Event { at, current, context, kind } = *event;
        let kind = match kind {
            EventKind::Switch { prev, prev_state, next } => {
                KernelEventKind::SchedSwitch(self.switch(at, prev, prev_state, next))
            }
            EventKind::Waking { task, cpu: to } => KernelEventKind::SchedWaking(wakeup(task, to)),
            EventKind::Wakeup { task, cpu: to } => KernelEventKind::SchedWakeup(wakeup(task, to)),
            EventKind::Migrate { task, from, to } => KernelEventKind::SchedMigrateTask(Migration {
                comm: comm(task),
                pid: number(task.tid),
                prio: Some(task.prio),
                orig_cpu: Some(from as i32),
                dest_cpu: Some(to as i32),
            }),
            EventKind::IrqEntry(irq) if self.with_handlers => {
                let name = Some(irq.name.to_string());
                KernelEventKind::IrqHandlerEntry(IrqHandlerEntry { irq: Some(irq.number), name })
            }
            EventKind::IrqExit(irq) => {
                KernelEventKind::IrqHandlerExit(IrqHandlerExit { irq: Some(irq), ret: Some(1) })
            }
            EventKind::SoftirqEntry(vector) if self.with_softirqs => {
                KernelEventKind::SoftirqEntry(Softirq { vec: Some(vector.0) })
            }
            EventKind::SoftirqExit(vector) => {
                KernelEventKind::SoftirqExit(Softirq { vec: Some(vector.0) })
            }
            EventKind::Inherits { thread, from, to } => {
                KernelEventKind::SchedPiSetprio(SetPriority {
                    comm: self.name(thread),
                    newprio: Some(to),
                    oldprio: Some(from),
                    pid: number(thread),
                })
            }
            EventKind::Idle(state) => {
                // The kernel has −1 for an idle state that ends.
                let state = Some(state.unwrap_or(u32::MAX));
                KernelEventKind::CpuIdle(OfCpu { state, cpu_id: Some(cpu as u32) })
            }
            EventKind::Frequency { cpu: of, frequency: hertz } => frequency(of, hertz),
            EventKind::Storage(event) => self.storage(event)?,
            EventKind::SystemCall(SystemCall::Begins { number, arguments }) => {
                KernelEventKind::SysEnter(SysEnter { id: Some(number), args: arguments.to_vec() })
            }
            EventKind::SystemCall(SystemCall::Ends { number, result }) => {
                KernelEventKind::SysExit(SysExit { id: Some(number), ret: Some(result) })
            }
            EventKind::TimerArmed { timer } => KernelEventKind::HrtimerStart(hrtimer(timer)),
            EventKind::TimerExpires { timer } => {
                KernelEventKind::HrtimerExpireEntry(hrtimer(timer))
            }
            EventKind::TimerEnds => KernelEventKind::HrtimerExpireExit(Timer { hrtimer: None }),
            EventKind::ReclaimBegins => KernelEventKind::DirectReclaimBegin(Empty {}),
            EventKind::ReclaimEnds => KernelEventKind::DirectReclaimEnd(Empty {}),
            EventKind::TcpRetransmits => KernelEventKind::TcpRetransmitSkb(Empty {}),
            EventKind::PacketTaken { packet } => {
                KernelEventKind::NetifReceiveSkb(ReceivedPacket { skbaddr: Some(packet) })
            }
            other => KernelEventKind::Generic(generic(&other)?),
        };
        Some(message(at, current, context, kind))
    }

    fn switch(&self, at: Timestamp, prev: Task, prev_state: PrevState, next: Task) -> SchedSwitch {
        let state = match (prev_state, self.threads.has_ended(prev.tid, at)) {
            (PrevState::Runnable, _) => 0,
            (PrevState::Stopped, _) => STOPPED,
            (PrevState::Asleep | PrevState::Uninterruptible, true) => DEAD,
            (PrevState::Uninterruptible, false) => UNINTERRUPTIBLE,
            (PrevState::Asleep, false) => ASLEEP,
        };
        SchedSwitch {
            prev_comm: comm(prev),
            prev_pid: number(prev.tid),
            prev_prio: Some(prev.prio),
            prev_state: Some(state),
            next_comm: comm(next),
            next_pid: number(next.tid),
            next_prio: Some(next.prio),
        }
    }

    fn storage(&self, event: StorageEvent) -> Option<KernelEventKind> {
        Some(match event {
            StorageEvent::Queued(request) => {
                KernelEventKind::BlockRqInsert(block_request(&request))
            }
            StorageEvent::Issued(request) => KernelEventKind::BlockRqIssue(block_request(&request)),
            StorageEvent::Completed(request) => {
                KernelEventKind::BlockRqComplete(block_request(&request))
            }
            StorageEvent::Started { thread, same_process } => {
                KernelEventKind::TaskNewtask(NewTask {
                    pid: number(thread),
                    comm: self.name(thread),
                    clone_flags: Some(if same_process { CLONE_THREAD } else { 0 }),
                })
            }
            StorageEvent::Executed { process, before, program } => {
                KernelEventKind::SchedProcessExec(Exec {
                    filename: Some(program.to_string()),
                    pid: number(process),
                    old_pid: number(before),
                })
            }
            StorageEvent::Ended { thread, .. } => KernelEventKind::SchedProcessExit(Exit {
                comm: self.name(thread),
                pid: number(thread),
            }),
            other => KernelEventKind::Generic(generic(&EventKind::Storage(other))?),
        })
    }

    fn name(&self, thread: ThreadId) -> Option<String> {
        self.threads.name(thread).map(|name| name.to_string())
    }
}

fn hrtimer(timer: u64) -> Timer {
    Timer { hrtimer: Some(timer) }
}

fn frequency(cpu: usize, frequency: Hertz) -> KernelEventKind {
    let khz = (frequency.0 / 1_000) as u32;
    KernelEventKind::CpuFrequency(OfCpu { state: Some(khz), cpu_id: Some(cpu as u32) })
}

fn wakeup(task: Task, cpu: usize) -> Wakeup {
    Wakeup {
        comm: comm(task),
        pid: number(task.tid),
        prio: Some(task.prio),
        success: Some(1),
        target_cpu: Some(cpu as i32),
    }
}

fn block_request(request: &DeviceRequest) -> BlockRequest {
    BlockRequest {
        dev: Some(request.device.to_stat()),
        sector: Some(request.sector),
        nr_sector: Some(request.sectors),
        rwbs: Some(request.letters.to_string()),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the form of a field")]
fn comm(task: Task) -> Option<String> {
    Some(task.comm.to_string())
}

#[expect(clippy::unnecessary_wraps, reason = "the form of a field")]
fn number(thread: ThreadId) -> Option<i32> {
    Some(thread.0.cast_signed())
}
