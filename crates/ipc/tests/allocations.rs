//! Between the two stamps of a call nothing is allocated: more
//! calls take just as many allocations.
//!
//! Its own main, because the other process of each transport is this program.
#![allow(unsafe_code, reason = "a global allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use unjank_host::{Bytes, Nanos};
use unjank_ipc::probe::Placement;
use unjank_ipc::throughput::{self, Options};
use unjank_ipc::{PeerCommand, Role, Transport, play};
use unjank_measure::Silent;

thread_local! {
    /// Of this thread: the one that watches the calls makes more or fewer as
    /// it happens to sleep or not.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all work is the system allocator's; the counter has no destructor
// and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, peer, role, parent] = arguments.as_slice()
        && peer == "peer"
    {
        let role: Role = serde_json::from_str(role).expect("a role");
        play(&role, parent.parse().expect("a process number")).expect("the peer serves");
        return;
    }
    for transport in
        [Transport::Passthrough, Transport::Unix, Transport::Pipe, Transport::Futex, Transport::Pi]
    {
        // What is set up once in a process is set up now.
        allocations_of(transport, 5);
        let ((few_calls, few), (many_calls, many)) =
            (allocations_of(transport, 20), allocations_of(transport, 400));
        assert!(many_calls > few_calls, "{transport}: {few_calls} and {many_calls} calls");
        assert_eq!(few, many, "{transport}: {few_calls} and {many_calls} calls");
    }
}

/// Calls over a transport for so many milliseconds: how many, and how many
/// allocations that took.
fn allocations_of(transport: Transport, millis: u64) -> (u64, u64) {
    let options = Options {
        transports: vec![transport],
        smallest: Bytes(16),
        largest: Bytes(16),
        placement: Placement::Free,
        duration: Nanos::from_millis(millis),
        rounds: 2,
    };
    let peer = PeerCommand { program: "/proc/self/exe".into(), arguments: vec!["peer".into()] };
    let before = COUNT.get();
    let outcome = throughput::run(&options, &peer, &Silent).expect("it can be measured");
    let count = COUNT.get() - before;
    (outcome.cells[0].calls(), count)
}
