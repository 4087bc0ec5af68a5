//! `unjank launch boost install` and `uninstall`, in a directory tree with a recorded phone's clock.
//!
//! Needs root and systemctl(1). Fails without them when `UNJANK_TEST_ALL=1`, otherwise says that it
//! was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod boosted;
mod shown;

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use boosted::{NOBODY, Phone, sees_starts};
use shown::check;
use unjank_needs::printed::stderr;
use unjank_needs::{is_there, root};

const UNIT: &str = "root/etc/systemd/system/unjank-boost.service";
const WANTED: &str = "root/etc/systemd/system/multi-user.target.wants/unjank-boost.service";
const SETTINGS: &str = "root/etc/unjank/boost.toml";

fn can_install() -> bool {
    root() && sees_starts() && is_there("systemctl", Path::new("/usr/bin/systemctl").exists())
}

/// A tree with a clock, whose files change no real one, and a program that only root can replace.
struct Machine {
    phone: Phone,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { phone: Phone::new() };
        fs::create_dir(machine.path("programs")).unwrap();
        unjank_needs::copy_program(unjank_needs::unjank!(), machine.program());
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.phone.path(name)
    }

    fn program(&self) -> PathBuf {
        self.path("programs/unjank")
    }

    fn boost(&self, words: &[&str]) -> Output {
        let mut command = Command::new(self.program());
        command.args(["launch", "boost"]).args(words).arg("--root").arg(self.path("root"));
        command.output().unwrap()
    }

    /// Installs after a trial of one pair, which shows no gain.
    fn install(&self, words: &[&str]) -> Output {
        let state = self.path("state").display().to_string();
        let trial = ["install", "--pairs", "1", "--no-store", "--state-dir", &state];
        self.boost(&[&trial, words].concat())
    }
}

#[test]
fn what_is_installed_starts_this_program_and_is_removed_again() {
    if !can_install() {
        return;
    }
    let machine = Machine::new();
    let output = machine.install(&["--unproved", "--method", "sampling-rate"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let unit = fs::read_to_string(machine.path(UNIT)).unwrap();
    let start = format!("ExecStart={} launch boost ", machine.program().display());
    assert!(unit.contains(&start) && !unit.contains("/usr/bin/unjank"), "{unit}");
    assert!(machine.path(WANTED).is_symlink(), "{}", stderr(&output));
    let settings = fs::read_to_string(machine.path(SETTINGS)).unwrap();
    assert!(settings.ends_with("\n[boost]\nmethod = \"sampling-rate\"\n"), "{settings}");
    assert_eq!(machine.phone.journals(), 0);

    let output = machine.boost(&["uninstall"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for file in [UNIT, WANTED, SETTINGS] {
        assert!(!machine.path(file).exists() && !machine.path(file).is_symlink(), "{file}");
    }
    // A second time, there is nothing to do.
    assert_eq!(machine.boost(&["uninstall"]).status.code(), Some(0));
}

#[test]
fn where_no_launch_gets_shorter_nothing_is_installed() {
    if !can_install() {
        return;
    }
    let machine = Machine::new();
    let output = machine.install(&["--method", "min-freq"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("nothing is installed: no method"), "{}", stderr(&output));
    assert!(!machine.path(UNIT).exists() && !machine.path(SETTINGS).exists());
    // The knobs that it tried have their first values.
    assert_eq!(machine.phone.read(boosted::MIN), "200000");
}

#[test]
fn own_settings_and_units_stay_as_they_are() {
    if !can_install() {
        return;
    }
    let machine = Machine::new();
    let own = "[boost]\nmethod = \"double-tap\"\nlongest = \"2s\"\n";
    fs::create_dir_all(machine.path("root/etc/unjank")).unwrap();
    fs::write(machine.path(SETTINGS), own).unwrap();
    let output = machine.install(&["--unproved"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("boost.toml stays as it is"), "{}", stderr(&output));
    machine.boost(&["uninstall"]);
    assert_eq!(fs::read_to_string(machine.path(SETTINGS)).unwrap(), own);

    let foreign = "[Service]\nExecStart=/bin/true\n";
    fs::write(machine.path(UNIT), foreign).unwrap();
    for words in [&["install", "--no-store"][..], &["uninstall"]] {
        let output = machine.boost(words);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("is not unjank's, and stays"), "{}", stderr(&output));
    }
    assert_eq!(fs::read_to_string(machine.path(UNIT)).unwrap(), foreign);
}

#[test]
fn a_trial_is_shown_again() {
    if !can_install() {
        return;
    }
    let phone = Phone::new();
    let [root, state] = ["root", "state"].map(|name| phone.path(name).display().to_string());
    let trial = ["launch", "boost", "install", "--dry-run", "--unproved", "--pairs", "6"];
    let places = ["--method", "min-freq", "--root", &root, "--state-dir", &state];
    let text = check(&[&trial[..], &places].concat());
    assert!(text.contains("min-freq"), "{text}");
}

#[test]
fn a_program_that_others_can_replace_is_not_installed() {
    if !can_install() {
        return;
    }
    let machine = Machine::new();
    chown(machine.path("programs"), Some(NOBODY), None).unwrap();
    let output = machine.install(&[]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("which other users can replace"), "{}", stderr(&output));
}
