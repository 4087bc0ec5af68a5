//! `unjank why` agrees with the clocks of the explained programs.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod known;

use known::Known;
use known::explained::{cells, record, rows};
use unjank_needs::attempts::{self, until_ok};

/// The program's name of each part, and the cells of `why` whose sum it must equal.
type Parts = &'static [(&'static str, &'static [&'static str])];

const OWN: Parts = &[("computed", &["own/computing"]), ("waited", &["own/run-queue"])];
/// A thread that is being woken still sleeps by its own clocks.
const LOCK: Parts = &[
    ("slept", &["lock/*", "own/waking"]),
    ("others-computed", &["lock/computing"]),
    ("others-waited", &["lock/run-queue"]),
];
/// The trace may lack system calls of a pinned real-time thread, so the way may be `other`.
const INVERSION: Parts = &[
    ("others-computed", &["lock/computing", "other/computing"]),
    ("others-waited", &["lock/run-queue", "other/run-queue"]),
];
const IPC: Parts = &[
    ("slept", &["ipc/*", "own/waking"]),
    ("others-computed", &["ipc/computing"]),
    ("others-waited", &["ipc/run-queue"]),
];
const TERMINAL: Parts = &[
    ("slept", &["work/*", "own/waking"]),
    ("others-computed", &["work/computing"]),
    ("others-waited", &["work/run-queue"]),
];
/// If a thread is woken thousands of times, its own clocks do not distinguish
/// computing from the wait for a CPU.
const AWAKE: Parts = &[("ran", &["own/computing", "own/run-queue"])];
const PAGE_IN: Parts =
    &[("slept", &["*/page-in", "work/computing", "work/run-queue", "work/device", "*/waking"])];
const TIMER: Parts = &[
    ("slept", &["own/timer", "other/*", "own/waking"]),
    ("timer", &["own/timer"]),
    ("others-computed", &["other/computing"]),
];
const STORAGE: Parts = &[("slept", &["own/storage", "work/*", "own/waking"])];

/// Every program in `known`, its arguments, and its parts; `FILE` is one on a disk, `COMPUTE` the
/// program of that name.
const PROGRAMS: &[(&str, &[&str], &[Parts])] = &[
    ("compute", &[], &[OWN]),
    ("exec", &["COMPUTE"], &[OWN]),
    ("sleep", &[], &[OWN, &[("slept", &["own/timer", "own/waking"])]]),
    ("timer", &[], &[OWN, TIMER]),
    ("hog", &[], &[OWN]),
    ("lock", &[], &[OWN, LOCK]),
    ("lock", &["sleeps"], &[OWN, &[("slept", &["lock/*", "own/waking"])]]),
    ("lock", &["chain"], &[OWN, LOCK]),
    ("inode", &[], &[OWN, LOCK]),
    ("inversion", &["plain"], &[OWN, INVERSION]),
    (
        "inversion",
        &["inherits"],
        &[OWN, &[("others-computed", &["lock/computing", "other/computing"])]],
    ),
    ("request", &["pipe"], &[OWN, IPC]),
    ("request", &["sockets"], &[OWN, IPC]),
    ("request", &["tcp"], &[OWN, IPC]),
    ("request", &["terminal"], &[OWN, TERMINAL]),
    ("fault", &["FILE"], &[AWAKE, PAGE_IN]),
    ("fault", &["swap"], &[AWAKE, PAGE_IN]),
    ("fsync", &["FILE"], &[AWAKE, STORAGE]),
    ("loop", &["FILE"], &[AWAKE, STORAGE]),
];

/// Explains every program, and compares the answer with its own clocks.
fn known_programs_are_explained(busy: bool) {
    let known = Known::new();
    let _swap = known.swap();
    let _load = busy.then(|| known.load());
    let compute = known.command("compute", &[]).remove(0);
    let mut wrong = Vec::new();
    for (program, arguments, parts) in PROGRAMS {
        let file = known.file("data");
        let arguments: Vec<&str> = arguments
            .iter()
            .map(|word| match *word {
                "FILE" => &*file,
                "COMPUTE" => &*compute,
                word => word,
            })
            .collect();
        let explain = || {
            let record = record(&[], &known.command(program, &arguments));
            let own = known.parts();
            let cells = match cells(&record) {
                Ok((cells, _)) => cells,
                Err(why) => return Some(format!("{program} {arguments:?}: {why}")),
            };
            let differs = |&(part, places): &(&str, &[&str])| own.differs(part, places, &cells);
            let how: Vec<String> = parts.iter().copied().flatten().filter_map(differs).collect();
            (!how.is_empty()).then(|| format!("{program} {arguments:?}: {how:?}: {cells:?}"))
        };
        // The ring buffer sometimes lacks a switch or a system call.
        let tries: Vec<String> = (0..attempts::MOST).map_while(|_| explain()).collect();
        if tries.len() == attempts::MOST {
            wrong.extend(tries);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn parts_of_programs_have_the_lengths_that_their_own_clocks_say() {
    if unjank_needs::root() {
        known_programs_are_explained(false);
    }
}

#[test]
fn parts_of_programs_have_the_same_lengths_on_a_busy_machine() {
    if unjank_needs::root() {
        known_programs_are_explained(true);
    }
}

#[test]
fn an_inversion_without_a_lent_priority_is_inferred() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    let _alone = Known::alone();
    until_ok(|| {
        let record = record(&[], &known.command("inversion", &["plain"]));
        let wait = rows(&record, "why/waits").next().unwrap();
        if wait[5] == "inferred" { Ok(()) } else { Err(wait.to_string()) }
    });
}
