//! One contended call.

use backoff::hint;
use backoff::spin_policy::{Circumstances, Spin, Step};
use backoff::ticks::Ticks;

use crate::costs;
use crate::counts::add;
use crate::mutex::Mutex;
use crate::place::Place;

/// Spins for a mutex that was held, if that promises to be cheaper than sleeping.
/// Returns whether `try_lock` has taken it.
#[inline(never)]
pub(crate) fn takes(mutex: &Mutex, try_lock: impl Fn() -> bool) -> bool {
    if !mutex.allows_spinning() {
        add(|counts| &counts.other_kinds);
        return false;
    }
    add(|counts| &counts.waits);
    let park = costs::park();
    let place = Place::of(mutex.address());
    let begun = Ticks::now();
    let Some(budget) = place.begin(begun, park) else { return false };
    let has_it = spin(mutex, begun, budget, try_lock);
    place.end(begun.elapsed(), has_it, park);
    add(if has_it { |counts| &counts.spun } else { |counts| &counts.gave_up });
    has_it
}

fn spin(mutex: &Mutex, begun: Ticks, budget: Ticks, try_lock: impl Fn() -> bool) -> bool {
    let mut spin = Spin::new(budget);
    let mut last = begun;
    let mut real_time = None;
    loop {
        let now = Ticks::now();
        let waited = now - begun;
        if real_time.is_none() && Circumstances::is_worth_asking(waited) {
            real_time = Some(is_real_time());
        }
        let seen = Circumstances {
            real_time: real_time == Some(true),
            switched_out: Circumstances::is_switched_out(now - last),
            others_parked: false,
        };
        last = now;
        match spin.step(waited, seen) {
            Step::Park => return false,
            Step::Look { looks, pauses } => {
                if hint::look(looks, pauses, || !mutex.is_held()) && try_lock() {
                    return true;
                }
            }
        }
    }
}

/// Whether the calling thread has a real-time policy. One system call, of which the
/// program sees nothing: not its error either, where a filter refuses it.
fn is_real_time() -> bool {
    // SAFETY: the thread's own variable, and a system call that only returns a number.
    let policy = unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let policy = libc::sched_getscheduler(0);
        *errno = before;
        policy
    } & !libc::SCHED_RESET_ON_FORK;
    matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE)
}
