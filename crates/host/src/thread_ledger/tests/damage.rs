//! Damaged ledgers.

use proptest::prelude::*;

use super::*;

/// Two threads and the limit, changed by a session that was killed, and its file.
fn cut_off() -> (tempfile::TempDir, Root, Scripted, std::path::PathBuf) {
    let (dir, root, scheduler) = machine();
    let place = dir.path().join("rt");
    let mut ledger = Ledger::begin(&root, &place, Some(77), true, &scheduler, None).unwrap();
    ledger.limit(77, Nanos::from_millis(1_000), false).unwrap();
    change(&mut ledger, &scheduler, 78, fifo(80));
    change(&mut ledger, &scheduler, 79, fifo(70));
    change(&mut ledger, &scheduler, 79, fifo(60));
    drop(ledger);
    let file = fs::read_dir(&place).unwrap().next().unwrap().unwrap().path();
    (dir, root, scheduler, file)
}

#[test]
fn a_flipped_bit_anywhere_sets_nothing_wrong_and_loses_nothing() {
    let (dir, root, scheduler, file) = cut_off();
    let whole = fs::read(&file).unwrap();
    let limit = *scheduler.limit.borrow();
    for at in 0..whole.len() {
        let bit = at % 8;
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << bit;
        fs::write(&file, &flipped).unwrap();
        for (id, state) in [(78, fifo(80)), (79, fifo(60))] {
            scheduler.set(ThreadId(id), state).unwrap();
        }
        scheduler.set_run_limit(77, limit).unwrap();
        let case = format!("byte {at}, bit {bit}");
        let found =
            restore(&root, &dir.path().join("rt"), Selection::CutOff, Mode::Act, &scheduler);
        let found = found.unwrap();
        let now = |id| scheduler.look(77, ThreadId(id)).unwrap().unwrap().1;
        assert!([OTHER, fifo(80)].contains(&now(78)), "{case}");
        assert!([OTHER, fifo(60)].contains(&now(79)), "{case}");
        assert!([UNLIMITED, limit].contains(&scheduler.limit.borrow()), "{case}");
        let back = (now(78), now(79), *scheduler.limit.borrow()) == (OTHER, OTHER, UNLIMITED);
        assert!(back || ledgers(&dir) == 1, "{case}: it is lost: {found:?}");
        let said = found.iter().any(FoundLedger::is_unresolved);
        assert!(ledgers(&dir) == 0 || said, "{case}: {found:?}");
    }
}

#[test]
fn changes_outside_a_damaged_line_are_put_back() {
    let (dir, root, scheduler, file) = cut_off();
    let mut text = fs::read_to_string(&file).unwrap();
    let at = text.find("\"thread\":79").unwrap();
    text.replace_range(at + 10..at + 11, "6");
    fs::write(&file, text).unwrap();
    let all = || restore(&root, &dir.path().join("rt"), Selection::CutOff, Mode::Act, &scheduler);
    let found = all().unwrap();
    assert_eq!((&found[0].status, found[0].damaged.len()), (&LedgerStatus::CutOff, 1));
    assert_eq!(scheduler.look(77, ThreadId(78)).unwrap().unwrap().1, OTHER);
    assert_eq!(*scheduler.limit.borrow(), UNLIMITED);
    assert!(all().unwrap()[0].is_unresolved(), "it is reported until the file is removed");
    Ledger::begin(&root, &dir.path().join("rt"), Some(78), true, &scheduler, None).unwrap();
    assert_eq!(ledgers(&dir), 2, "and kept by the next session");
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _either = Contents::parse(std::path::Path::new("x"), &bytes);
    }
}
