//! x86-64: `UMWAIT` of WAITPKG and `MWAITX` of MONITORX.
//!
//! Sources: Intel SDM volume 2 (UMONITOR, UMWAIT), AMD APM volume 3 (MONITORX,
//! MWAITX).

#![allow(unsafe_code)]

use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count};
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use super::Monitor;
use crate::ticks::Ticks;

/// CPUID 7.0 ECX: UMONITOR, UMWAIT and TPAUSE.
const WAITPKG: u32 = 1 << 5;
/// CPUID `8000_0001` ECX: MONITORX and MWAITX.
const MONITORX: u32 = 1 << 29;
/// CPUID `8000_0001`.
const EXTENDED: u32 = 0x8000_0001;

/// `UMWAIT`: state C0.1, which wakes sooner than C0.2.
const C0_1: u32 = 1;
/// `MWAITX`: EAX[7:4] holds the state and one less, so this asks for C0.
const C0: u32 = 0xf0;
/// `MWAITX`: ECX[1] makes EBX a deadline.
const HAS_DEADLINE: u32 = 1 << 1;

/// 0 is unknown; otherwise one more than the index in [`FOUND`].
static MONITOR: AtomicU8 = AtomicU8::new(0);
const FOUND: [Monitor; 3] = [Monitor::Umwait, Monitor::Mwaitx, Monitor::Polling];

#[inline]
pub(super) fn monitor() -> Monitor {
    match MONITOR.load(Ordering::Relaxed) {
        0 => find(),
        known => FOUND[usize::from(known) - 1],
    }
}

#[cold]
fn find() -> Monitor {
    let highest = __cpuid(0).eax;
    let extended = __cpuid(0x8000_0000).eax;
    let place = if highest >= 7 && __cpuid_count(7, 0).ecx & WAITPKG != 0 {
        0
    } else if extended >= EXTENDED && __cpuid(EXTENDED).ecx & MONITORX != 0 {
        1
    } else {
        2
    };
    // Other threads store the same value.
    MONITOR.store(place as u8 + 1, Ordering::Relaxed);
    FOUND[place]
}

#[inline]
pub(super) fn pause() {
    core::hint::spin_loop();
}

/// Waits if the processor has an instruction for it; returns whether it has.
#[inline]
pub(super) fn wait_for_store(word: &AtomicU32, seen: u32, at_most: Ticks) -> bool {
    match monitor() {
        Monitor::Umwait => umwait(word, seen, Ticks::now() + at_most),
        Monitor::Mwaitx => mwaitx(word, seen, at_most),
        _ => return false,
    }
    true
}

fn umwait(word: &AtomicU32, seen: u32, until: Ticks) {
    // SAFETY: UMONITOR only watches the line of a word that is borrowed; WAITPKG
    // is there, as `monitor` has found.
    unsafe {
        asm!("umonitor {}", in(reg) word.as_ptr(), options(nostack, preserves_flags));
    }
    // A store before the line was watched would be missed.
    if word.load(Ordering::Relaxed) != seen {
        return;
    }
    // SAFETY: UMWAIT suspends until the line is written to, the TSC passes
    // EDX:EAX, an interrupt comes, or the kernel's limit is over. It changes
    // flags only.
    unsafe {
        asm!(
            "umwait {:e}",
            in(reg) C0_1,
            in("eax") until.0 as u32,
            in("edx") (until.0 >> 32) as u32,
            options(nostack)
        );
    }
}

fn mwaitx(word: &AtomicU32, seen: u32, at_most: Ticks) {
    // SAFETY: MONITORX only watches the line of a word that is borrowed; it is
    // there, as `monitor` has found. ECX and EDX hold no extensions and hints.
    unsafe {
        asm!(
            "monitorx",
            in("rax") word.as_ptr(),
            in("ecx") 0_u32,
            in("edx") 0_u32,
            options(nostack, preserves_flags)
        );
    }
    // A store before the line was watched would be missed.
    if word.load(Ordering::Relaxed) != seen {
        return;
    }
    let ticks = u32::try_from(at_most.0).unwrap_or(u32::MAX);
    // SAFETY: MWAITX suspends until the line is written to, EBX ticks of the TSC
    // have passed, or an interrupt comes. RBX belongs to the compiler, so it is
    // put back.
    unsafe {
        asm!(
            "xchg rbx, {ticks:r}",
            "mwaitx",
            "mov rbx, {ticks:r}",
            ticks = inout(reg) u64::from(ticks) => _,
            in("eax") C0,
            in("ecx") HAS_DEADLINE,
            options(nostack, preserves_flags)
        );
    }
}
