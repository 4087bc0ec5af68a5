//! Trees and configurations of other users that root uses.
//!
//! Needs root. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that it
//! was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;
use unjank_needs::printed::stderr;

const NOBODY: u32 = 65534;

fn unjank(arguments: &[&str]) -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(arguments);
    command
}

/// A program run by nobody that exchanges a directory of a tree and a link, over and
/// over, until it is killed.
struct Swapper(Child);

impl Drop for Swapper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A tree that belongs to nobody, with one knob, and root's file of the same name outside.
struct Tree {
    dir: TempDir,
}

impl Tree {
    fn new() -> Self {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        for made in ["theirs/tree/sys/real", "outside"] {
            fs::create_dir_all(dir.path().join(made)).unwrap();
        }
        fs::write(dir.path().join("theirs/tree/sys/real/knob"), "1\n").unwrap();
        fs::write(dir.path().join("outside/knob"), "secret\n").unwrap();
        symlink("../../../outside", dir.path().join("theirs/tree/sys/other")).unwrap();
        symlink("real", dir.path().join("theirs/tree/sys/here")).unwrap();
        let tree = Self { dir };
        for given in ["", "tree", "tree/sys", "tree/sys/real", "tree/sys/real/knob"] {
            chown(tree.theirs(given), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        tree
    }

    fn theirs(&self, name: &str) -> PathBuf {
        self.dir.path().join("theirs").join(name)
    }

    fn secret(&self) -> String {
        fs::read_to_string(self.dir.path().join("outside/knob")).unwrap()
    }

    /// Starts to exchange the directory and the link that leads out.
    fn swap_for_ever(&self) -> Swapper {
        let script = "import ctypes, os, sys\n\
                      libc = ctypes.CDLL(None)\n\
                      os.setgroups([])\n\
                      os.setgid(65534)\n\
                      os.setuid(65534)\n\
                      os.chdir(sys.argv[1])\n\
                      print('ready', flush=True)\n\
                      while True: libc.renameat2(-100, b'real', -100, b'other', 2)\n";
        let mut child = Command::new("python3")
            .args(["-c", script])
            .arg(self.theirs("tree/sys"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
        Swapper(child)
    }

    fn with(&self, setting: &str) -> Output {
        let (root, state) = (self.theirs("tree"), self.dir.path().join("state"));
        unjank(&["with", "--root", root.to_str().unwrap(), "--state-dir", state.to_str().unwrap()])
            .args([setting, "--", "true"])
            .output()
            .unwrap()
    }

    fn restore(&self) -> Output {
        let (root, state) = (self.theirs("tree"), self.dir.path().join("state"));
        unjank(&["restore", "--root", root.to_str().unwrap()])
            .arg("--state-dir")
            .arg(state)
            .output()
            .unwrap()
    }
}

#[test]
fn a_tree_whose_owner_swaps_links_leads_nowhere_else() {
    if !unjank_needs::root() {
        return;
    }
    let tree = Tree::new();
    let swapper = tree.swap_for_ever();
    let mut changed = 0;
    for _ in 0..100 {
        let output = tree.with("/sys/here/knob=7");
        changed += u32::from(output.status.success());
        assert_eq!(tree.secret(), "secret\n", "{}", stderr(&output));
        tree.restore();
        assert_eq!(tree.secret(), "secret\n");
    }
    drop(swapper);
    println!("{changed} of 100 sessions found the knob");
}

#[test]
fn a_tree_behind_a_link_of_its_owner_is_refused() {
    if !unjank_needs::root() {
        return;
    }
    let tree = Tree::new();
    fs::rename(tree.theirs("tree"), tree.theirs("moved")).unwrap();
    symlink("/", tree.theirs("tree")).unwrap();
    lchown(tree.theirs("tree"), Some(NOBODY), Some(NOBODY)).unwrap();
    let output = tree.with("/proc/sys/vm/dirtytime_expire_seconds=41000");
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("tree (a link: it belongs to user 65534"));
    let state = tree.dir.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
    assert_eq!(tree.restore().status.code(), Some(4));
}

#[test]
fn a_hard_link_to_roots_file_is_not_a_knob() {
    if !unjank_needs::root() {
        return;
    }
    let tree = Tree::new();
    fs::hard_link(tree.dir.path().join("outside/knob"), tree.theirs("tree/sys/knob")).unwrap();
    let output = tree.with("/sys/knob=7");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(tree.secret(), "secret\n");
}

fn plan(config: &Path) -> Output {
    unjank(&["launch", "boost", "plan", "--config"]).arg(config).output().unwrap()
}

#[test]
fn a_configuration_that_others_could_have_written_is_refused() {
    if !unjank_needs::root() {
        return;
    }
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let at = |name: &str| dir.path().join(name);
    let allow =
        |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    fs::create_dir_all(at("a/b")).unwrap();
    let config = at("a/b/boost.toml");
    fs::write(&config, "[boost]\nlongest = \"2s\"\n").unwrap();
    let refused = |config: &Path, place: &Path, why: &str| {
        let output = plan(config);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains(&format!("trusting {} ({why}", place.display())), "{said}");
        assert!(said.contains("sudo install -D -m 644 "), "{said}");
    };
    let good = |config: &Path| {
        let output = plan(config);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    };
    good(&config);
    let ways = [("a/b/boost.toml", 0o644), ("a/b", 0o755), ("a", 0o755)];
    for (name, mode) in ways {
        chown(at(name), Some(NOBODY), None).unwrap();
        refused(&config, &at(name), "it belongs to user 65534");
        chown(at(name), Some(0), None).unwrap();
        for others in [0o020, 0o002] {
            allow(&at(name), mode | others);
            refused(&config, &at(name), "others may write to it");
        }
        allow(&at(name), mode);
    }
    good(&config);
    // Others could have created it first.
    allow(&at("a/b"), 0o1777);
    refused(&config, &at("a/b"), "others may write to it");
    allow(&at("a/b"), 0o755);
    // The target of a link counts, and so does the link's owner.
    symlink(&config, at("link.toml")).unwrap();
    good(&at("link.toml"));
    lchown(at("link.toml"), Some(NOBODY), None).unwrap();
    refused(&at("link.toml"), &at("link.toml"), "a link: it belongs to user 65534");
    // The configuration in a tree is checked as well.
    fs::create_dir_all(at("tree/etc/unjank")).unwrap();
    fs::write(at("tree/etc/unjank/boost.toml"), "[detect]\nlogcat = true\n").unwrap();
    chown(at("tree/etc/unjank/boost.toml"), Some(NOBODY), None).unwrap();
    let output = unjank(&["launch", "boost", "plan", "--root"]).arg(at("tree")).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
}
