//! Damaged journals: no wrong value is written, and no change is lost silently.

use super::*;
use crate::journal::JournalStatus;

/// A session over `a`, `b` and a directory that was killed after all kinds of
/// lines, and what its journal holds.
fn killed() -> (Bench, Vec<u8>) {
    let bench = Bench::new(&[("a", "first-a"), ("b", "first-b"), ("c", "first-c")]);
    let session = bench.open();
    let a = session.change("/sys/a", "ours-1").unwrap();
    let b = session.change("/sys/b", "ours-2").unwrap();
    drop(session.change("/sys/c", "ours-3").unwrap());
    a.set("ours-4").unwrap();
    let made = session.make_directory("/sys/kernel/unjank-1").unwrap();
    crate::journal::failpoint::kill_after(0);
    drop((a, b, made, session));
    crate::journal::failpoint::disarm();
    let bytes = fs::read(&bench.journals()[0]).unwrap();
    (bench, bytes)
}

/// The machine as the killed session left it, with `journal` as its journal.
fn left(bench: &Bench, journal: &[u8]) {
    bench.write("a", "ours-4");
    bench.write("b", "ours-2");
    bench.write("c", "theirs");
    let _there = fs::create_dir(bench.dir.path().join("sys/kernel/unjank-1"));
    fs::write(bench.state_dir().join("1.journal"), journal).unwrap();
}

/// Restores, and checks the invariants for any damage. Returns whether
/// everything was put back.
fn check(bench: &Bench, case: &str) -> bool {
    let found = bench.restore();
    let directory = bench.dir.path().join("sys/kernel/unjank-1");
    let [a, b, c] = ["a", "b", "c"].map(|name| bench.read(name));
    assert!(["ours-4", "first-a"].contains(&a.as_str()), "{case}: a reads {a}");
    assert!(["ours-2", "first-b"].contains(&b.as_str()), "{case}: b reads {b}");
    assert_eq!(c, "theirs", "{case}");
    let back = a == "first-a" && b == "first-b" && !directory.exists();
    let kept = bench.journals().len() == 1;
    assert!(back || kept, "{case}: it is lost: {found:?}");
    assert!(!kept || found.iter().any(FoundJournal::is_unresolved), "{case}: {found:?}");
    for journal in bench.journals() {
        fs::remove_file(journal).unwrap();
    }
    back
}

#[test]
fn a_flipped_bit_anywhere_writes_nothing_wrong_and_loses_nothing() {
    let (bench, whole) = killed();
    fs::remove_file(&bench.journals()[0]).unwrap();
    left(&bench, &whole);
    assert!(check(&bench, "whole"), "as it was written");
    let mut all_back = 0;
    for at in 0..whole.len() {
        // That every bit of a byte is noticed is a test of `checked_lines`.
        let bit = at % 8;
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << bit;
        left(&bench, &flipped);
        all_back += usize::from(check(&bench, &format!("byte {at}, bit {bit}")));
    }
    // If the damaged line is about something else, everything is put back.
    assert!(all_back > whole.len() / 8, "{all_back} of {}", whole.len());
}

#[test]
fn a_journal_cut_off_anywhere_is_like_one_of_an_earlier_kill() {
    let (bench, whole) = killed();
    fs::remove_file(&bench.journals()[0]).unwrap();
    for length in (0..whole.len()).step_by(3) {
        left(&bench, &whole[..length]);
        let found = bench.restore();
        assert!(!found.iter().any(FoundJournal::is_unresolved), "{length}: {found:?}");
        assert!(bench.journals().is_empty(), "{length}");
    }
}

#[test]
fn intact_lines_are_put_back_and_damaged_ones_are_kept_and_reported() {
    let (bench, mut bytes) = killed();
    fs::remove_file(&bench.journals()[0]).unwrap();
    // The announcement of `b`.
    let text = String::from_utf8(bytes.clone()).unwrap();
    bytes[text.find("/sys/b").unwrap() + 5] ^= 1;
    left(&bench, &bytes);
    let found = bench.restore();
    assert_eq!((&found[0].status, found[0].damaged.as_slice()), (&JournalStatus::Stale, &[4][..]));
    assert_eq!((bench.read("a"), bench.read("b")), ("first-a".to_owned(), "ours-2".to_owned()));
    // The journal records what is back, and it is not touched again.
    bench.write("a", "ours-4");
    assert!(bench.restore()[0].changes.is_empty());
    assert_eq!(bench.read("a"), "ours-4");
    // A session reports it, and works.
    let session = bench.open();
    assert_eq!(session.recovered()[0].damaged, [4]);
    session.change("/sys/c", "ours-5").unwrap().set("ours-6").unwrap();
    drop(session);
    // The next boot ends it.
    bench.boot("second");
    bench.restore();
    assert!(bench.journals().is_empty());
}

#[test]
fn a_value_that_a_damaged_line_may_record_is_neither_overwritten_nor_given_up() {
    let (bench, mut bytes) = killed();
    fs::remove_file(&bench.journals()[0]).unwrap();
    // `a` reads ours-4, which is known only from the damaged lines.
    let text = String::from_utf8(bytes.clone()).unwrap();
    let at = text.find("\"set\"").unwrap();
    bytes[at] ^= 1;
    left(&bench, &bytes);
    let settled = text.rfind("ours-4").unwrap();
    bytes[settled] ^= 1;
    left(&bench, &bytes);
    let found = bench.restore();
    let a = found[0].changes.iter().find(|change| change.path == "/sys/a").unwrap();
    let said = a.to_string();
    assert!(said.contains("it reads \"ours-4\"; a damaged line of the journal"), "{said}");
    assert_eq!((bench.read("a"), bench.read("b")), ("ours-4".to_owned(), "first-b".to_owned()));
    assert_eq!(bench.journals().len(), 1);
}

#[test]
fn a_journal_without_checksums_is_still_put_back() {
    let (bench, _) = killed();
    fs::remove_file(&bench.journals()[0]).unwrap();
    let root = bench.dir.path().canonicalize().unwrap();
    let old = format!(
        "{{\"schema\":\"unjank.journal/1\",\"pid\":1,\"boot_id\":\"first\",\"root\":\"{}\",\
         \"started_at\":\"2026-11-21T10:15:30Z\"}}\n\
         {{\"intent\":{{\"seq\":1,\"path\":\"/sys/a\",\"kind\":\"file\",\"before\":\"first-a\",\
         \"wanted\":\"ours-4\"}}}}\n\
         {{\"settled\":{{\"seq\":1,\"value\":\"ours-4\"}}}}\n\
         {{\"intent\":{{\"seq\":2,\"path\":\"/sys/b\",\"kind\":\"file\",\"bef",
        root.display()
    );
    left(&bench, old.as_bytes());
    let found = bench.restore();
    assert_eq!(outcomes(&found[0].changes), [&RestoreOutcome::PutBack]);
    assert_eq!((bench.read("a"), bench.journals().len()), ("first-a".to_owned(), 0));
}
