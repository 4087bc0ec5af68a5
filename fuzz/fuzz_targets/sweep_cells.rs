//! Checkpoint cells of a sweep: the valid part of a file is read again, and the rest is cut off.

#![no_main]

use std::collections::BTreeMap;
use std::fs;

use libfuzzer_sys::fuzz_target;
use unjank_swap::sweep::{Checkpoint, Identity};
use unjank_swap::trace::Options;

fuzz_target!(|input: (bool, &[u8])| {
    let (begins_well, bytes) = input;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("sweep");
    let identity = Identity::new(1, BTreeMap::new(), Options::default(), &[]);
    drop(Checkpoint::open(&path, &identity).expect("there is none"));
    let head = fs::read(&path).expect("it is there");
    let bytes = if begins_well { [&head, bytes].concat() } else { bytes.to_vec() };
    fs::write(&path, &bytes).expect("there is room");
    let Ok(checkpoint) = Checkpoint::open(&path, &identity) else {
        assert_eq!(fs::read(&path).expect("it is there"), bytes, "it is somebody else's");
        return;
    };
    let cells = format!("{:?}", checkpoint.cells());
    drop(checkpoint);
    let whole = fs::read(&path).expect("it is there");
    assert!(bytes.starts_with(&whole) || whole == head);
    let again = Checkpoint::open(&path, &identity).expect("it was opened before");
    assert_eq!(format!("{:?}", again.cells()), cells);
});
