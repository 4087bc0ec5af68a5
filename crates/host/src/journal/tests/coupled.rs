//! Knobs that belong together. In these trees there is no kernel that changes one
//! with the other, so the tests do it.

use std::path::Path;

use super::*;
use crate::journal::{Journal, Knob, failpoint};

const BYTES: &str = "/proc/sys/vm/dirty_bytes";
const RATIO: &str = "/proc/sys/vm/dirty_ratio";
const MIN_FREE: &str = "/proc/sys/vm/min_free_kbytes";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const ALL: &str = "/proc/sys/net/ipv4/conf/all/forwarding";
const IP_FORWARD: &str = "/proc/sys/net/ipv4/ip_forward";

fn machine() -> Bench {
    let bench = Bench::new(&[]);
    for (path, value) in [
        (BYTES, "400"),
        (RATIO, "0"),
        (MIN_FREE, "30"),
        (THP, "always [madvise] never"),
        (ALL, "0"),
        (IP_FORWARD, "0"),
    ] {
        fs::create_dir_all(bench.root().resolve(path).parent().unwrap()).unwrap();
        write(&bench, path, value);
    }
    bench
}

fn write(bench: &Bench, path: &str, value: &str) {
    fs::write(bench.root().resolve(path), format!("{value}\n")).unwrap();
}

fn read(bench: &Bench, path: &str) -> String {
    fs::read_to_string(bench.root().resolve(path)).unwrap().trim_end().to_owned()
}

#[test]
fn two_sessions_never_hold_one_setting() {
    let bench = machine();
    let (first, second) = (bench.open(), bench.open());
    for (held, path, wanted) in [
        (RATIO, BYTES, "500"),
        (BYTES, RATIO, "30"),
        (IP_FORWARD, ALL, "1"),
        (ALL, IP_FORWARD, "1"),
    ] {
        let knob = first.change(held, "20").unwrap();
        let said = message(second.change(path, wanted));
        assert!(said.contains("is held by another unjank"), "{held}, {path}: {said}");
        drop(knob);
    }
}

#[test]
fn a_knob_that_changes_with_that_of_another_session_is_not_taken() {
    let bench = machine();
    let (first, second) = (bench.open(), bench.open());
    for (held, wanted) in [(THP, MIN_FREE), (MIN_FREE, THP)] {
        let knob = first.change(held, "never").unwrap();
        let said = message(second.change(wanted, "never"));
        assert!(said.starts_with(&format!("{MIN_FREE} is held by another unjank")), "{said}");
        drop(knob);
    }
}

#[test]
fn a_session_holds_a_setting_under_one_name() {
    let bench = machine();
    let session = bench.open();
    let said = message(session.change_all(&[(RATIO, "30"), (BYTES, "500")]));
    assert_eq!(said, format!("{RATIO} and {BYTES} are one setting: give one of them"));
    let ratio = session.change(RATIO, "30").unwrap();
    let said = message(session.change(BYTES, "500"));
    assert!(
        said.ends_with(&format!("is one setting with {RATIO}, which is held already")),
        "{said}"
    );
    let again = session.change(RATIO, "31").unwrap();
    drop((ratio, again));
    assert_eq!((read(&bench, BYTES), read(&bench, RATIO)), ("400".to_owned(), "0".to_owned()));
}

#[test]
fn an_untouched_dependant_is_not_reported() {
    let bench = machine();
    let session = bench.open();
    let thp = session.change(THP, "never").unwrap();
    assert_eq!(thp.value(), "never");
    let reports = session.finish();
    assert_eq!(reports.len(), 1, "{reports:?}");
}

#[test]
fn what_another_program_wrote_to_a_dependant_stays() {
    let bench = machine();
    let session = bench.open();
    let thp = session.change(THP, "never").unwrap();
    write(&bench, MIN_FREE, "99");
    drop(thp);
    let reports = session.finish();
    assert_eq!(outcomes(&reports), [&RestoreOutcome::LeftToOthers, &RestoreOutcome::PutBack]);
    assert_eq!(
        (read(&bench, MIN_FREE), read(&bench, THP)),
        ("99".to_owned(), "madvise".to_owned())
    );
}

/// Whether the journal still holds `path`.
fn is_held(bench: &Bench, path: &str) -> bool {
    bench.journals().iter().any(|file| {
        let journal = Journal::parse(Path::new("j"), &fs::read(file).unwrap()).unwrap();
        journal.ledger.at(path).is_some()
    })
}

#[test]
fn a_dependant_comes_back_after_a_kill_at_every_step_of_putting_back() {
    for kill in 0.. {
        let bench = machine();
        let session = bench.open();
        let thp = session.change(THP, "never").unwrap();
        failpoint::kill_after(kill);
        drop((thp, session));
        let died = failpoint::disarm();
        // The kernel has set it with the knob.
        if read(&bench, THP) == "madvise" && is_held(&bench, MIN_FREE) {
            write(&bench, MIN_FREE, "67");
        }
        bench.restore();
        let now = (read(&bench, THP), read(&bench, MIN_FREE));
        let before = ("madvise".to_owned(), "30".to_owned());
        assert_eq!(now, before, "after {kill} steps");
        if !died {
            assert!(kill > 5, "{kill} steps are fewer than it takes");
            return;
        }
    }
}

#[test]
fn guards_of_coupled_knobs_can_be_dropped_in_any_order() {
    for min_free_first in [true, false] {
        let bench = machine();
        let session = bench.open();
        let min_free = session.change(MIN_FREE, "50").unwrap();
        let thp = session.change(THP, "never").unwrap();
        let later: Knob = if min_free_first {
            drop(min_free);
            assert_eq!(read(&bench, MIN_FREE), "30");
            thp
        } else {
            drop(thp);
            assert_eq!(read(&bench, MIN_FREE), "50");
            min_free
        };
        drop(later);
        session.finish();
        let now = (read(&bench, THP), read(&bench, MIN_FREE));
        assert_eq!(now, ("madvise".to_owned(), "30".to_owned()));
        assert!(bench.journals().is_empty());
    }
}
