//! Changes of killed sessions, and how they are put back.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::journal::JournalStatus;

#[test]
fn restore_puts_back_what_a_killed_session_left() {
    let bench = Bench::new(&[("a", "0")]);
    bench.killed_session();
    let found = bench.restore();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].status, JournalStatus::Stale);
    assert_eq!(found[0].pid, Some(std::process::id()));
    assert_eq!(outcomes(&found[0].changes), [&RestoreOutcome::PutBack]);
    assert_eq!(bench.read("a"), "0");
    assert!(bench.journals().is_empty());
    assert!(bench.restore().is_empty());
}

#[test]
fn a_dry_run_changes_nothing() {
    let bench = Bench::new(&[("a", "0")]);
    bench.killed_session();
    let journal = fs::read(&bench.journals()[0]).unwrap();
    let found = restore(&bench.root(), &bench.state_dir(), Mode::DryRun).unwrap();
    assert_eq!(outcomes(&found[0].changes), [&RestoreOutcome::WouldPutBack]);
    assert_eq!(bench.read("a"), "1");
    assert_eq!(fs::read(&bench.journals()[0]).unwrap(), journal);
}

#[test]
fn the_next_session_begins_with_the_first_values() {
    let bench = Bench::new(&[("a", "0")]);
    bench.killed_session();
    let session = bench.open();
    assert_eq!(outcomes(&session.recovered()[0].changes), [&RestoreOutcome::PutBack]);
    let knob = session.change("/sys/a", "2").unwrap();
    assert_eq!(knob.before(), "0");
}

#[test]
fn changes_of_a_session_that_dies_are_put_back_before_another_one_takes_the_knob() {
    let bench = Bench::new(&[("a", "0")]);
    let second = bench.open();
    bench.killed_session();
    let knob = second.change("/sys/a", "2").unwrap();
    assert_eq!(knob.before(), "0", "not what the dead session had set");
}

#[test]
fn without_a_state_directory_nothing_was_left() {
    let bench = Bench::new(&[]);
    assert!(bench.restore().is_empty());
    assert!(!bench.state_dir().exists(), "a restore does not create it");
}

#[test]
fn a_boot_has_reset_everything() {
    let bench = Bench::new(&[("a", "0")]);
    bench.killed_session();
    bench.boot("second");
    let found = bench.restore();
    assert_eq!(outcomes(&found[0].changes), [&RestoreOutcome::ResetByBoot]);
    assert_eq!(bench.read("a"), "1", "values after a boot are not touched");
    assert!(bench.journals().is_empty());
}

#[test]
fn a_journal_is_not_kept_for_a_knob_that_is_gone() {
    let bench = Bench::new(&[("a", "0")]);
    bench.killed_session();
    fs::remove_file(bench.dir.path().join("sys/a")).unwrap();
    assert_eq!(outcomes(&bench.restore()[0].changes), [&RestoreOutcome::Gone]);
    assert!(bench.journals().is_empty());
}

#[test]
fn the_journal_of_another_tree_is_left_alone() {
    let bench = Bench::new(&[("a", "0")]);
    bench.killed_session();
    let other = Bench::beside(&bench, &[("a", "1")]);
    let found = restore(&other.root(), &bench.state_dir(), Mode::Act).unwrap();
    let root = bench.dir.path().canonicalize().unwrap();
    assert_eq!(
        found[0].status,
        JournalStatus::Elsewhere { root: root.to_str().unwrap().to_owned() }
    );
    assert_eq!((other.read("a"), bench.read("a")), ("1".to_owned(), "1".to_owned()));
    bench.restore();
    assert_eq!(bench.read("a"), "0");
}

#[test]
fn a_journal_with_a_damaged_first_line_is_kept_until_it_is_removed() {
    let bench = Bench::new(&[("a", "0")]);
    bench.killed_session();
    let journal = &bench.journals()[0];
    let text = fs::read_to_string(journal).unwrap();
    fs::write(journal, text.replacen("first", "f1rst", 1)).unwrap();
    for _ in 0..2 {
        let found = bench.restore();
        let JournalStatus::Unreadable { reason } = &found[0].status else { panic!("{found:?}") };
        assert!(reason.contains("line 1: it is damaged"), "{reason}");
        assert!(found[0].is_unresolved());
        assert_eq!((bench.read("a"), bench.journals().len()), ("1".to_owned(), 1));
        // Its boot is unknown, too.
        bench.boot("second");
    }
    assert!(!bench.open().recovered().is_empty(), "a session reports it, and works");
}

