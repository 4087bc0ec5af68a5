//! Replays with data in memory, and with enough memory.

use unjank_host::tracefs::FilePages;

use super::*;

#[test]
fn with_enough_memory_no_thread_looks_for_pages_to_evict() {
    // 7 computes for 100 ns, of which it looks for pages for 60, and twice as long for 9.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .happens(0, 20, Context::Thread, EventKind::ReclaimBegins)
        .happens(0, 80, Context::Thread, EventKind::ReclaimEnds)
        .sleeps(0, 100, 7, 0)
        .runs(1, 90, 0, 9)
        .happens(1, 100, Context::Thread, EventKind::ReclaimBegins)
        .happens(1, 220, Context::Thread, EventKind::ReclaimEnds)
        .wakes(1, 300, 7, 0)
        .sleeps(1, 300, 9, 0)
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    let enough = Change { no_reclaim: true, ..Change::default() };
    // 9 begins at 90 as before, and takes 90 ns instead of 210 until it wakes 7.
    assert_eq!(length(&script, 400, &enough), 280);
}

#[test]
fn a_higher_clock_shortens_what_no_other_change_has_removed() {
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .happens(0, 20, Context::Thread, EventKind::ReclaimBegins)
        .happens(0, 70, Context::Thread, EventKind::ReclaimEnds)
        .sleeps(0, 100, 7, 0)
        .expires(0, 300)
        .happens(0, 300, Context::Irq, waking(7))
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    let both = Change { no_reclaim: true, highest_clock: true, ..Change::default() };
    let highest = HighestClocks::from([(0, 2_000)]);
    assert_eq!(length_with(&script, 400, &both, &highest), 25 + 200 + 50);
}

/// Thread 7 reads or writes a sector, in a page fault or a system call.
fn moves_data(letters: &str, sector: u64, fault: bool) -> Script {
    let [issued, completed] = issued_at(letters, sector);
    let touched = EventKind::PageFault { address: 0x1000 };
    let script = Script::new().runs(0, 0, 0, 7);
    let script = if fault { script.happens(0, 80, Context::Thread, touched) } else { script };
    script
        .happens(0, 90, Context::Thread, issued)
        .sleeps(0, 100, 7, 0)
        .happens(1, 300, Context::Irq, completed)
        .happens(1, 300, Context::Irq, waking(7))
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0)
}

#[test]
fn what_is_read_from_storage_is_in_memory() {
    let of = |letters: &str, fault: bool| length(&moves_data(letters, 8, fault), 400, &cached());
    assert_eq!(of("R", true), 181, "computing from 80 to 100, too");
    assert_eq!(of("RA", false), 201, "a system call reads");
    assert_eq!(of("W", false), 400, "what is written is not cached");
}

#[test]
fn a_page_in_swap_is_told_from_one_of_a_file() {
    let of = |sector, data| length(&moves_data("R", sector, true), 400, &in_memory(data));
    assert_eq!([of(8, Data::All), of(8, Data::Swap)], [181, 181]);
    assert_eq!([of(16, Data::All), of(16, Data::Swap)], [181, 400], "behind the swap area");
}

#[test]
fn work_for_pages_that_are_read_goes_with_them() {
    let pages = FilePages { device: DeviceNumber(3), inode: 4, first: 0, order: 0 };
    let cached_pages = EventKind::Storage(StorageEvent::Cached(pages));
    let fault = EventKind::PageFault { address: 0x1000 };
    let write =
        EventKind::SystemCall(SystemCall::Begins { number: libc::SYS_write, arguments: [0; 6] });
    // It reads ahead from 110 to 150, and waits for nothing. Another fault is a minor one.
    let reads = |begins| {
        Script::new()
            .runs(0, 0, 0, 7)
            .happens(0, 110, Context::Thread, begins)
            .happens(0, 120, Context::Thread, cached_pages)
            .happens(0, 150, Context::Thread, cached_pages)
            .happens(0, 300, Context::Thread, fault)
            .sleeps(0, 400, 7, 0)
    };
    assert_eq!(length(&reads(fault), 400, &cached()), 360);
    assert_eq!(length(&reads(write), 400, &cached()), 400, "pages that are written are needed");
}

