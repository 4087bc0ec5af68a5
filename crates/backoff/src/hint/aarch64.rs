//! aarch64: `SB` or `ISB` as a pause, and an armed exclusive monitor with `WFE`
//! or `WFET`.
//!
//! Sources: Arm ARM (DDI 0487), sections on ISB, SB, WFE, WFET and the
//! exclusive monitors; `arch/arm64/include/uapi/asm/hwcap.h`.

#![allow(unsafe_code)]

use core::arch::asm;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use super::Monitor;
use crate::ticks::Ticks;

/// The features are known.
const KNOWN: u8 = 1;
/// The processor has `SB`.
const SB: u8 = 1 << 1;
/// The processor has `WFET`.
const WFET: u8 = 1 << 2;

static FEATURES: AtomicU8 = AtomicU8::new(0);

#[inline]
fn features() -> u8 {
    match FEATURES.load(Ordering::Relaxed) {
        0 => find(),
        known => known,
    }
}

#[cold]
fn find() -> u8 {
    let found = KNOWN | asked();
    // Other threads store the same value.
    FEATURES.store(found, Ordering::Relaxed);
    found
}

/// The features that programs may use, according to the kernel (`getauxval(3)`).
#[cfg(all(feature = "std", target_os = "linux"))]
fn asked() -> u8 {
    const HWCAP_SB: u64 = 1 << 29;
    const HWCAP2_WFXT: u64 = 1 << 31;
    // SAFETY: getauxval(3) reads a table that the kernel gave to this process.
    let (one, two) = unsafe { (libc::getauxval(libc::AT_HWCAP), libc::getauxval(libc::AT_HWCAP2)) };
    let sb = if one & HWCAP_SB != 0 { SB } else { 0 };
    let wfet = if two & HWCAP2_WFXT != 0 { WFET } else { 0 };
    sb | wfet
}

/// Without an operating system to ask, only features that every processor has.
#[cfg(not(all(feature = "std", target_os = "linux")))]
fn asked() -> u8 {
    0
}

#[inline]
pub(super) fn monitor() -> Monitor {
    if features() & WFET != 0 { Monitor::Wfet } else { Monitor::Wfe }
}

#[inline]
pub(super) fn pause() {
    if features() & SB == 0 {
        // SAFETY: an instruction barrier drains the pipeline and does nothing else.
        unsafe { asm!("isb sy", options(nomem, nostack, preserves_flags)) }
    } else {
        // SAFETY: a speculation barrier does nothing else; the kernel says that
        // this processor has it. It is given as its encoding (Arm ARM, SB).
        unsafe { asm!(".inst 0xd50330ff", options(nomem, nostack, preserves_flags)) }
    }
}

/// Arms the monitor, and waits if the word is still `seen`.
#[inline]
pub(super) fn wait_for_store(word: &AtomicU32, seen: u32, at_most: Ticks) -> bool {
    let value: u32;
    // SAFETY: a load-acquire-exclusive of a word that is borrowed; nothing else is
    // touched. A store by anybody clears the monitor, which is an event for WFE.
    unsafe {
        asm!(
            "ldaxr {:w}, [{}]",
            out(reg) value,
            in(reg) word.as_ptr(),
            options(nostack, preserves_flags)
        );
    }
    if value != seen {
        // SAFETY: leaves no monitor armed behind.
        unsafe { asm!("clrex", options(nomem, nostack, preserves_flags)) }
        return true;
    }
    if features() & WFET == 0 {
        // SAFETY: WFE suspends until an event: a store to the word, an interrupt,
        // or the event stream that Linux keeps up at 10 kHz.
        unsafe { asm!("wfe", options(nomem, nostack, preserves_flags)) }
    } else {
        let until = (Ticks::now() + at_most).0;
        // SAFETY: as WFE, and until the counter passes x0; the kernel says that this
        // processor has it. It is given as its encoding (Arm ARM, WFET x0).
        unsafe {
            asm!(".inst 0xd5031000", in("x0") until, options(nomem, nostack, preserves_flags));
        }
    }
    true
}
