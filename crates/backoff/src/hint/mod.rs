//! The instructions with which a processor waits: briefly ([`pause`]), and
//! until somebody writes to a word ([`wait_for_store`]).
//!
//! | | [`pause`] | [`wait_for_store`] |
//! |---|---|---|
//! | x86-64 | `PAUSE` | `UMONITOR`/`UMWAIT` (WAITPKG), else `MONITORX`/`MWAITX` |
//! | aarch64 | `SB` where it is there, else `ISB` | an armed exclusive monitor and `WFE`, or `WFET` |
//! | others | [`core::hint::spin_loop`] | looks again and again |
//!
//! `YIELD` of aarch64 is never used: it takes no time at all where there is one
//! hardware thread in a core, so a loop of it is a loop of nothing
//! (rust-lang/rust#84725 has it at 0.4 ns on a Neoverse N1).

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[path = "aarch64.rs"]
mod arch;
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
#[path = "generic.rs"]
mod arch;
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[path = "x86_64.rs"]
mod arch;

use core::sync::atomic::{AtomicU32, Ordering};

use crate::ticks::Ticks;

/// How this processor waits until a word is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Monitor {
    /// `UMONITOR` and `UMWAIT`: Intel from Tremont and Alder Lake on.
    Umwait,
    /// `MONITORX` and `MWAITX`: AMD from Excavator on.
    Mwaitx,
    /// A load-exclusive and `WFE`, which the kernel's event stream bounds to
    /// about 100 µs.
    Wfe,
    /// A load-exclusive and `WFET`, which has a deadline (`FEAT_WFxT`).
    Wfet,
    /// None, or none that a program may use here: the word is looked at again
    /// and again, with a [`pause`] between two looks.
    Polling,
}

/// Waits for a moment, in a way that is kind to the other hardware thread of
/// the core: some 10 to 140 cycles on x86-64, by model.
#[inline]
pub fn pause() {
    if cfg!(not(loom)) {
        arch::pause();
    }
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// So many [pauses](pause).
#[inline]
pub fn pause_times(pauses: u32) {
    for _ in 0..pauses {
        pause();
    }
}

/// Looks at a condition so many times, with so many [pauses](pause) before
/// each look, until it is true; says whether it is.
#[inline]
pub fn look(looks: u32, pauses: u32, mut condition: impl FnMut() -> bool) -> bool {
    (0..looks).any(|_| {
        pause_times(pauses);
        condition()
    })
}

/// What [`wait_for_store`] uses on this processor; found out once.
#[inline]
pub fn monitor() -> Monitor {
    arch::monitor()
}

/// Waits until `word` is no longer `seen`, for about `at_most`. May return
/// before that for no reason, so look at the word and come back.
///
/// The kernel bounds `UMWAIT` to 100 000 ticks of the TSC
/// (`/sys/devices/system/cpu/umwait_control/max_time`), and `WFE` ends with
/// every event of its event stream.
#[inline]
pub fn wait_for_store(word: &AtomicU32, seen: u32, at_most: Ticks) {
    if !arch::wait_for_store(word, seen, at_most) {
        poll(word, seen, at_most);
    }
}

fn poll(word: &AtomicU32, seen: u32, at_most: Ticks) {
    let begin = Ticks::now();
    while word.load(Ordering::Relaxed) == seen && begin.elapsed() < at_most {
        pause();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_differs_is_not_waited_for() {
        // It would be seen as a test that hangs.
        wait_for_store(&AtomicU32::new(1), 0, Ticks::MAX);
        poll(&AtomicU32::new(1), 0, Ticks::MAX);
    }

    #[test]
    fn nobody_writes_and_it_ends() {
        let word = AtomicU32::new(7);
        let begin = Ticks::now();
        while begin.elapsed() < Ticks(10_000) {
            wait_for_store(&word, 7, Ticks(1_000));
        }
    }

    #[test]
    fn a_pause_takes_time() {
        let begin = Ticks::now();
        for _ in 0..1_000 {
            pause();
        }
        assert!(begin.elapsed() > Ticks(0));
    }
}
