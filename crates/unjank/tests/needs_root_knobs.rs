//! Knobs of the running machine that are harmless for a moment: the interval at which idle inode
//! times are written back, the interval at which a CPU adds up its counters, the limits of dirty
//! pages and of committed memory, and the forwarding of a private network. Tests run at the same
//! time, so each one has its own knob, or they take turns.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod machine;

use std::fs::{self, File};
use std::path::Path;
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
    // After 1 the kernel refuses 0.
    let one_way = "/proc/sys/kernel/unprivileged_bpf_disabled";
    if Path::new(one_way).exists() {
        let before = fs::read_to_string(one_way).unwrap();
        let (code, said) = refused("kernel.unprivileged_bpf_disabled=1");
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains(&format!("{one_way} could not be put back afterwards")), "{said}");
        assert_eq!(fs::read_to_string(one_way).unwrap(), before);
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

/// Two settings of which the kernel sets one to 0 when the other is written, as they were found.
/// They are put back when this is dropped, also if a test fails.
struct Pair {
    /// The one in bytes and the one in percent.
    names: [&'static str; 2],
    found: [String; 2],
    _turn: File,
}

/// The pairs, and values for each member that it does not have by default.
const PAIRS: [[(&str, [&str; 2]); 2]; 3] = [
    [("dirty_bytes", ["400003072", "300003328"]), ("dirty_ratio", ["23", "31"])],
    [("dirty_background_bytes", ["100003840", "90001408"]), ("dirty_background_ratio", ["7", "9"])],
    [("overcommit_kbytes", ["5000011", "6000011"]), ("overcommit_ratio", ["53", "57"])],
];

impl Pair {
    fn take(names: [&'static str; 2]) -> Self {
        let turn = unjank_needs::turns::memory_limits();
        Self { names, found: names.map(limit), _turn: turn }
    }

    fn now(&self) -> [String; 2] {
        self.names.map(limit)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let in_force = usize::from(self.found[0] == "0");
        set_limit(self.names[in_force], &self.found[in_force]);
    }
}

fn limit(name: &str) -> String {
    fs::read_to_string(format!("/proc/sys/vm/{name}")).unwrap().trim().to_owned()
}

fn set_limit(name: &str, value: &str) {
    fs::write(format!("/proc/sys/vm/{name}"), value).unwrap();
}

/// The ends of a session: its command ends; it is killed; it is killed with its keeper, the other
/// child.
const ENDS: [&str; 3] = [
    "exit 0",
    "kill -9 $PPID",
    "for p in $(cat /proc/$PPID/task/$PPID/children); do [ $p = $$ ] || kill -9 $p; done; \
     kill -9 $PPID",
];

#[test]
fn the_member_of_a_pair_that_was_in_force_is_again() {
    if !unjank_needs::root() {
        return;
    }
    for members in PAIRS {
        let pair = Pair::take(members.map(|(name, _)| name));
        for (in_force, knob, end) in
            [0, 1].into_iter().flat_map(|f| [0, 1].map(|k| ENDS.map(|end| (f, k, end)))).flatten()
        {
            let state_dir = tempfile::tempdir().unwrap();
            let (name, [before, _]) = members[in_force];
            set_limit(name, before);
            let first = pair.now();
            let (name, [_, wanted]) = members[knob];
            let path = format!("/proc/sys/vm/{name}");
            let script = format!("[ $(cat {path}) = {wanted} ] || exit 9; {end}");
            let setting = format!("vm.{name}={wanted}");
            let output = with(&state_dir, &[&setting, "--", "sh", "-c", &script]);
            let said = stderr(&output);
            let code = (end == ENDS[0]).then_some(0);
            assert_eq!(output.status.code(), code, "{first:?}, {setting}: {said}");
            if end == ENDS[2] {
                assert_eq!(limit(name), wanted, "it is left changed");
                let mut restore = Command::new(unjank_needs::unjank!());
                restore.arg("restore").arg("--state-dir").arg(state_dir.path().join("state"));
                let output = restore.output().unwrap();
                assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
            }
            assert_eq!(pair.now(), first, "after {setting} and {end:?}: {said}");
        }
    }
}

#[test]
fn a_pair_that_another_program_changes_meanwhile_is_left_to_it() {
    if !unjank_needs::root() {
        return;
    }
    let members = PAIRS[0];
    let pair = Pair::take(members.map(|(name, _)| name));
    let [(bytes, [before, other]), (ratio, [theirs, wanted])] = members;
    for (name, value) in [(ratio, theirs), (bytes, other)] {
        let state_dir = tempfile::tempdir().unwrap();
        set_limit(bytes, before);
        let script = format!("echo {value} > /proc/sys/vm/{name}");
        let output =
            with(&state_dir, &[&format!("vm.{ratio}={wanted}"), "--", "sh", "-c", &script]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let left = if name == bytes { [value, "0"] } else { ["0", value] };
        assert_eq!(pair.now(), left, "{}", stderr(&output));
    }
}

#[test]
fn the_members_of_a_pair_are_not_held_by_two_sessions() {
    if !unjank_needs::root() {
        return;
    }
    let members = PAIRS[0];
    let pair = Pair::take(members.map(|(name, _)| name));
    let [(bytes, [before, other]), (ratio, [_, wanted])] = members;
    set_limit(bytes, before);
    let state_dir = tempfile::tempdir().unwrap();
    let script = "\"$0\" with --state-dir \"$1\" \"vm.$2\" -- true; [ $? = 1 ]";
    let state = state_dir.path().join("state");
    let second = format!("{bytes}={other}");
    let output = with(
        &state_dir,
        &[
            &format!("vm.{ratio}={wanted}"),
            "--",
            "sh",
            "-c",
            script,
            unjank_needs::unjank!(),
            state.to_str().unwrap(),
            &second,
        ],
    );
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("is held by another unjank, process "), "{said}");
    assert_eq!(pair.now(), [before, "0"]);
}

#[test]
fn forwarding_comes_back_on_every_device() {
    if !unjank_needs::root() {
        return;
    }
    if !Command::new("unshare").args(["--net", "true"]).status().unwrap().success() {
        return unjank_needs::skip("network namespaces");
    }
    // $0 is unjank and $1 a state directory.
    let script = r#"
        set -e
        cd /proc/sys/net/ipv4
        echo 1 > conf/lo/forwarding
        before=$(grep . ip_forward conf/*/forwarding conf/*/accept_redirects)
        for name in ip_forward conf.all.forwarding; do
            "$0" with --state-dir "$1" net.ipv4.$name=1 -- sh -c '
                [ $(cat ip_forward)$(cat conf/default/forwarding) = 11 ]'
            after=$(grep . ip_forward conf/*/forwarding conf/*/accept_redirects)
            [ "$before" = "$after" ] || { echo "$after"; exit 9; }
            "$0" with --state-dir "$1" net.ipv4.$name=1 -- sh -c '
                for p in $(cat /proc/$PPID/task/$PPID/children); do
                    [ $p = $$ ] || kill -9 $p
                done
                kill -9 $PPID' || true
            [ $(cat ip_forward) = 1 ]
            "$0" restore --state-dir "$1"
            after=$(grep . ip_forward conf/*/forwarding conf/*/accept_redirects)
            [ "$before" = "$after" ] || { echo "$after"; exit 9; }
        done
        "$0" with --state-dir "$1" net.ipv4.ip_forward=1 --             "$0" with --state-dir "$1" net.ipv4.conf.all.forwarding=1 -- true || [ $? = 1 ]
    "#;
    let state_dir = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", script]).arg(unjank_needs::unjank!());
    let output = command.arg(state_dir.path().join("state")).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{}{said}", stdout(&output));
    assert!(said.contains("is held by another unjank, process "), "{said}");
}
