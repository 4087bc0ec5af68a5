//! Knobs of the running machine that are harmless for a moment: the interval at which idle inode
//! times are written back, and the interval at which a CPU adds up its counters. Each test has its
//! own knob, because tests run at the same time.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod machine;

use std::fs;
use std::process::{Command, Output};
use unjank_needs::printed::{stderr, stdout};

const KNOB: &str = "/proc/sys/vm/dirtytime_expire_seconds";
const KNOB_OF_REFUSALS: &str = "/proc/sys/vm/stat_interval";

/// `unjank with` on this machine, its journal in `state_dir`.
fn with(state_dir: &tempfile::TempDir, arguments: &[&str]) -> Output {
    let state_dir = state_dir.path().join("state");
    let mut unjank = Command::new(unjank_needs::unjank!());
    unjank.arg("with").arg("--state-dir").arg(state_dir).args(arguments).output().unwrap()
}

#[test]
fn a_real_knob_is_changed_and_put_back() {
    if !unjank_needs::root() {
        return;
    }
    let state_dir = tempfile::tempdir().unwrap();
    let before = fs::read_to_string(KNOB).unwrap();
    let wanted = if before.trim() == "40000" { "40001" } else { "40000" };
    let setting = format!("vm.dirtytime_expire_seconds={wanted}");
    let output = with(&state_dir, &[&setting, "--", "cat", KNOB]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), wanted);
    assert_eq!(fs::read_to_string(KNOB).unwrap(), before);

    // With a kill: stderr is closed when the keeper ends.
    let setting = format!("{KNOB}={wanted}");
    let output = with(&state_dir, &[&setting, "--", "sh", "-c", "kill -9 $PPID"]);
    assert_eq!(output.status.code(), None);
    assert!(stderr(&output).contains("of its changes: 1 put back"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(KNOB).unwrap(), before);
}

#[test]
fn a_real_refusal_leaves_everything_as_it_was() {
    if !unjank_needs::root() {
        return;
    }
    let state_dir = tempfile::tempdir().unwrap();
    let before = fs::read_to_string(KNOB_OF_REFUSALS).unwrap();
    let first = format!("{KNOB_OF_REFUSALS}=3");
    let refused = |second: &str| {
        let output = with(&state_dir, &[&first, second, "--", "true"]);
        assert_eq!(fs::read_to_string(KNOB_OF_REFUSALS).unwrap(), before);
        (output.status.code(), stderr(&output).to_owned())
    };
    let (code, said) = refused("vm.page-cluster=many");
    assert_eq!(code, Some(2));
    assert!(
        said.starts_with(
            "error: nothing is changed: the kernel refuses \"many\" for /proc/sys/vm/page-cluster: "
        ),
        "{said}"
    );
    let (code, said) = refused("/proc/1/oom_score_adj=1");
    assert_eq!((code, said.contains("/proc/1/oom_score_adj is not a knob")), (Some(2), true));
    let (code, said) = refused("/proc/self/root/etc/hostname=x");
    assert_eq!((code, said.contains("is not a knob")), (Some(2), true));
    // 0 means that vm.dirty_ratio counts, and cannot be written.
    if fs::read_to_string("/proc/sys/vm/dirty_bytes").unwrap().trim() == "0" {
        let (code, said) = refused("vm.dirty_bytes=100000000");
        assert_eq!(code, Some(3));
        assert!(said.contains("/proc/sys/vm/dirty_bytes could not be put back afterwards"));
    }
}

#[test]
fn a_full_disk_and_a_read_only_one_change_nothing() {
    if !unjank_needs::root() {
        return;
    }
    let names: Vec<String> = (0..60).map(|n| format!("knob{n}")).collect();
    let knobs: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "60")).collect();
    for (mount, code, said) in [
        // One page, so that the announcement of 60 changes does not fit.
        ("size=4k,mode=700", 1, "No space left on device"),
        ("ro,mode=700", 4, "Read-only file system"),
    ] {
        let machine = machine::Machine::new(&knobs);
        fs::create_dir(machine.state_dir()).unwrap();
        let mut unjank = machine.command("with");
        unjank.args(names.iter().map(|name| format!("/sys/{name}=10"))).args(["--", "true"]);
        let script = "mount -t tmpfs -o \"$1\" none \"$2\" && shift 2 && exec \"$@\"";
        let output = Command::new("unshare")
            .args(["--mount", "sh", "-c", script, "sh", mount])
            .arg(machine.state_dir())
            .arg(unjank.get_program())
            .args(unjank.get_args())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        assert!(names.iter().all(|name| machine.read(name) == "60"));
    }
}
