//! `unjank restore` where the kernel's files are hidden, or others are mounted over them:
//! in a mount or network namespace and in a chroot that share the state directory.
//!
//! Needs root. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that it
//! was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod program;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use program::Program;
use program::private_state::PrivateState;
use unjank_needs::printed::{stderr, stdout};

/// A knob that no other program changes, and that does no harm for a moment.
const KNOB: &str = "/proc/sys/vm/dirtytime_expire_seconds";
/// Two values that it never has.
const VALUES: [&str; 2] = ["41000", "41001"];
/// The lock that a test holds while it changes [`KNOB`].
static KNOB_IS_MINE: Mutex<()> = Mutex::new(());

fn unjank(state_dir: &Path, arguments: &[&str]) -> Command {
    let mut unjank = Command::new(unjank_needs::unjank!());
    unjank.arg(arguments[0]).arg("--state-dir").arg(state_dir).args(&arguments[1..]);
    unjank
}

/// Runs `unjank` after the shell commands `script`, which hide something and may use the
/// directory `$1`.
fn hidden(script: &str, scratch: &Path, unjank: &Command) -> Output {
    let script = format!("set -e; {script}; shift; exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh"]).arg(scratch);
    command.arg(unjank.get_program()).args(unjank.get_args()).output().unwrap()
}

/// Ways to hide /proc. The last one runs unjank in a chroot: the file system of `/`
/// without those mounted in it.
const WAYS: [&str; 4] = [
    "mount -t tmpfs none /proc",
    "mount -t tmpfs none /proc && mkdir -p /proc/sys/kernel/random /proc/sys/vm && \
     echo x > /proc/sys/kernel/random/boot_id",
    "mount --bind /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id",
    "mkdir \"$1/root\" && mount --bind / \"$1/root\" && r=\"$1/root\" && shift && \
     exec chroot \"$r\" \"$@\"",
];

/// Leaves `knob` changed to one of `values`, with unjank and its keeper killed. Returns its
/// former value.
fn leave_changed(state_dir: &Path, knob: &str, values: [&str; 2]) -> String {
    let before = value(knob);
    let wanted = if before == values[0] { values[1] } else { values[0] };
    // The keeper is the other child; the command kills it before its parent.
    let script = "for p in $(cat /proc/$PPID/task/$PPID/children); do \
                  [ $p = $$ ] || kill -9 $p; done; kill -9 $PPID";
    let setting = format!("{knob}={wanted}");
    let output = unjank(state_dir, &["with", &setting, "--", "sh", "-c", script]).output().unwrap();
    assert_eq!(output.status.code(), None, "{}", stderr(&output));
    assert_eq!(value(knob), wanted, "it is left changed");
    before
}

fn value(knob: &str) -> String {
    fs::read_to_string(knob).unwrap().trim().to_owned()
}

fn journals(state_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state_dir).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "journal")).collect()
}

