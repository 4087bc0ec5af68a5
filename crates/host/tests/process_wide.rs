//! What the whole process has, and tests beside them would change: its umask, its resource limits.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::fs::Mode;
use rustix::process::{Resource, getrlimit, umask};
use unjank_host::files::{Destination, Readers};
use unjank_host::sched::{Grant, Priority, ThreadId, give_realtime};
use unjank_host::{Nanos, Root};

#[test]
fn everyone_may_read_a_file_for_everyone_whatever_the_umask_is() {
    let dir = tempfile::tempdir().unwrap();
    umask(Mode::from_raw_mode(0o077));
    let mode = |name: &str, readers| {
        let path = dir.path().join(name);
        Destination::open(&path).unwrap().write_for(readers, b"x").unwrap();
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode("metrics", Readers::Everyone), 0o644);
    assert_eq!(mode("report", Readers::AsUsual), 0o600);
}

#[test]
fn a_policy_that_cannot_be_set_leaves_the_run_limit_as_it_was() {
    let before = getrlimit(Resource::Rttime);
    let grant = Grant {
        priority: Priority::new(10).unwrap(),
        longest_run: Nanos::from_millis(777),
        force: true,
    };
    let no_thread = ThreadId(u32::MAX >> 1);
    give_realtime(&Root::system(), no_thread, grant).unwrap_err();
    assert_eq!(getrlimit(Resource::Rttime), before);
}
