//! Packets over loopback and from outside.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at};
use unjank_host::tracefs::{Context, EventKind, Softirq};

use super::super::{Activity, critical_path};
use super::path;
use super::wakers::{disk, woken};
use crate::history::History;

const NET_RX: EventKind = EventKind::SoftirqEntry(Softirq::NET_RX);

#[test]
fn a_packet_leads_to_its_sender_and_others_come_from_outside() {
    let queued = EventKind::PacketQueued { packet: 5 };
    let taken = EventKind::PacketTaken { packet: 5 };
    // Thread 3 sends; the interrupt of another device comes first; then the
    // packet is taken in the time of thread 9.
    let sends = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .sleeps(0, 100, 7, 0)
        .happens(1, 200, Context::Thread, queued)
        .runs(1, 210, 3, 9)
        .happens(1, 220, Context::Irq, EventKind::IrqEntry(disk()))
        .happens(1, 230, Context::Softirq, NET_RX);
    let ends = |script: Script| {
        script.happens(1, 240, Context::Softirq, woken(7)).runs(0, 250, 0, 7).sleeps(0, 300, 7, 0)
    };
    let local = ends(sends.clone().happens(1, 235, Context::Softirq, taken));
    assert_eq!(
        path(&local, 7, 100, 250),
        ["100-200 t3 other Computing", "200-240 t3 other Network", "240-250 t7 own RunQueue"]
    );
    let other = EventKind::PacketTaken { packet: 6 };
    let outside = ends(sends.happens(1, 235, Context::Softirq, other));
    assert_eq!(path(&outside, 7, 100, 250)[0], "100-240 t7 own Network");
}

#[test]
fn a_packet_without_events_of_packets_is_not_blamed_on_the_interrupted_thread() {
    let of = |device: bool| {
        let script = Script::new().runs(0, 0, 0, 7).runs(1, 0, 0, 9).sleeps(0, 100, 7, 0);
        let interrupted = EventKind::IrqEntry(disk());
        let script =
            if device { script.happens(1, 220, Context::Irq, interrupted) } else { script };
        let script = script
            .happens(1, 230, Context::Softirq, NET_RX)
            .happens(1, 240, Context::Softirq, woken(7))
            .runs(0, 250, 0, 7)
            .sleeps(0, 300, 7, 0);
        path(&script, 7, 100, 250).remove(0)
    };
    assert_eq!(of(true), "100-240 t7 own Network");
    assert_eq!(of(false), "100-240 t7 own Unknown", "from outside, or from any thread");
}

#[test]
fn a_packet_may_wait_for_the_thread_that_delivers_it() {
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .sleeps(0, 100, 7, 0)
        .happens(1, 200, Context::Thread, EventKind::PacketQueued { packet: 5 })
        .wakes(1, 201, 4, 1)
        // The sender waits for the answer.
        .sleeps(1, 210, 3, 9)
        .sleeps(1, 300, 9, 4)
        .happens(1, 310, Context::Softirq, NET_RX)
        .happens(1, 310, Context::Softirq, EventKind::PacketTaken { packet: 5 })
        .happens(1, 320, Context::Softirq, woken(7))
        .runs(0, 330, 0, 7)
        .sleeps(0, 400, 7, 0);
    let mut trace = script.trace();
    trace.kernel_threads.push(ThreadId(4));
    let history = History::of(&trace);
    let found = critical_path(&history, ThreadId(7), at(100), at(330));
    let parts: Vec<(u64, u32, String)> = found
        .segments
        .iter()
        .map(|it| (it.to.as_nanos(), it.thread.0, format!("{:?}", it.activity)))
        .collect();
    let part = |to, thread, what: &str| (to, thread, what.to_owned());
    assert_eq!(
        parts,
        [
            part(200, 3, "Computing"),
            part(201, 3, "Computing"),
            part(300, 4, "RunQueue"),
            part(320, 4, "Computing"),
            part(330, 7, "RunQueue")
        ]
    );
}

#[test]
fn a_packet_to_oneself_leads_to_the_thread_that_delivers_it() {
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .happens(0, 90, Context::Thread, EventKind::PacketQueued { packet: 5 })
        .wakes(0, 91, 4, 1)
        .sleeps(0, 100, 7, 0)
        .sleeps(1, 200, 9, 4)
        .happens(1, 210, Context::Softirq, NET_RX)
        .happens(1, 210, Context::Softirq, EventKind::PacketTaken { packet: 5 })
        .happens(1, 220, Context::Softirq, woken(7))
        .runs(0, 230, 0, 7)
        .sleeps(0, 300, 7, 0);
    let mut trace = script.trace();
    trace.kernel_threads.push(ThreadId(4));
    let found = critical_path(&History::of(&trace), ThreadId(7), at(100), at(230));
    let parts: Vec<_> = found.segments.iter().map(|it| (it.thread.0, it.activity)).collect();
    let [ready, computing] = [Activity::RunQueue, Activity::Computing];
    assert_eq!(parts, [(4, ready), (4, computing), (7, ready)]);
}
