//! Finished cells of a sweep in a file: the valid part is read again, and the rest is cut off.

#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use unjank_swap::sweep::{Cell, Checkpoint, UnitKey};

fuzz_target!(|input: (bool, &[u8])| {
    let (begins_well, bytes) = input;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("sweep");
    let claim = |mut checkpoint: Checkpoint| {
        assert!(checkpoint.claim().expect("it can be written"), "nobody else has it");
        cells(&checkpoint)
    };
    claim(Checkpoint::open(&path).expect("there is none"));
    let head = fs::read(&path).expect("it is there");
    let bytes = if begins_well { [&head, bytes].concat() } else { bytes.to_vec() };
    fs::write(&path, &bytes).expect("there is room");
    let Ok(checkpoint) = Checkpoint::open(&path) else {
        assert_eq!(fs::read(&path).expect("it is there"), bytes, "it is somebody else's");
        return;
    };
    let read = cells(&checkpoint);
    assert_eq!(claim(checkpoint), read);
    let whole = fs::read(&path).expect("it is there");
    assert!(bytes.starts_with(&whole) || whole == head);
    assert_eq!(cells(&Checkpoint::open(&path).expect("it was opened before")), read);
});

/// The cells of each unit, by its key.
fn cells(checkpoint: &Checkpoint) -> Vec<(UnitKey, Vec<Cell>)> {
    let mut units: Vec<_> =
        checkpoint.units().map(|unit| (unit, checkpoint.cells(unit).to_vec())).collect();
    units.sort_by_key(|(unit, _)| *unit);
    units
}
