//! What `make install` installs: manual pages, completions, units and examples of their settings;
//! and that `make uninstall` leaves nothing.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use unjank_needs::is_there;
use unjank_needs::printed::{stderr, stdout};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs the script below `destination`, with the program of these tests.
fn script(what: &str, destination: &Path) {
    let library = tempfile::NamedTempFile::new().unwrap();
    let output = Command::new(root().join("scripts/install.sh"))
        .arg(what)
        .env("BINARY", unjank_needs::unjank!())
        .env("LIBRARY", library.path())
        .env("DESTDIR", destination)
        .env("PREFIX", "/usr")
        .env_remove("RUN")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

/// The files below a directory.
fn files(directory: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = |path: PathBuf| if path.is_dir() { files(&path) } else { [path].into() };
    entries.flat_map(files).collect()
}

fn bash(commands: &str) -> Output {
    Command::new("bash").args(["--norc", "-c", commands]).output().unwrap()
}

#[test]
fn what_is_installed_is_removed_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = directory.path().join("usr/share/man/man1/unjankish.1");
    fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    fs::write(&foreign, "").unwrap();
    script("install", directory.path());
    let installed = files(directory.path());
    for file in [
        "bin/unjank",
        "lib/unjank/libunjank_lock.so",
        "share/man/man1/unjank-swap-tier-up.1",
        "share/bash-completion/completions/unjank",
        "share/zsh/site-functions/_unjank",
        "share/fish/vendor_completions.d/unjank.fish",
        "lib/systemd/system/unjank-tierd.service",
        "lib/systemd/system/unjank-watch.service",
        "share/doc/unjank/examples/boost.toml",
        "share/doc/unjank/LICENSE-MIT",
    ] {
        assert!(installed.contains(&directory.path().join("usr").join(file)), "{installed:#?}");
    }
    // A second time: the program may be running.
    script("install", directory.path());
    assert_eq!(files(directory.path()), installed);
    script("uninstall", directory.path());
    assert_eq!(files(directory.path()), [foreign].into());
}

#[test]
fn units_start_the_program_where_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(root().join("scripts/install.sh"))
        .env("BINARY", unjank_needs::unjank!())
        .env("DESTDIR", directory.path())
        .env("PREFIX", "/opt/unjank")
        .env_remove("RUN")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let units = directory.path().join("opt/unjank/lib/systemd/system");
    for unit in files(&units) {
        let text = fs::read_to_string(&unit).unwrap();
        assert!(text.contains("=/opt/unjank/bin/unjank "), "{text}");
        assert!(!text.contains("/usr/bin/unjank"), "{text}");
    }
}

#[test]
fn pages_have_no_fault_that_groff_knows() {
    let there = Command::new("groff").arg("--version").output().is_ok();
    if !is_there("groff", there) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output =
        Command::new(unjank_needs::unjank!()).arg("man").arg(directory.path()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let pages = files(directory.path());
    assert!(pages.len() > 60, "{pages:#?}");
    let checked = Command::new("groff")
        .args(["-man", "-Tutf8", "-K", "utf8", "-ww", "-z"])
        .args(pages)
        .output();
    assert_eq!(stderr(&checked.unwrap()), "");
}

#[test]
fn bash_completes_commands_options_and_values() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("unjank");
    let output =
        Command::new(unjank_needs::unjank!()).args(["completions", "bash"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    fs::write(&script, &output.stdout).unwrap();
    let completed = |words: &str| {
        let count = words.split(' ').count();
        let completed = bash(&format!(
            "source {}; COMP_WORDS=({words} ''); COMP_CWORD={count}; COMP_WORDS[$COMP_CWORD]=$LAST
             _unjank unjank \"$LAST\" {}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.split(' ').next_back().unwrap(),
        ));
        assert!(completed.status.success(), "{}", stderr(&completed));
        stdout(&completed).lines().map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let commands = completed("unjank");
    assert!(commands.contains("why") && commands.contains("checkup"), "{commands:?}");
    assert!(!commands.contains("keeper"), "{commands:?}");
    let verbs = completed("unjank swap");
    assert!(verbs.contains("tierd") && verbs.contains("mrc"), "{verbs:?}");
    let all = stdout(&output);
    assert!(all.contains("--prove") && !all.contains("repetition"));
}

#[test]
fn shells_without_a_script_are_named() {
    let output =
        Command::new(unjank_needs::unjank!()).args(["completions", "csh"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("[possible values: bash, elvish, fish"), "{output:?}");
    for shell in ["zsh", "fish"] {
        let output =
            Command::new(unjank_needs::unjank!()).args(["completions", shell]).output().unwrap();
        assert!(stdout(&output).contains("unjank"), "{shell}");
    }
}

#[test]
fn a_program_in_place_of_a_command_leads_to_why() {
    let output = Command::new(unjank_needs::unjank!()).args(["ls", "-l"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(error.contains("tip: to see where its launch loses time: sudo unjank why -- ls -l"));
    let output = Command::new(unjank_needs::unjank!()).args(["launch", "ls"]).output().unwrap();
    assert!(stderr(&output).contains("unjank launch bench -- ls"), "{output:?}");
}

#[test]
fn alone_it_says_in_five_lines_what_to_type() {
    let output = Command::new(unjank_needs::unjank!()).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).lines().count()), (Some(0), 5), "{output:?}");
}
