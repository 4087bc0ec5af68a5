//! `unjank swap tierd install` and `uninstall`, in a directory tree.
//!
//! Needs root and systemctl(1). Fails without them when `UNJANK_TEST_ALL=1`, otherwise says that it
//! was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use unjank_needs::printed::stderr;
use unjank_needs::{is_there, root};

const UNIT: &str = "root/etc/systemd/system/unjank-tierd.service";
const WANTED: &str = "root/etc/systemd/system/multi-user.target.wants/unjank-tierd.service";
const SETTINGS: &str = "root/etc/unjank/tierd.conf";

/// A tree, and a program that only root can replace.
struct Machine(TempDir);

impl Machine {
    /// `None` if nothing can be installed here.
    fn new() -> Option<Self> {
        if !root() || !is_there("systemctl", Path::new("/usr/bin/systemctl").exists()) {
            return None;
        }
        let machine = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(machine.path("root/etc")).unwrap();
        fs::create_dir(machine.path("programs")).unwrap();
        unjank_needs::copy_program(unjank_needs::unjank!(), machine.path("programs/unjank"));
        Some(machine)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn tierd(&self, words: &[&str]) -> Output {
        let mut command = Command::new(self.path("programs/unjank"));
        command.args(["swap", "tierd"]).args(words).arg("--root").arg(self.path("root"));
        command.output().unwrap()
    }
}

fn ends(output: &Output, code: i32, said: &str) {
    assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
    assert!(stderr(output).contains(said), "{}", stderr(output));
}

#[test]
fn what_is_installed_starts_this_program_and_is_removed_again() {
    let Some(machine) = Machine::new() else { return };
    let options = ["install", "--after", "10min", "--per-day", "512MiB"];
    ends(&machine.tierd(&options), 0, "is enabled");
    let unit = fs::read_to_string(machine.path(UNIT)).unwrap();
    let program = machine.path("programs/unjank");
    assert!(unit.contains(&format!("ExecStart={} swap tierd ", program.display())), "{unit}");
    assert!(machine.path(WANTED).is_symlink());
    let settings = fs::read_to_string(machine.path(SETTINGS)).unwrap();
    assert!(settings.ends_with("\nOPTIONS=--after 10min --per-day 512MiB\n"), "{settings}");
    // An upgrade keeps them.
    ends(&machine.tierd(&["install"]), 0, "tierd.conf stays as it is");
    ends(&machine.tierd(&["install", "--after", "1min"]), 2, "change them there");

    ends(&machine.tierd(&["uninstall"]), 0, "is removed");
    for file in [UNIT, WANTED, SETTINGS] {
        assert!(!machine.path(file).exists() && !machine.path(file).is_symlink(), "{file}");
    }
    ends(&machine.tierd(&["uninstall"]), 0, "there is no unit");
}

#[test]
fn own_settings_stay() {
    let Some(machine) = Machine::new() else { return };
    fs::create_dir(machine.path("root/etc/unjank")).unwrap();
    let own = "OPTIONS=--policy none\n";
    fs::write(machine.path(SETTINGS), own).unwrap();
    ends(&machine.tierd(&["install"]), 0, "tierd.conf stays as it is");
    ends(&machine.tierd(&["uninstall"]), 0, "has changed and stays");
    assert_eq!(fs::read_to_string(machine.path(SETTINGS)).unwrap(), own);
}

#[test]
fn without_options_there_are_no_settings() {
    let Some(machine) = Machine::new() else { return };
    ends(&machine.tierd(&["install"]), 0, "is enabled");
    assert!(machine.path(UNIT).exists() && !machine.path(SETTINGS).exists());
    ends(&machine.tierd(&["uninstall"]), 0, "is removed");
}

#[test]
fn where_nothing_could_be_written_back_nothing_is_installed() {
    if !root() || Path::new("/run/systemd/system").exists() {
        return;
    }
    let output = Command::new(unjank_needs::unjank!()).args(["swap", "tierd", "install"]).output();
    let output = output.unwrap();
    ends(&output, 3, "systemd does not run here");
}
