//! Changes that stay after the end of their session.

use super::*;
use crate::journal::{JournalStatus, kept, undo_kept};

/// A session of `tune` changes `a` to 1 and leaves it.
fn keep(bench: &Bench) {
    let session = bench.open();
    let knob = session.change("/sys/a", "1").unwrap();
    session.keep("tune").unwrap();
    drop(knob);
    assert_eq!(bench.read("a"), "1");
}

fn undo(bench: &Bench, by: &str) -> Result<Vec<FoundJournal>> {
    undo_kept(&bench.root(), &bench.state_dir(), by)
}

#[test]
fn kept_changes_stay_until_their_command_takes_them_back() {
    let bench = Bench::new(&[("a", "0")]);
    assert!(undo(&bench, "tune").unwrap().is_empty(), "there is no state directory");
    keep(&bench);
    let restored = bench.restore();
    assert_eq!(restored[0].status, JournalStatus::Kept { by: "tune".to_owned() });
    assert!(!restored[0].is_unresolved() && restored[0].changes.is_empty());
    assert!(bench.open().recovered().is_empty(), "another session leaves them, too");
    assert!(undo(&bench, "other").unwrap().is_empty());
    let held = kept(&bench.root(), &bench.state_dir(), "tune").unwrap();
    assert_eq!((held.len(), held[0].path.as_str()), (1, "/sys/a"));
    assert_eq!(bench.read("a"), "1");
    let undone = undo(&bench, "tune").unwrap();
    assert_eq!(outcomes(&undone[0].changes), [&RestoreOutcome::PutBack]);
    assert_eq!(bench.read("a"), "0");
    assert!(bench.journals().is_empty());
    assert!(kept(&bench.root(), &bench.state_dir(), "tune").unwrap().is_empty());
}

#[test]
fn kept_changes_are_not_taken_back_under_another_session() {
    let bench = Bench::new(&[("a", "0")]);
    keep(&bench);
    let session = bench.open();
    let knob = session.change("/sys/a", "2").unwrap();
    assert_eq!(knob.before(), "1");
    assert!(message(undo(&bench, "tune")).starts_with("/sys/a is held by another unjank"));
    drop((knob, session));
    assert_eq!(bench.read("a"), "1", "as the kept changes left it");
    undo(&bench, "tune").unwrap();
    assert_eq!(bench.read("a"), "0");
}

#[test]
fn a_boot_has_reset_kept_changes() {
    let bench = Bench::new(&[("a", "0")]);
    keep(&bench);
    bench.boot("second");
    assert!(kept(&bench.root(), &bench.state_dir(), "tune").unwrap().is_empty());
    assert_eq!(outcomes(&bench.restore()[0].changes), [&RestoreOutcome::ResetByBoot]);
    assert!(bench.journals().is_empty());
}

#[test]
fn a_session_that_cannot_keep_its_changes_puts_them_back() {
    let bench = Bench::new(&[("a", "0")]);
    let session = bench.open();
    let _knob = session.change("/sys/a", "1").unwrap();
    super::super::failpoint::refuse_after(0);
    session.keep("tune").unwrap_err();
    super::super::failpoint::disarm();
    assert_eq!(bench.read("a"), "0");
}
