//! `dist/android/run.sh`, with a stand-in for adb(1) whose device is a directory of this machine.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use unjank_needs::printed::{stderr, stdout};

/// adb(1): joins the words of `shell`, which a shell of the device splits again.
const ADB: &str = r#"#!/bin/sh
case $1 in
get-state) [ -e "$PLACE" ] ;;
shell)
    shift
    case "$*" in
    getprop*) echo "$ABI" ;;
    "id -u") echo 2000 ;;
    *) exec sh -c "$*" ;;
    esac ;;
push) echo "$2" >>"$PLACE/pushed" && cp "$2" "$3" ;;
esac
"#;

struct Device {
    directory: TempDir,
}

impl Device {
    fn new() -> Self {
        let device = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(device.path("bin")).unwrap();
        fs::create_dir(device.path("place")).unwrap();
        let su = "#!/bin/sh\nshift\nAS_ROOT=1 exec \"$@\"\n";
        for (name, text) in [("adb", ADB), ("su", su)] {
            let written = device.path(name);
            fs::write(&written, text).unwrap();
            fs::set_permissions(&written, fs::Permissions::from_mode(0o755)).unwrap();
            // A program that another test starts meanwhile could inherit the open file.
            unjank_needs::copy_program(&written, device.path("bin").join(name));
        }
        device
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    fn command(&self, words: &[&str]) -> Command {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/android/run.sh");
        let path = format!("{}:{}", self.path("bin").display(), env::var("PATH").unwrap());
        let mut command = Command::new(script);
        command
            .args(words)
            .env("PATH", path)
            .env("PLACE", self.path("place"))
            .env("PROGRAM", self.path("program"))
            .env("ABI", "arm64-v8a");
        command
    }

    /// A program that prints its arguments, one a line, and ends with 5.
    fn program(&self) {
        let text = "#!/bin/sh\nprintf '%s\\n' \"root: ${AS_ROOT:-no}\" \"$@\"\nexit 5\n";
        fs::write(self.path("program"), text).unwrap();
    }
}

#[test]
fn words_and_the_exit_code_arrive_as_they_are() {
    let device = Device::new();
    device.program();
    let words = ["why", "--", "a b", "it's", "$HOME", "\"x\"", "", "-n"];
    let output = device.run(&words);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert_eq!(stdout(&output), format!("root: no\n{}\n", words.join("\n")));
    let output = device.run(&["--root", "rt", "it's"]);
    assert_eq!(stdout(&output), "root: 1\nrt\nit's\n", "{}", stderr(&output));
}

#[test]
fn a_record_is_asked_for_before_the_command_that_is_measured() {
    let device = Device::new();
    device.program();
    let output = device.run(&["--json", "why", "--", "am", "start"]);
    assert_eq!(stdout(&output), "root: no\nwhy\n--json\n--\nam\nstart\n", "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(5), "that of the command");
    let output = device.run(&["--json", "host"]);
    assert_eq!(stdout(&output), "root: no\nhost\n--json\n", "{}", stderr(&output));
}

#[test]
fn the_command_has_the_input() {
    let device = Device::new();
    fs::write(device.path("program"), "#!/bin/sh\ncat\n").unwrap();
    fs::write(device.path("input"), "a trace").unwrap();
    let input = fs::File::open(device.path("input")).unwrap();
    let output = device.command(&["swap", "analyze", "-"]).stdin(input).output().unwrap();
    assert_eq!(stdout(&output), "a trace", "{}", stderr(&output));
}

#[test]
fn the_program_is_pushed_when_it_has_changed() {
    let device = Device::new();
    device.program();
    let pushed = || fs::read_to_string(device.path("place/pushed")).unwrap().lines().count();
    device.run(&["host"]);
    device.run(&["host"]);
    assert_eq!(pushed(), 1);
    fs::write(device.path("program"), "#!/bin/sh\necho other\n").unwrap();
    assert_eq!(stdout(&device.run(&["host"])), "other\n");
    assert_eq!(pushed(), 2);
}

#[test]
fn what_is_missing_is_named() {
    let device = Device::new();
    let output = device.run(&["host"]);
    assert!(stderr(&output).contains("is missing: run make dist"), "{}", stderr(&output));
    assert!(stderr(&device.run(&[])).contains("usage: run.sh"));
    fs::remove_dir(device.path("place")).unwrap();
    assert!(stderr(&device.run(&["host"])).contains("no device: adb devices"));
}
