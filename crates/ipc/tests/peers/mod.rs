//! Peers that note that they were started. A test with its own main is its own peer.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use unjank_host::process::{HelperCommand, die_with_parent};
use unjank_ipc::{Role, run_peer};

/// Serves, if this process was started as a peer; returns whether it was.
pub(crate) fn served() -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, peer, notes, role, parent] = arguments.as_slice() else { return false };
    if peer != "peer" {
        return false;
    }
    let mut notes = OpenOptions::new().append(true).open(notes).expect("a file");
    writeln!(notes, "{}", std::process::id()).expect("it is noted");
    let role: Role = serde_json::from_str(role).expect("a role");
    let parent = parent.parse().expect("a process number");
    if die_with_parent(parent).expect("a valid signal") {
        run_peer(&role).expect("the peer serves");
    }
    true
}

/// Measures, and checks that as many peers were started as `measure` returns.
pub(crate) fn expect(measure: impl FnOnce(&HelperCommand) -> usize) {
    let name = format!("peers-{}", std::process::id());
    let notes = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&notes, "").expect("a file");
    let expected =
        measure(&HelperCommand::new("/proc/self/exe", ["peer", notes.to_str().expect("text")]));
    let peers = fs::read_to_string(&notes).expect("a file").lines().count();
    fs::remove_file(&notes).expect("it is there");
    assert_eq!(peers, expected);
}
