//! A store on a full and on a read-only file system.
//!
//! Needs root, to mount them in a private namespace. Fails without it when
//! `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

use std::process::{Command, Output};

/// Runs a shell script in a private mount namespace, with `$U` for unjank and `$D` for an
/// empty directory to mount on.
fn in_private_mounts(script: &str) -> Option<Output> {
    if !unjank_needs::root() {
        return None;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-ec", script])
        .env("U", unjank_needs::unjank!())
        .env("D", dir.path())
        .output()
        .expect("unshare is in util-linux");
    Some(output)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn on_a_full_file_system_results_are_printed_and_the_store_is_unchanged() {
    let script = "mount -t tmpfs -o mode=700,size=400k none $D
        $U lock probe --for 100ms --store $D/s.sqlite >/dev/null
        dd if=/dev/zero of=$D/fill bs=4k 2>/dev/null || true
        code=0; $U lock probe --for 100ms --store $D/s.sqlite || code=$?
        rm $D/fill
        $U runs list --json --store $D/s.sqlite >&2
        exit $code";
    let Some(output) = in_private_mounts(script) else { return };
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(text(&output.stdout).contains("lock/pause"), "{stderr}");
    assert!(stderr.contains("no space left for"), "{stderr}");
    assert_eq!(stderr.matches("\"id\"").count(), 1, "{stderr}");
}

#[test]
fn a_read_only_store_can_be_read_and_is_refused_before_measuring() {
    let script = "mount -t tmpfs -o mode=700 none $D
        $U lock probe --for 100ms --store $D/s.sqlite >/dev/null
        mount -o remount,ro $D
        $U runs show last --store $D/s.sqlite >/dev/null
        $U lock probe --for 100ms --store $D/s.sqlite";
    let Some(output) = in_private_mounts(script) else { return };
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert_eq!(text(&output.stdout), "", "nothing is measured");
    assert!(stderr.contains("s.sqlite: Read-only file system"), "{stderr}");
}

#[test]
fn a_read_only_home_loses_no_results() {
    let script = "export HOME=$D; unset XDG_DATA_HOME
        mount -t tmpfs -o mode=700 none $D
        $U lock probe --for 100ms >/dev/null
        mount -o remount,ro $D
        $U lock probe --for 100ms";
    let Some(output) = in_private_mounts(script) else { return };
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(text(&output.stdout).contains("lock/pause"), "{stderr}");
    assert!(stderr.contains("runs.sqlite cannot be written"), "{stderr}");
}
