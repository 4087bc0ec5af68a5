//! The driver with a clock read before and after each transfer.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use unjank_binder::driver::Transfer;
use unjank_binder::protocol::{ExtendedError, FlatObject};
use unjank_binder::{Driver, KernelDriver, Mapping};

/// Adds up the time in `BINDER_WRITE_READ`.
#[derive(Debug)]
pub struct Stamped {
    driver: KernelDriver,
    nanoseconds: AtomicU64,
}

impl Stamped {
    /// Over an open device.
    pub fn new(driver: KernelDriver) -> Self {
        Self { driver, nanoseconds: AtomicU64::new(0) }
    }

    /// The nanoseconds since the last call of this.
    pub fn take(&self) -> u64 {
        self.nanoseconds.swap(0, Ordering::Relaxed)
    }
}

// SAFETY: every request goes to the kernel's driver unchanged.
unsafe impl Driver for Stamped {
    fn device(&self) -> &Path {
        self.driver.device()
    }

    fn mapping(&self) -> &Mapping {
        self.driver.mapping()
    }

    unsafe fn write_read(&self, transfer: &mut Transfer<'_>) -> io::Result<()> {
        let begin = Instant::now();
        // SAFETY: the caller's promise.
        let outcome = unsafe { self.driver.write_read(transfer) };
        self.nanoseconds.fetch_add(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
        outcome
    }

    fn set_max_threads(&self, threads: u32) -> io::Result<()> {
        self.driver.set_max_threads(threads)
    }

    fn set_context_manager_object(&self, object: &FlatObject) -> io::Result<()> {
        self.driver.set_context_manager_object(object)
    }

    fn set_context_manager(&self) -> io::Result<()> {
        self.driver.set_context_manager()
    }

    fn extended_error(&self) -> io::Result<ExtendedError> {
        self.driver.extended_error()
    }

    fn thread_exit(&self) -> io::Result<()> {
        self.driver.thread_exit()
    }

    fn wake(&self) -> io::Result<()> {
        self.driver.wake()
    }
}