#[test]
fn a_read_that_waited_for_room_in_the_queue_of_the_driver_is_in_memory() {
    // The end of another request lets worker 5 issue what 7 waits for.
    let [issued, completed] = issued("R");
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 5)
        .happens(0, 90, Context::Thread, EventKind::PageFault { address: 0x1000 })
        .sleeps(0, 100, 7, 0)
        .happens(2, 200, Context::Irq, EventKind::WorkQueued { item: 5, function: 6 })
        .happens(1, 210, Context::Thread, EventKind::WorkBegins { item: 5, function: 6 })
        .happens(1, 220, Context::Thread, issued)
        .happens(2, 300, Context::Irq, completed)
        .happens(2, 300, Context::Irq, waking(7))
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    let trace = Trace { kernel_threads: vec![ThreadId(5)], ..script.trace() };
    assert_eq!(length_of(&trace, 400, &cached(), &HighestClocks::new()), 201);
}

#[test]
fn an_idle_worker_is_not_woken_before_the_read_that_it_waits_for_was_issued() {
    // 5 sleeps from the beginning on. It completes what 7 has read at 200, and wakes 7.
    let [issued, completed] = issued("R");
    let script = Script::new()
        .runs(1, 0, 0, 5)
        .runs(0, 0, 0, 7)
        .sleeps(1, 10, 5, 0)
        .happens(0, 200, Context::Thread, issued)
        .sleeps(0, 210, 7, 0)
        .happens(2, 500, Context::Irq, completed)
        .happens(2, 500, Context::Irq, waking(5))
        .runs(1, 500, 0, 5)
        .wakes(1, 550, 7, 0)
        .runs(0, 550, 0, 7)
        .sleeps(0, 600, 7, 0);
    // The data is there at 201, and 5 works for 50 ns before it wakes 7.
    assert_eq!(length(&script, 600, &cached()), 301);
}

#[test]
fn work_items_that_complete_a_read_end_the_wait_of_a_system_call() {
    let queued = |item| EventKind::WorkQueued { item, function: 6 };
    let begins = |item| EventKind::WorkBegins { item, function: 6 };
    let of = |letters: &str| {
        let [issued, completed] = issued(letters);
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 5)
            .happens(0, 90, Context::Thread, issued)
            .sleeps(0, 100, 7, 0)
            .happens(2, 300, Context::Irq, completed)
            .happens(2, 300, Context::Irq, queued(5))
            .happens(1, 310, Context::Thread, begins(5))
            .happens(1, 312, Context::Thread, queued(6))
            .happens(1, 314, Context::Thread, begins(6))
            .wakes(1, 320, 7, 0)
            .runs(0, 320, 0, 7)
            .sleeps(0, 420, 7, 0);
        let trace = Trace { kernel_threads: vec![ThreadId(5)], ..script.trace() };
        length_of(&trace, 420, &cached(), &HighestClocks::new())
    };
    assert_eq!(of("R"), 201);
    assert_eq!(of("W"), 420, "what is written is not cached");
}

#[test]
fn a_kernel_thread_that_delivers_a_page_ends_its_wait() {
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 5)
        .happens(0, 90, Context::Thread, EventKind::PageFault { address: 0x1000 })
        .sleeps(0, 100, 7, 0)
        .wakes(1, 300, 7, 0)
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    let of = |kernel_threads: &[ThreadId]| {
        let trace = Trace { kernel_threads: kernel_threads.to_vec(), ..script.trace() };
        length_of(&trace, 400, &cached(), &HighestClocks::new())
    };
    assert_eq!(of(&[ThreadId(5)]), 201);
    assert_eq!(of(&[]), 400, "another program may do anything");
}
