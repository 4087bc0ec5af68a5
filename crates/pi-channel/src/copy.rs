//! Copies to and from memory that another process may change meanwhile.
//!
//! For the compiler, such a change is a data race, which a plain copy must not
//! have. A short copy, and every copy on other architectures, is a series of
//! relaxed atomic accesses, of eight bytes where aligned. A long copy on x86-64 is
//! `rep movsb`, which is opaque to the compiler and up to three times as fast.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

const STEP: usize = size_of::<u64>();
/// From this length on, the string instruction is faster.
#[cfg(target_arch = "x86_64")]
const LONG: usize = 256;

/// Fills `target` from `source`.
///
/// # Safety
/// As many bytes are mapped at `source`, and this process has no references to
/// them.
#[inline]
pub(crate) unsafe fn from_shared(source: *const u8, target: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if target.len() >= LONG {
        // SAFETY: the target is a slice, the source the caller's promise.
        return unsafe { move_string(source, target.as_mut_ptr(), target.len()) };
    }
    let mut done = 0;
    while done < target.len() {
        let at = source.wrapping_add(done).cast_mut();
        if at.addr().is_multiple_of(STEP) && target.len() - done >= STEP {
            // SAFETY: eight bytes from an aligned address within the source.
            let word = unsafe { AtomicU64::from_ptr(at.cast()) }.load(Relaxed);
            target[done..done + STEP].copy_from_slice(&word.to_ne_bytes());
            done += STEP;
        } else {
            // SAFETY: a byte within the source.
            target[done] = unsafe { AtomicU8::from_ptr(at) }.load(Relaxed);
            done += 1;
        }
    }
}

/// Copies all bytes of `source` to `target`.
///
/// # Safety
/// As many bytes are mapped at `target`, and this process has no references to
/// them.
#[inline]
pub(crate) unsafe fn to_shared(source: &[u8], target: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    if source.len() >= LONG {
        // SAFETY: the source is a slice, the target the caller's promise.
        return unsafe { move_string(source.as_ptr(), target, source.len()) };
    }
    let mut done = 0;
    while done < source.len() {
        let at = target.wrapping_add(done);
        match source[done..].first_chunk::<STEP>() {
            Some(chunk) if at.addr().is_multiple_of(STEP) => {
                let word = u64::from_ne_bytes(*chunk);
                // SAFETY: eight bytes at an aligned address within the target.
                unsafe { AtomicU64::from_ptr(at.cast()) }.store(word, Relaxed);
                done += STEP;
            }
            _ => {
                // SAFETY: a byte within the target.
                unsafe { AtomicU8::from_ptr(at) }.store(source[done], Relaxed);
                done += 1;
            }
        }
    }
}

/// `rep movsb`.
///
/// # Safety
/// `count` bytes can be read at `source` and written at `target`, and the two do
/// not overlap.
#[cfg(target_arch = "x86_64")]
unsafe fn move_string(source: *const u8, target: *mut u8, count: usize) {
    // SAFETY: the caller's promise; the calling convention clears the direction
    // flag (Intel SDM, volume 2, MOVS and REP).
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") count => _,
            inout("rsi") source => _,
            inout("rdi") target => _,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_length_at_every_alignment_is_copied_whole(
            bytes in prop::collection::vec(any::<u8>(), 0..600),
            offset in 0..16_usize,
        ) {
            let mut shared = vec![0xEE_u8; 640];
            let start = shared.as_mut_ptr();
            let mut target = vec![0; bytes.len()];
            // SAFETY: the vector is longer than both together, lives to the
            // end, and is not used otherwise meanwhile.
            unsafe {
                to_shared(&bytes, start.wrapping_add(offset));
                from_shared(start.wrapping_add(offset), &mut target);
            }
            prop_assert_eq!(&target, &bytes);
            prop_assert!(shared[..offset].iter().all(|byte| *byte == 0xEE));
            prop_assert!(shared[offset + bytes.len()..].iter().all(|byte| *byte == 0xEE));
        }
    }
}
