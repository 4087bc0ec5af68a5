//! Nothing is allocated between the two clock reads of a call: the number of
//! allocations does not grow with the number of calls.
//!
//! Has its own main, because the peer process of each transport is this program.

use unjank_host::process::{HelperCommand, die_with_parent};
use unjank_host::{Bytes, Nanos};
use unjank_ipc::probe::Placement;
use unjank_ipc::throughput::{self, Options};
use unjank_ipc::{Role, Transport, run_peer};
use unjank_measure::Silent;
use unjank_needs::allocations::{self, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, peer, role, parent] = arguments.as_slice()
        && peer == "peer"
    {
        let role: Role = serde_json::from_str(role).expect("a role");
        let parent = parent.parse().expect("a process number");
        if die_with_parent(parent).expect("a valid signal") {
            run_peer(&role).expect("the peer serves");
        }
        return;
    }
    for transport in
        [Transport::Passthrough, Transport::Unix, Transport::Pipe, Transport::Futex, Transport::Pi]
    {
        // So that nothing is left to set up once in the process.
        allocations_of(transport, 5);
        let ((few_calls, few), (many_calls, many)) =
            (allocations_of(transport, 20), allocations_of(transport, 400));
        assert!(many_calls > few_calls, "{transport}: {few_calls} and {many_calls} calls");
        // What a turn has measured is packed after its calls, in buffers that grow.
        let (calls, allocations) = (many_calls - few_calls, many.abs_diff(few));
        assert!(
            allocations * 20 < calls,
            "{transport}: {calls} more calls, {allocations} more allocations"
        );
    }
}

/// Calls over a transport for a time; returns the numbers of calls and of
/// allocations.
fn allocations_of(transport: Transport, millis: u64) -> (u64, u64) {
    let options = Options {
        transports: vec![transport],
        smallest: Bytes(16),
        largest: Bytes(16),
        placement: Placement::Free,
        duration: Nanos::from_millis(millis),
        rounds: 2,
    };
    let peer = HelperCommand::this_program(["peer"]);
    let before = allocations::so_far();
    let measurements = throughput::run(&options, &peer, &Silent).expect("it can be measured");
    let count = allocations::so_far() - before;
    (measurements.cells[0].calls(), count)
}
