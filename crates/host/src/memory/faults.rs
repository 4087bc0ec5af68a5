//! Page size, and the page faults of the calling thread.

use std::io;
use std::mem::MaybeUninit;

use crate::error::{Error, Result};
use unjank_units::Bytes;

/// The page size of this machine.
pub fn page_size() -> Bytes {
    Bytes(rustix::param::page_size() as u64)
}

/// Page faults of the calling thread since it began: `getrusage(2)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Minor faults: served from memory.
    pub minor: u64,
    /// Major faults: waited for a page to be read.
    pub major: u64,
}

impl Faults {
    /// The counts of the calling thread so far: `RUSAGE_THREAD` of `getrusage(2)`.
    ///
    /// # Errors
    /// Never on Linux 2.6.26 or later.
    pub fn of_this_thread() -> Result<Self> {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: getrusage(2) fills the structure it gets, which is plain data
        // and valid when zeroed.
        let usage = unsafe {
            if libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) != 0 {
                let error = io::Error::last_os_error();
                return Err(Error::syscall("getrusage", "this thread", error));
            }
            usage.assume_init()
        };
        Ok(Self { minor: usage.ru_minflt.cast_unsigned(), major: usage.ru_majflt.cast_unsigned() })
    }

    /// The faults since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            minor: self.minor.saturating_sub(earlier.minor),
            major: self.major.saturating_sub(earlier.major),
        }
    }
}
