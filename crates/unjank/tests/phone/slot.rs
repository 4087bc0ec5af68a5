//! As many phones at a time as there are CPUs, whoever runs tests on this machine.
//!
//! A phone is one program that computes without a pause. With more of them than CPUs, each gets its
//! turn so rarely that its emulated CPUs keep each other waiting.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::thread;
use std::time::Duration;

/// How often a place that was taken is looked at again.
const LOOK: Duration = Duration::from_millis(50);

/// A place for a phone, as soon as there is one. It is taken for as long as this file, which is
/// locked, or a copy of it is open in any process: the kernel gives it back however that one ends.
pub(super) fn take() -> File {
    let user = fs::metadata("/proc/self").unwrap().uid();
    let directory = env::temp_dir().join(format!("unjank-phones-{user}"));
    fs::create_dir_all(&directory).unwrap();
    let places = thread::available_parallelism().unwrap().get();
    loop {
        for place in 0..places {
            let file = File::create(directory.join(place.to_string())).unwrap();
            match file.try_lock() {
                Ok(()) => return file,
                Err(fs::TryLockError::WouldBlock) => {}
                Err(fs::TryLockError::Error(error)) => panic!("{error}"),
            }
        }
        thread::sleep(LOOK);
    }
}
