//! What the whole process has, and tests beside them would change: its umask.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::fs::Mode;
use rustix::process::umask;
use unjank_host::files::{Destination, Readers};

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
