//! Each start of `ipc inversion` has a server process of its own.
//!
//! Has its own main, because the peer is this program: it notes that it was started.

mod peers;

use unjank_host::process::HelperCommand;
use unjank_host::sched::{CpuSet, Priority};
use unjank_host::{Nanos, Root};
use unjank_ipc::Transport;
use unjank_ipc::inversion::{self, Options};
use unjank_measure::Silent;

/// Starts of each transport, of four calls.
const STARTS: usize = 4;

fn main() {
    if peers::served() || !unjank_needs::root() {
        return;
    }
    peers::expect(starts);
}

/// The starts of two transports.
fn starts(peer: &HelperCommand) -> usize {
    let transports = [Transport::Unix, Transport::Pi];
    let options = Options {
        transports: transports.to_vec(),
        calls: 4 * STARTS as u64,
        starts: STARTS,
        cpu: CpuSet::allowed().expect("CPUs").iter().last().expect("a CPU"),
        client: Priority::new(20).expect("a priority"),
        hog: Priority::new(10).expect("a priority"),
        burst: Nanos::from_millis(1),
        force: false,
    };
    let findings =
        inversion::run(&options, peer, &Root::system(), 7, &Silent).expect("it is measured");
    assert_eq!((findings.verdicts.len(), findings.series.len()), (2, 4), "{findings:?}");
    for series in &findings.series {
        assert_eq!((series.n, series.repetitions.len()), (options.calls, STARTS), "{series:?}");
    }
    transports.len() * STARTS
}
