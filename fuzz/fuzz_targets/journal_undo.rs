//! Journals and links for `unjank restore` as root: it must change only knobs below its tree.

#![no_main]

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt as _, symlink};

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use unjank_host::Root;
use unjank_host::journal::{Change, Entry, Header, Mode, restore};

/// Places that a journal may name: knobs, links that leave the tree, and other files.
const PLACES: [&str; 14] = [
    "/sys/a",
    "/sys/b",
    "/proc/sys/vm/swappiness",
    "/sys/kernel/unjank-1",
    "/sys/inside",
    "/sys/outside",
    "/sys/outside/secret",
    "/sys/away/secret",
    "/sys/away/unjank-1",
    "/sys/../../outside/secret",
    "/sys/none",
    "/etc/shadow",
    "/proc/1/mem",
    "/dev/loop7",
];
const FILES: [(&str, &str); 5] = [
    ("machine/sys/a", "1\n"),
    ("machine/sys/b", "2\n"),
    ("machine/proc/sys/vm/swappiness", "60\n"),
    ("machine/etc/shadow", "root\n"),
    ("machine/proc/1/mem", "memory\n"),
];

#[derive(Debug, Arbitrary)]
enum Line {
    Entry(Step, u8, u8, u8),
    /// A raw line, which no session writes.
    Raw(String),
    /// At another place.
    At(String),
}

#[derive(Debug, Arbitrary)]
enum Step {
    File,
    Directory,
    SwapArea,
    Set,
    Settled,
    Restored,
}

const VALUES: [&str; 6] = ["1", "2", "60", "", "a b", "\u{1b}[31m"];

fn line(line: &Line) -> String {
    let value = |number: u8| VALUES[usize::from(number) % VALUES.len()].to_owned();
    let intent = |seq: u8, path: &str, change| Entry::Intent {
        seq: u64::from(seq & 7),
        path: path.to_owned(),
        change,
    };
    let entry = match line {
        Line::Raw(text) => return text.replace('\n', " "),
        Line::At(path) => {
            let change = Change::File { before: value(0), wanted: value(1), dependant: false };
            intent(1, path, change)
        }
        Line::Entry(step, seq, one, other) => {
            let place = PLACES[usize::from(*one) % PLACES.len()];
            let number = u64::from(seq & 7);
            match step {
                Step::File => {
                    let (before, wanted) = (value(*other), value(other >> 4));
                    let change = Change::File { before, wanted, dependant: one & 8 != 0 };
                    intent(*seq, place, change)
                }
                Step::Directory => intent(*seq, place, Change::Directory),
                Step::SwapArea => intent(*seq, place, Change::SwapArea),
                Step::Set => Entry::Set { seq: number, value: value(*other) },
                Step::Settled => {
                    Entry::Settled { seq: number, value: (one & 1 != 0).then(|| value(*other)) }
                }
                Step::Restored => Entry::Restored { seq: number },
            }
        }
    };
    serde_json::to_string(&entry).expect("an entry has only string keys")
}

fuzz_target!(|lines: Vec<Line>| {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().canonicalize().expect("it was made");
    let at = |path: &str| place.join(path);
    for path in ["machine/proc/sys/vm", "machine/proc/1", "machine/sys/kernel/unjank-1"] {
        fs::create_dir_all(at(path)).expect("there is room");
    }
    for path in ["machine/etc", "machine/dev", "outside/unjank-1"] {
        fs::create_dir_all(at(path)).expect("there is room");
    }
    for (path, text) in FILES {
        fs::write(at(path), text).expect("there is room");
    }
    fs::write(at("outside/secret"), "secret\n").expect("there is room");
    for (target, link) in [("a", "inside"), ("../../outside", "outside")] {
        symlink(target, at("machine/sys").join(link)).expect("there is room");
    }
    symlink(at("outside"), at("machine/sys/away")).expect("there is room");
    let state = at("state");
    DirBuilder::new().mode(0o700).create(&state).expect("there is room");
    // In the old format without checksums, so every line is valid.
    let header = Header {
        schema: "unjank.journal/1".to_owned(),
        pid: 1,
        boot_id: None,
        cgroup_namespace: None,
        network_namespace: None,
        root: at("machine").display().to_string(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
    };
    let mut journal = serde_json::to_string(&header).expect("it has only string keys") + "\n";
    for entry in &lines {
        journal += &(line(entry) + "\n");
    }
    fs::write(state.join("1.journal"), journal).expect("there is room");
    let restored = restore(&Root::at(at("machine")), &state, Mode::Act);
    let found = restored.expect("the state directory can be used");
    assert_eq!(found.len(), 1);
    let read = |path: &str| fs::read_to_string(at(path)).ok();
    assert_eq!(read("outside/secret").as_deref(), Some("secret\n"), "{lines:?}");
    assert!(at("outside/unjank-1").is_dir(), "{lines:?}");
    for (path, text) in &FILES[3..] {
        assert_eq!(read(path).as_deref(), Some(*text), "{path} is no knob: {lines:?}");
    }
    let entries = fs::read_dir(&place).expect("it is there").count();
    assert_eq!(entries, 3, "something was made beside the tree");
});
