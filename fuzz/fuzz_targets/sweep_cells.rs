//! Checkpoint cells of a sweep: the valid part of a file is read again, and the rest is cut off.

#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use unjank_swap::sweep::Checkpoint;

fuzz_target!(|input: (bool, &[u8])| {
    let (begins_well, bytes) = input;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("sweep");
    let of = "of what they are";
    let bytes = if begins_well { [of.as_bytes(), b"\n", bytes].concat() } else { bytes.to_vec() };
    fs::write(&path, &bytes).expect("there is room");
    let Ok(checkpoint) = Checkpoint::open(&path, of) else {
        assert_eq!(fs::read(&path).expect("it is there"), bytes, "it is somebody else's");
        return;
    };
    let cells = format!("{:?}", checkpoint.cells());
    drop(checkpoint);
    let whole = fs::read(&path).expect("it is there");
    assert!(bytes.starts_with(&whole) || whole == format!("{of}\n").as_bytes());
    let again = Checkpoint::open(&path, of).expect("it was opened before");
    assert_eq!(format!("{:?}", again.cells()), cells);
});
