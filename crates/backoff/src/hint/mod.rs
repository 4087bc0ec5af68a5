//! The processor's instructions for waiting: briefly ([`pause`]), or until a word
//! is written to ([`wait_for_store`]).
//!
//! | | [`pause`] | [`wait_for_store`] |
//! |---|---|---|
//! | x86-64 | `PAUSE` | `UMONITOR`/`UMWAIT` (WAITPKG), else `MONITORX`/`MWAITX` |
//! | aarch64 | `SB` where it is there, else `ISB` | an armed exclusive monitor and `WFE`, or `WFET` |
//! | others | [`core::hint::spin_loop`] | polls |
//!
//! `YIELD` of aarch64 is not used: on cores with one hardware thread it takes no
//! time (0.4 ns on a Neoverse N1, rust-lang/rust#84725).

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

/// Instructions with which a processor waits until a word is written to.
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
    /// No instruction, or none that programs may use here: the word is polled, with a
    /// [`pause`] between two looks.
    Polling,
}

/// Waits for a moment and leaves resources to the other hardware thread of the
/// core: some 10 to 140 cycles on x86-64, by model.
#[inline]
pub fn pause() {
    if cfg!(not(loom)) {
        arch::pause();
    }
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// Does this many [pauses](pause).
#[inline]
pub fn pause_times(pauses: u32) {
    for _ in 0..pauses {
        pause();
    }
}

/// Looks at a condition up to `looks` times, with [pauses](pause) before each look,
/// until it is true. Returns whether it is.
#[inline]
pub fn look(looks: u32, pauses: u32, mut condition: impl FnMut() -> bool) -> bool {
    (0..looks).any(|_| {
        pause_times(pauses);
        condition()
    })
}

/// The instruction that [`wait_for_store`] uses on this processor; detected once.
#[inline]
pub fn monitor() -> Monitor {
    arch::monitor()
}

/// Waits until `word` is no longer `seen`, for at most about `at_most`. May return
/// earlier without a reason, so call it in a loop that reads the word.
///
/// The kernel bounds `UMWAIT` to 100,000 ticks of the TSC
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
    fn a_wait_without_a_store_ends() {
        // It would be seen as a test that hangs.
        wait_for_store(&AtomicU32::new(7), 7, Ticks(10_000));
    }

    #[test]
    fn polling_without_a_store_takes_all_its_time() {
        let begin = Ticks::now();
        poll(&AtomicU32::new(7), 7, Ticks(10_000));
        assert!(begin.elapsed() >= Ticks(10_000));
    }

    #[test]
    fn a_condition_is_looked_at_until_it_is_true() {
        let looks = |most, until| {
            let mut seen = 0;
            let found = look(most, 1, || {
                seen += 1;
                seen == until
            });
            (seen, found)
        };
        assert_eq!(looks(5, 3), (3, true));
        assert_eq!(looks(5, 9), (5, false));
    }
}
