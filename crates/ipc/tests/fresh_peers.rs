//! Each trial of `ipc bench` has a peer process of its own, so trials do not share a
//! placement or an address space.
//!
//! Has its own main, because the peer is this program: it notes that it was started.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use unjank_host::Nanos;
use unjank_host::process::{HelperCommand, die_with_parent};
use unjank_host::sched::CpuSet;
use unjank_ipc::bench::{self, Comparison};
use unjank_ipc::{Role, run_peer};
use unjank_measure::Silent;

const PAIRS: usize = 3;
/// Pairs that do not count.
const WARM_UP: usize = 1;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, peer, notes, role, parent] = arguments.as_slice()
        && peer == "peer"
    {
        let mut notes = OpenOptions::new().append(true).open(notes).expect("a file");
        writeln!(notes, "{}", std::process::id()).expect("it is noted");
        let role: Role = serde_json::from_str(role).expect("a role");
        let parent = parent.parse().expect("a process number");
        if die_with_parent(parent).expect("a valid signal") {
            run_peer(&role).expect("the peer serves");
        }
        return;
    }
    let name = format!("peers-{}", std::process::id());
    let notes = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&notes, "").expect("a file");
    let peer = HelperCommand::new("/proc/self/exe", ["peer", notes.to_str().expect("text")]);
    let comparison = Comparison { trial: Nanos::from_millis(1), pairs: PAIRS };
    let findings = bench::run(&comparison, &peer, 7, &Silent).expect("it is compared");
    let placements = if CpuSet::allowed().expect("CPUs").len() < 2 { 1 } else { 2 };
    let with_perf = !findings.unsupported.iter().any(|it| it.what.starts_with("perf bench"));
    // Two arms in each placement; of the comparison with perf, one is ours.
    let expected = (2 * placements + usize::from(with_perf)) * (PAIRS + WARM_UP);
    let peers = fs::read_to_string(&notes).expect("a file").lines().count();
    fs::remove_file(&notes).expect("it is there");
    assert_eq!(peers, expected);
}
