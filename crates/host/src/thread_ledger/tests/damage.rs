//! Damaged ledgers.

use proptest::prelude::*;

use super::*;

/// Two threads and the limit, changed by a session that was killed, and its file.
fn cut_off() -> (Machine, PathBuf) {
    let machine = Machine::new();
    let mut ledger = machine.begin(Some(77), true);
    ledger.limit(77, Nanos::from_millis(1_000), false).unwrap();
    machine.change(&mut ledger, 78, fifo(80));
    machine.change(&mut ledger, 79, fifo(70));
    machine.change(&mut ledger, 79, fifo(60));
    drop(ledger);
    let file = machine.files().remove(0);
    (machine, file)
}

#[test]
fn a_flipped_bit_anywhere_sets_nothing_wrong_and_loses_nothing() {
    let (machine, file) = cut_off();
    let whole = fs::read(&file).unwrap();
    let limit = machine.limit();
    for at in 0..whole.len() {
        let bit = at % 8;
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << bit;
        fs::write(&file, &flipped).unwrap();
        for (id, state) in [(78, fifo(80)), (79, fifo(60))] {
            machine.scheduler.set(ThreadId(id), state).unwrap();
        }
        machine.scheduler.set_run_limit(77, limit).unwrap();
        let case = format!("byte {at}, bit {bit}");
        let found = machine.restore(Selection::CutOff, Mode::Act);
        let now = |id| machine.now(id);
        assert!([OTHER, fifo(80)].contains(&now(78)), "{case}");
        assert!([OTHER, fifo(60)].contains(&now(79)), "{case}");
        assert!([UNLIMITED, limit].contains(&machine.limit()), "{case}");
        let back = (now(78), now(79), machine.limit()) == (OTHER, OTHER, UNLIMITED);
        assert!(back || machine.ledgers() == 1, "{case}: it is lost: {found:?}");
        let said = found.iter().any(FoundLedger::is_unresolved);
        assert!(machine.ledgers() == 0 || said, "{case}: {found:?}");
    }
}

#[test]
fn changes_outside_a_damaged_line_are_put_back() {
    let (machine, file) = cut_off();
    let mut text = fs::read_to_string(&file).unwrap();
    let at = text.find("\"thread\":79").unwrap();
    text.replace_range(at + 10..at + 11, "6");
    fs::write(&file, text).unwrap();
    let all = || machine.restore(Selection::CutOff, Mode::Act);
    let found = all();
    assert_eq!((&found[0].status, found[0].damaged.len()), (&LedgerStatus::CutOff, 1));
    assert_eq!(machine.now(78), OTHER);
    assert_eq!(machine.limit(), UNLIMITED);
    assert!(all()[0].is_unresolved(), "it is reported until the file is removed");
    machine.begin(Some(78), true);
    assert_eq!(machine.ledgers(), 2, "and kept by the next session");
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _either = Contents::parse(std::path::Path::new("x"), &bytes);
    }
}
