//! The number of contended calls of each kind.

use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use crate::environment::variable;

/// In the file of `UNJANK_LOCK_COUNTS`, in the machine's byte order, as
/// `unjank_lock::preload` reads it. All processes with the same file add to it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Counts {
    /// Processes that have loaded the library.
    pub(crate) processes: AtomicU64,
    /// Calls that found a mutex held for which threads may spin.
    pub(crate) waits: AtomicU64,
    /// Of these, those that got it by spinning.
    pub(crate) spun: AtomicU64,
    /// Of these, those that spun for a while, and then slept.
    pub(crate) gave_up: AtomicU64,
    /// Calls that found a mutex of another kind held: perhaps by the same thread.
    pub(crate) other_kinds: AtomicU64,
}

/// Null where nobody wants to know.
static SHARED: AtomicPtr<Counts> = AtomicPtr::new(null_mut());

/// Counts one more call.
pub(crate) fn add(of: fn(&Counts) -> &AtomicU64) {
    // SAFETY: it is null, or points to a mapping that stays until the process ends.
    if let Some(counts) = unsafe { SHARED.load(Relaxed).as_ref() } {
        of(counts).fetch_add(1, Relaxed);
    }
}

/// Maps the file, if there is one.
pub(crate) fn begin() {
    let Some(path) = variable(c"UNJANK_LOCK_COUNTS") else { return };
    let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    // SAFETY: a string.
    let file = unsafe { libc::open(path.as_ptr(), flags) };
    if file < 0 {
        return;
    }
    if is_large_enough(file) {
        let (protection, length) = (libc::PROT_READ | libc::PROT_WRITE, size_of::<Counts>());
        // SAFETY: a new mapping at an address of the kernel's choice.
        let mapped =
            unsafe { libc::mmap(null_mut(), length, protection, libc::MAP_SHARED, file, 0) };
        if mapped != libc::MAP_FAILED {
            SHARED.store(mapped.cast(), Relaxed);
            add(|counts| &counts.processes);
        }
    }
    // SAFETY: it was opened above; the mapping does not need it.
    unsafe { libc::close(file) };
}

/// Whether it is a regular file that holds the counts.
fn is_large_enough(file: i32) -> bool {
    let mut about = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat(2) fills it if it returns 0.
    if unsafe { libc::fstat(file, about.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: it was filled.
    let about = unsafe { ptr::read(about.as_ptr()) };
    about.st_mode & libc::S_IFMT == libc::S_IFREG && about.st_size >= size_of::<Counts>() as i64
}