#[test]
fn hidden_files_do_not_count_as_gone() {
    if !unjank_needs::root() {
        return;
    }
    let _mine = KNOB_IS_MINE.lock().unwrap_or_else(PoisonError::into_inner);
    for way in WAYS {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let device = |path: &Path| fs::metadata(path).unwrap().dev();
        if way.contains("chroot") && device(dir.path()) != device(Path::new("/")) {
            unjank_needs::skip("a build directory in the file system of /");
            continue;
        }
        let state_dir = dir.path().join("state");
        let before = leave_changed(&state_dir, KNOB, VALUES);
        let output = hidden(way, dir.path(), &unjank(&state_dir, &["restore"]));
        let said = stdout(&output);
        assert_eq!(output.status.code(), Some(3), "{way}: {said}{}", stderr(&output));
        assert!(said.contains("not put back to"), "{way}: {said}");
        assert!(said.contains("/proc/sys/kernel/random/boot_id is not the kernel's"), "{said}");
        // An unrelated session keeps the journal as well.
        fs::create_dir_all(dir.path().join("tree/sys")).unwrap();
        fs::write(dir.path().join("tree/sys/a"), "1\n").unwrap();
        let tree = dir.path().join("tree").display().to_string();
        let unrelated = ["with", "--root", &tree, "/sys/a=2", "--", "true"];
        let _the_answer_is_its_own = hidden(way, dir.path(), &unjank(&state_dir, &unrelated));
        assert_eq!(journals(&state_dir).len(), 1, "{way}");
        let output = unjank(&state_dir, &["restore"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{way}: {}", stdout(&output));
        assert_eq!(value(KNOB), before, "{way}");
        assert_eq!(journals(&state_dir).len(), 0);
    }
}

#[test]
fn what_is_mounted_over_a_knob_is_not_the_knob() {
    if !unjank_needs::root() {
        return;
    }
    let _mine = KNOB_IS_MINE.lock().unwrap_or_else(PoisonError::into_inner);
    let file = format!("echo 60 > \"$1/60\" && mount --bind \"$1/60\" {KNOB}");
    for way in [
        &format!("mount --bind /proc/sys/vm/overcommit_ratio {KNOB}"),
        "mount --bind /proc/sys/fs /proc/sys/vm",
        "mount -t tmpfs none /proc/sys/vm",
        &file,
    ] {
        let dir = tempfile::tempdir().unwrap();
        let state_dir = dir.path().join("state");
        let before = leave_changed(&state_dir, KNOB, VALUES);
        let during = value(KNOB);
        let output = hidden(way, dir.path(), &unjank(&state_dir, &["restore"]));
        let said = stdout(&output);
        assert_ne!(output.status.code(), Some(0), "{way}: {said}{}", stderr(&output));
        assert!(said.contains("not put back to"), "{way}: {said}");
        assert_eq!((value(KNOB), journals(&state_dir).len()), (during, 1), "{way}");
        let output = unjank(&state_dir, &["restore"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{way}: {}", stdout(&output));
        assert_eq!((value(KNOB), journals(&state_dir).len()), (before, 0), "{way}");
    }
    // A hidden knob is not changed either, because it could not be put back from elsewhere.
    let dir = tempfile::tempdir().unwrap();
    let state_dir = dir.path().join("state");
    let before = value("/proc/sys/vm/overcommit_ratio");
    let with = unjank(&state_dir, &["with", &format!("{KNOB}=51"), "--", "true"]);
    let way = format!("mount --bind /proc/sys/vm/overcommit_ratio {KNOB}");
    let output = hidden(&way, dir.path(), &with);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("and may hide it"), "{}", stderr(&output));
    assert_eq!(value("/proc/sys/vm/overcommit_ratio"), before);
}

#[test]
fn a_part_of_proc_that_is_mounted_over_itself_has_its_knobs() {
    if !unjank_needs::root() {
        return;
    }
    let _mine = KNOB_IS_MINE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let state_dir = dir.path().join("state");
    let before = leave_changed(&state_dir, KNOB, VALUES);
    // Containers do this to make a part of /proc writable.
    let way = "mount --bind /proc/sys/vm /proc/sys/vm";
    let output = hidden(way, dir.path(), &unjank(&state_dir, &["restore"]));
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert_eq!((value(KNOB), journals(&state_dir).len()), (before, 0));
}

#[test]
fn a_setting_of_another_network_namespace_is_another_one() {
    if !unjank_needs::root() {
        return;
    }
    let knob = "/proc/sys/net/ipv4/ip_default_ttl";
    let mut other = Command::new("unshare");
    if !Path::new(knob).exists() || !other.args(["--net", "true"]).status().unwrap().success() {
        return unjank_needs::skip("network namespaces");
    }
    let dir = tempfile::tempdir().unwrap();
    let state_dir = dir.path().join("state");
    let before = leave_changed(&state_dir, knob, ["63", "62"]);
    let restore = unjank(&state_dir, &["restore"]);
    let mut elsewhere = Command::new("unshare");
    elsewhere.arg("--net").arg(restore.get_program()).args(restore.get_args());
    let output = elsewhere.output().unwrap();
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(3), "{said}{}", stderr(&output));
    assert!(said.contains("it is in another network namespace"), "{said}");
    assert_eq!(journals(&state_dir).len(), 1);
    let output = unjank(&state_dir, &["restore"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert_eq!((value(knob), journals(&state_dir).len()), (before, 0));
}

#[test]
fn threads_that_cannot_be_seen_have_not_ended() {
    if !unjank_needs::root() {
        return;
    }
    let ways = [WAYS[0], "mount -t proc proc /proc"];
    for (way, other_pids) in ways.into_iter().zip([false, true]) {
        let (place, program) = (PrivateState::new(), Program::start(&["meas"]));
        let output = place.set(&program, &["--thread", "meas=fifo:2", "--keep"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        for verb in ["restore", "set"] {
            let id = program.id().to_string();
            let arguments = ["set", &id, "--thread", "meas=fifo:2", "--for", "1ms"];
            let unjank = place.rt(if verb == "set" { &arguments[..] } else { &["restore"] });
            let script = format!("{way}; shift; exec \"$@\"");
            let mut command = Command::new("unshare");
            if other_pids {
                command.args(["--pid", "--fork"]);
            }
            command.args(["--mount", "sh", "-c", &script, "sh", "x"]);
            command.arg(unjank.get_program()).args(unjank.get_args()).stdin(Stdio::null());
            let output = command.output().unwrap();
            if verb == "restore" {
                let said = stdout(&output);
                assert_eq!(output.status.code(), Some(3), "{way}: {said}{}", stderr(&output));
                assert!(said.contains("cannot be checked from here and is kept"), "{way}: {said}");
            }
            assert_eq!(place.ledgers(), 1, "{way}, {verb}");
        }
        assert_eq!(program.policy("meas").0.to_string(), "fifo:2");
        assert_eq!(place.run(&["restore"]).status.code(), Some(0));
        assert_eq!(program.policy("meas").0.to_string(), "other");
    }
}

#[test]
fn a_hidden_sys_is_not_an_empty_one() {
    if !unjank_needs::root() {
        return;
    }
    // A control group as a killed recorder leaves it; it has no processes.
    let Some(group) = control_group() else { return unjank_needs::skip("control groups") };
    let dir = tempfile::tempdir().unwrap();
    let state_dir = dir.path().join("state");
    let output = unjank(&state_dir, &["restore"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    fs::create_dir(&state_dir).unwrap();
    fs::set_permissions(&state_dir, fs::Permissions::from_mode(0o700)).unwrap();
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let journal = format!(
        "{{\"schema\":\"unjank.journal/1\",\"pid\":1,\"boot_id\":\"{}\",\"root\":\"/\",\
         \"started_at\":\"2026-11-21T10:15:30Z\"}}\n\
         {{\"intent\":{{\"seq\":1,\"path\":\"{}\",\"kind\":\"directory\"}}}}\n",
        boot_id.trim(),
        group.display()
    );
    fs::write(state_dir.join("1.journal"), journal).unwrap();
    fs::set_permissions(state_dir.join("1.journal"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(&group).unwrap();
    let _removed_whatever_happens = Group(group.clone());
    for way in [
        "mount -t tmpfs none /sys",
        "mount -t tmpfs none /sys && mount -t sysfs sysfs /sys",
        "umount -l /sys",
    ] {
        let output = hidden(way, dir.path(), &unjank(&state_dir, &["restore"]));
        let said = stdout(&output);
        assert_eq!(output.status.code(), Some(3), "{way}: {said}{}", stderr(&output));
        assert!(said.contains("is not mounted here, so it may be hidden"), "{way}: {said}");
        assert!(group.is_dir() && journals(&state_dir).len() == 1, "{way}");
    }
    let output = unjank(&state_dir, &["restore"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(!group.exists() && journals(&state_dir).is_empty());
}

/// A control group of this test, removed even if the test fails.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _it_is_gone_already = fs::remove_dir(&self.0);
    }
}

/// A group that does not exist, in the first hierarchy that does.
fn control_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let groups = mounts.lines().filter(|line| line.contains(" - cgroup"));
    let mut tops = groups.filter_map(|line| line.split(' ').nth(4));
    let name = format!("unjank-{}", std::process::id());
    tops.find(|top| top.starts_with("/sys/fs/cgroup")).map(|top| Path::new(top).join(name))
}
