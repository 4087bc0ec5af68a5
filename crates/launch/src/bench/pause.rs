//! The idle time before a launch, in which clocks fall.
//!
//! On a device in use, timers of programs and drivers fire all the time, so an
//! entirely silent machine is not realistic. Silence also misleads an ondemand
//! governor of Linux 3.15 or newer. If it did not evaluate a CPU for more than
//! two periods, it reuses the load from before
//! (`dbs_update` of `drivers/cpufreq/cpufreq_governor.c`). That is the load of
//! the previous launch, and the clock is up at once.

use std::thread;

use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Error, Nanos, Result, Timestamp};

/// Lets the machine idle until `end` or `stop`; `false` if stopped. Each CPU is
/// woken every `wake_every` for some microseconds; never if that is zero.
///
/// # Errors
/// A thread cannot be started.
pub(super) fn until(
    end: Timestamp,
    wake_every: Nanos,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<bool> {
    if wake_every == Nanos::ZERO {
        return Ok(end.sleep_until_or(stop));
    }
    let cpus = CpuSet::allowed()?;
    thread::scope(|scope| {
        for cpu in cpus.iter() {
            thread::Builder::new()
                .spawn_scoped(scope, move || wake(cpu, end, wake_every, stop))
                .map_err(|error| Error::syscall("clone", "a thread that wakes a CPU", error))?;
        }
        Ok(())
    })?;
    Ok(!stop())
}

fn wake(cpu: usize, end: Timestamp, every: Nanos, stop: &(dyn Fn() -> bool + Sync)) {
    // The CPU may have just gone offline.
    let Ok(_pinned) = AffinityGuard::pin_to(cpu) else { return };
    let mut next = Timestamp::now();
    while next < end && !stop() {
        next = (next + every).min(end);
        next.sleep_until();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn it_lasts_until_its_end() {
        for wake_every in [Nanos::ZERO, Nanos::from_millis(1)] {
            let end = Timestamp::now() + Nanos::from_millis(10);
            assert!(until(end, wake_every, &|| false).unwrap());
            assert!(Timestamp::now() >= end);
        }
    }

    #[test]
    fn it_can_be_stopped() {
        let asked = AtomicUsize::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) > 5;
        let never = Timestamp::from_nanos(u64::MAX);
        assert!(!until(never, Nanos::from_millis(1), &stop).unwrap());
    }
}
