//! Requests to block devices: who submitted them, and where they waited.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::Script;
use unjank_host::tracefs::{Context, DeviceRequest, EventKind, StorageEvent, Trace};

use super::super::critical_path;
use super::path;
use super::wakers::{read, woken};
use crate::history::History;
use crate::path::{Activity, Certainty};

fn storage(event: fn(DeviceRequest) -> StorageEvent) -> EventKind {
    EventKind::Storage(event(read(8)))
}

/// Thread 7 faults at 90 and sleeps from 100 on. Thread 3 runs beside it.
fn faults() -> Script {
    Script::new().runs(0, 0, 0, 7).runs(1, 0, 0, 3).happens(
        0,
        90,
        Context::Thread,
        EventKind::PageFault { address: 0x1000 },
    )
}

/// The device ends the request at 300.
fn ends(script: Script) -> Script {
    script
        .happens(2, 300, Context::Irq, storage(StorageEvent::Completed))
        .happens(2, 301, Context::Irq, woken(7))
        .runs(0, 310, 0, 7)
        .sleeps(0, 400, 7, 0)
}

#[test]
fn a_request_leads_from_the_device_to_its_issuer() {
    let script = faults()
        .sleeps(0, 100, 7, 0)
        .happens(1, 150, Context::Thread, storage(StorageEvent::Issued))
        .sleeps(1, 160, 3, 0);
    assert_eq!(
        path(&ends(script), 7, 0, 400),
        [
            "0-100 t7 own Computing",
            "100-150 t3 other Computing",
            "150-301 t7 own PageIn",
            "301-310 t7 own RunQueue",
            "310-400 t7 own Computing",
        ]
    );
}

#[test]
fn a_request_in_the_scheduler_is_of_the_thread_that_put_it_there() {
    // 3 issues the request of 7 together with its own ones.
    let script = faults()
        .happens(0, 95, Context::Thread, storage(StorageEvent::Queued))
        .sleeps(0, 100, 7, 0)
        .happens(1, 150, Context::Thread, storage(StorageEvent::Issued))
        .sleeps(1, 160, 3, 0);
    assert_eq!(path(&ends(script), 7, 0, 310)[1], "100-301 t7 own PageIn");
    // 3 put it there, and 7 itself issues it.
    let script = faults()
        .sleeps(0, 100, 7, 0)
        .happens(1, 120, Context::Thread, storage(StorageEvent::Queued))
        .happens(2, 150, Context::Softirq, storage(StorageEvent::Issued))
        .sleeps(1, 160, 3, 0);
    let script = ends(script);
    let path = path(&script, 7, 0, 310);
    assert_eq!(path[1..3], ["100-120 t3 other Computing", "120-301 t7 own PageIn"]);
}

#[test]
fn only_the_interrupt_of_a_device_frees_its_queue() {
    // Something queues a work item at 120, in which worker 3 issues the request at 150.
    let queued = EventKind::WorkQueued { item: 5, function: 6 };
    let script = |expires: bool| {
        let script = faults().sleeps(0, 100, 7, 0);
        let script = if expires { script.expires(2, 119) } else { script };
        let script = script
            .happens(2, 120, Context::Irq, queued)
            .happens(1, 140, Context::Thread, EventKind::WorkBegins { item: 5, function: 6 })
            .happens(1, 150, Context::Thread, storage(StorageEvent::Issued))
            .sleeps(1, 160, 3, 0);
        let kernel_threads = vec![ThreadId(3)];
        let history = History::of(&Trace { kernel_threads, ..ends(script).trace() });
        let [from, to] = [100, 301].map(unjank_host::tracefs::script::at);
        critical_path(&history, ThreadId(7), from, to)
    };
    let full = script(false);
    assert!(full.segments.iter().all(|it| it.activity == Activity::PageIn));
    assert_eq!(
        full.segments[0].certainty,
        Certainty::Inferred,
        "the interrupt may have had another reason"
    );
    let late = script(true);
    assert_eq!(late.segments[0].activity, Activity::Timer, "{late:#?}");
}
