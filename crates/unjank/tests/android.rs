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
            let file = device.path("bin").join(name);
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        device
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/android/run.sh");
        let path = format!("{}:{}", self.path("bin").display(), env::var("PATH").unwrap());
        Command::new(script)
            .args(words)
            .env("PATH", path)
            .env("PLACE", self.path("place"))
            .env("PROGRAM", self.path("program"))
            .env("ABI", "arm64-v8a")
            .output()
            .unwrap()
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
