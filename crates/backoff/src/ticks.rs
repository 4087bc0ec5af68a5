//! The processor's tick counter, which a program reads without a system call, and
//! its rate.

use core::ops::{Add, Div, Mul, Sub};
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

/// Ticks of the processor's counter with constant rate: the TSC of x86-64,
/// `CNTVCT_EL0` of aarch64. Both a moment and a length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticks(pub u64);

/// Rates are in ticks per 2^20 ns, so that no division is needed.
const SHIFT: u32 = 20;

/// Ticks in 2^20 ns until the rate is known: a TSC of 2 GHz. Budgets are wrong by
/// as much as this is.
const ASSUMED: u32 = 2 << SHIFT;

/// Ticks in 2^20 ns; 0 is unknown.
static RATE: AtomicU32 = AtomicU32::new(0);

impl Ticks {
    /// No ticks.
    pub const ZERO: Self = Self(0);
    /// Longer than any wait.
    pub const MAX: Self = Self(u64::MAX);

    /// Reads the counter. The reading is not ordered against loads and stores around
    /// it: precise enough for a budget, not for a benchmark.
    #[inline]
    #[must_use]
    pub fn now() -> Self {
        Self(counter())
    }

    /// Ticks since this moment; zero if it lies ahead, as it may if another CPU read
    /// it.
    #[inline]
    #[must_use]
    pub fn elapsed(self) -> Self {
        Self::now() - self
    }

    /// The length in nanoseconds, at the known [rate].
    #[must_use]
    pub fn as_nanos(self) -> u64 {
        let nanos = (u128::from(self.0) << SHIFT) / u128::from(rate());
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    /// The ticks of this many nanoseconds, at the known [rate].
    #[inline]
    #[must_use]
    pub fn from_nanos(nanos: u64) -> Self {
        let ticks = (u128::from(nanos) * u128::from(rate())) >> SHIFT;
        Self(u64::try_from(ticks).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for Ticks {
    fn from(duration: Duration) -> Self {
        Self::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Ticks> for Duration {
    fn from(ticks: Ticks) -> Self {
        Self::from_nanos(ticks.as_nanos())
    }
}

impl Add for Ticks {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Ticks {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Ticks {
    type Output = Self;

    #[inline]
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Ticks {
    type Output = Self;

    /// # Panics
    /// For a division by zero.
    #[inline]
    fn div(self, by: u64) -> Self {
        Self(self.0 / by)
    }
}

/// Ticks in 2^20 ns (a millisecond and 4.9 %): as measured or set, or as the
/// processor reports, or 2 GHz.
#[inline]
#[must_use]
pub fn rate() -> u32 {
    match RATE.load(Ordering::Relaxed) {
        0 => assumed(),
        known => known,
    }
}

/// Sets the number of ticks in 2^20 ns, if the operating system or the firmware
/// knows it. With `std` it is measured during the first waits.
pub fn set_rate(per_2_20_nanos: u32) {
    RATE.store(per_2_20_nanos, Ordering::Relaxed);
}

/// Whether the rate was measured or set.
#[cfg(feature = "std")]
pub(crate) fn is_rate_known() -> bool {
    RATE.load(Ordering::Relaxed) != 0
}

#[cold]
fn assumed() -> u32 {
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    if let Some(said) = frequency() {
        set_rate(said);
        return said;
    }
    if cfg!(all(feature = "std", not(any(target_arch = "x86_64", target_arch = "aarch64")))) {
        return 1 << SHIFT;
    }
    ASSUMED
}

/// The counter's rate according to the firmware (Arm ARM, `CNTFRQ_EL0`).
#[cfg(all(target_arch = "aarch64", not(miri)))]
#[allow(unsafe_code)]
fn frequency() -> Option<u32> {
    let hertz: u64;
    // SAFETY: reading the frequency register has no side effect, and Linux lets
    // programs read it.
    unsafe {
        core::arch::asm!("mrs {}, cntfrq_el0", out(reg) hertz, options(nomem, nostack, preserves_flags));
    }
    u32::try_from((u128::from(hertz) << SHIFT) / 1_000_000_000).ok().filter(|&rate| rate > 0)
}

#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
#[inline]
#[allow(unsafe_code)]
fn counter() -> u64 {
    // SAFETY: RDTSC reads a counter and nothing else. Linux lets programs read
    // it unless one has forbidden that to itself (PR_SET_TSC in prctl(2)).
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(all(target_arch = "aarch64", not(any(loom, miri))))]
#[inline]
#[allow(unsafe_code)]
fn counter() -> u64 {
    let counter: u64;
    // SAFETY: reading the virtual counter has no side effect, and Linux lets
    // programs read it (Arm ARM, CNTVCT_EL0; CNTKCTL_EL1.EL0VCTEN).
    unsafe {
        core::arch::asm!(
            "mrs {}, cntvct_el0",
            out(reg) counter,
            options(nomem, nostack, preserves_flags)
        );
    }
    counter
}

/// The system's clock, for processors without a counter that programs can surely
/// read.
#[cfg(all(feature = "std", not(any(target_arch = "x86_64", target_arch = "aarch64", miri, loom))))]
#[inline]
fn counter() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    // Never 0, which marks a time that was never set.
    let nanos = 1 + BEGIN.get_or_init(Instant::now).elapsed().as_nanos();
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// Without a clock, each look counts as a microsecond.
#[cfg(all(
    any(miri, not(any(feature = "std", target_arch = "x86_64", target_arch = "aarch64"))),
    not(loom)
))]
#[inline]
fn counter() -> u64 {
    use core::sync::atomic::AtomicUsize;
    static LOOKS: AtomicUsize = AtomicUsize::new(0);
    LOOKS.fetch_add(1, Ordering::Relaxed) as u64 * 2_000
}

/// A loom model has no clock: each look of a thread is a fixed time after its last
/// one (see `os/futex_model.rs`).
#[cfg(loom)]
fn counter() -> u64 {
    loom::thread_local! {
        static LOOKS: core::cell::Cell<u64> = core::cell::Cell::new(0);
    }
    let looks = LOOKS.with(|looks| {
        looks.set(looks.get() + 1);
        looks.get()
    });
    looks * crate::os::model::time_between_looks().0
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for nanos in [0, 1, 999, 1_000, 123_456_789, 3_600_000_000_000] {
            let back = Ticks::from_nanos(nanos).as_nanos();
            let off = 1 + Ticks(1).as_nanos() + nanos / 1_000;
            assert!(back.abs_diff(nanos) <= off, "{nanos} ns came back as {back}");
        }
        assert_eq!(Duration::from(Ticks::from(Duration::ZERO)), Duration::ZERO);
    }

    #[test]
    fn it_saturates() {
        assert_eq!(Ticks::MAX + Ticks(1), Ticks::MAX);
        assert_eq!(Ticks(1) - Ticks(2), Ticks::ZERO);
        assert_eq!(Ticks::MAX * 2, Ticks::MAX);
        assert!(Ticks::from_nanos(u64::MAX) >= Ticks::from_nanos(u64::MAX / 2));
    }

    #[test]
    fn it_goes_on() {
        let begin = Ticks::now();
        while begin.elapsed() == Ticks::ZERO {}
    }
}