#[test]
fn a_journal_that_others_could_write_is_not_followed() {
    let bench = Bench::new(&[("a", "0")]);
    bench.killed_session();
    let journal = &bench.journals()[0];
    fs::set_permissions(journal, fs::Permissions::from_mode(0o666)).unwrap();
    let found = bench.restore();
    let JournalStatus::Unreadable { reason } = &found[0].status else { panic!("{found:?}") };
    assert!(reason.contains("others may write to it"), "{reason}");
    assert_eq!(bench.read("a"), "1");
}

#[test]
fn a_torn_line_is_cut_off_before_more_lines_are_written() {
    let bench = Bench::new(&[("a", "0"), ("b", "0")]);
    bench.killed_session();
    let journal = &bench.journals()[0];
    let mut text = fs::read_to_string(journal).unwrap();
    text.push_str(
        "{\"crc32\":\"01234567\",\"line\":{\"intent\":{\"seq\":2,\"path\":\"/sys/b\",\"kin",
    );
    fs::write(journal, &text).unwrap();
    // The journal is kept for a change that cannot be put back.
    fs::remove_file(bench.dir.path().join("sys/a")).unwrap();
    fs::create_dir(bench.dir.path().join("sys/a")).unwrap();
    assert!(bench.restore()[0].is_unresolved());
    fs::remove_dir(bench.dir.path().join("sys/a")).unwrap();
    bench.write("a", "1");
    assert_eq!(outcomes(&bench.restore()[0].changes), [&RestoreOutcome::PutBack]);
    assert_eq!(bench.read("a"), "0");
}

#[test]
fn a_change_that_cannot_be_put_back_is_kept_until_it_can() {
    let bench = Bench::new(&[("a", "0")]);
    let session = bench.open();
    let knob = session.change("/sys/a", "1").unwrap();
    crate::journal::failpoint::kill_after(0);
    drop(knob);
    let reports = session.finish();
    crate::journal::failpoint::disarm();
    assert!(reports[0].outcome.is_failure());
    assert_eq!(bench.journals().len(), 1, "nothing is lost");

    let second = bench.open();
    bench.write("a", "0");
    assert!(second.change("/sys/a", "2").is_ok(), "the second session had cleared it");
}

#[test]
fn a_knob_that_an_unclearable_journal_holds_is_not_taken() {
    let bench = Bench::new(&[("a", "0"), ("b", "0")]);
    bench.killed_session();
    // Then the kernel refuses the old value.
    let session = bench.open();
    assert_eq!(bench.read("a"), "0");
    bench.killed_session();
    crate::journal::failpoint::refuse_after(0);
    let error = message(session.change("/sys/a", "2"));
    crate::journal::failpoint::disarm();
    assert!(error.starts_with("an earlier session left /sys/a changed"), "{error}");
    session.change("/sys/b", "2").unwrap().set("3").unwrap();
}

#[test]
fn a_made_directory_is_removed_after_a_kill() {
    let bench = Bench::new(&[]);
    let session = bench.open();
    let made = session.make_directory("/sys/kernel/unjank-1").unwrap();
    crate::journal::failpoint::kill_after(0);
    drop((made, session));
    crate::journal::failpoint::disarm();
    assert!(bench.dir.path().join("sys/kernel/unjank-1").is_dir());
    assert_eq!(outcomes(&bench.restore()[0].changes), [&RestoreOutcome::PutBack]);
    assert!(!bench.dir.path().join("sys/kernel/unjank-1").exists());
}

#[test]
fn a_journal_without_a_first_line_is_cleared() {
    let bench = Bench::new(&[("a", "0")]);
    drop(bench.open());
    for text in ["", "{\"schema\":\"unjank.jour"] {
        let journal = bench.state_dir().join("1-0-0.journal");
        fs::write(&journal, text).unwrap();
        let found = bench.restore();
        assert_eq!((&found[0].status, found[0].changes.len()), (&JournalStatus::Stale, 0));
        assert!(!journal.exists());
    }
}
