//! Limits phones at the same time to the number of CPUs, for all test runs on this machine.
//!
//! A phone is one program that computes without a pause. With more phones than CPUs, each runs so
//! rarely that its emulated CPUs wait for each other.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::thread;
use std::time::Duration;

/// The time between two attempts to get a slot.
const LOOK: Duration = Duration::from_millis(50);

/// Waits for a slot for a phone. It is taken while this locked file, or a copy of it, is open in
/// any process; the kernel frees it when that process ends.
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
