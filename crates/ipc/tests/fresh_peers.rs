//! Each trial of `ipc bench` and each turn of `ipc throughput` has a peer process of its
//! own, so they do not share a placement or an address space.
//!
//! Has its own main, because the peer is this program: it notes that it was started.

mod peers;

use unjank_host::process::HelperCommand;
use unjank_host::sched::CpuSet;
use unjank_host::{Bytes, Nanos};
use unjank_ipc::Transport;
use unjank_ipc::bench::{self, Comparison};
use unjank_ipc::probe::Placement;
use unjank_ipc::throughput::{self, Options};
use unjank_measure::Silent;

const PAIRS: usize = 3;
/// Pairs that do not count.
const WARM_UP: usize = 1;
/// Turns of each transport at each payload.
const ROUNDS: usize = 4;

fn main() {
    if !peers::served() {
        peers::expect(trials);
        peers::expect(turns);
    }
}

/// The trials of a comparison.
fn trials(peer: &HelperCommand) -> usize {
    let comparison = Comparison { trial: Nanos::from_millis(1), pairs: PAIRS };
    let findings = bench::run(&comparison, peer, 7, &Silent).expect("it is compared");
    let placements = if CpuSet::allowed().expect("CPUs").len() < 2 { 1 } else { 2 };
    let with_perf = !findings.unsupported.iter().any(|it| it.what.starts_with("perf bench"));
    // Two arms in each placement; of the comparison with perf, one is ours.
    (2 * placements + usize::from(with_perf)) * (PAIRS + WARM_UP)
}

/// The turns of two transports at two payloads.
fn turns(peer: &HelperCommand) -> usize {
    let options = Options {
        transports: vec![Transport::Unix, Transport::Pipe],
        smallest: Bytes(4),
        largest: Bytes(8),
        placement: Placement::OneCpu,
        duration: Nanos::from_millis(16),
        rounds: ROUNDS,
    };
    let measurements = throughput::run(&options, peer, &Silent).expect("it is measured");
    let cells = &measurements.cells;
    for cell in cells {
        assert_eq!((cell.rounds.len(), cell.series.repetitions.len()), (ROUNDS, ROUNDS));
    }
    cells.len() * ROUNDS
}
