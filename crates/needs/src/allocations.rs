//! Counts allocations, for tests of paths that must not allocate: [`Counting`] is their
//! `#[global_allocator]`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Of this thread only: the number of those of a watching thread varies.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system allocator, which counts.
#[derive(Debug)]
pub struct Counting;

// SAFETY: the system allocator does all work; the counter has no destructor and
// allocates nothing.
#[expect(unsafe_code, reason = "an allocator is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The number of allocations of this thread so far; 0 without [`Counting`] as the program's
/// allocator.
pub fn so_far() -> u64 {
    COUNT.get()
}

/// The number of allocations that `work` makes on this thread.
pub fn of(work: impl FnOnce()) -> u64 {
    let before = so_far();
    work();
    so_far() - before
}
