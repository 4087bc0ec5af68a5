//! Waits that a thread repeats: with a time limit, or because a signal stopped it.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_units::Nanos;

use super::classify::is_sleep;
use super::is_in_one_futex;
use crate::history::{Cause, Origin, Wait, Wake};

/// A thread that computes for more than a tenth of its wait before it waits again has work of its
/// own: it waited for the time limit.
const LONGEST_WORK: u64 = 10;

/// The waits of one thread, from the last one back.
///
/// A thread may wait in a futex with a time limit, and wait there again when the time is over:
/// `pthread_cond_timedwait` in a loop. All these waits are for the thread that finally wakes it.
///
/// A signal that stops a sleeping thread wakes it for a moment. When it is continued, the kernel
/// goes on with the sleep, so both parts are for the timer.
#[derive(Debug, Default)]
pub(super) struct Series {
    /// The address and the wake-up of the next wait in a futex that another thread ended, if there
    /// was no other kind of wait in between.
    later: Option<(u64, Wake)>,
    /// Whether the thread was stopped after the next wait.
    stopped: bool,
    /// How long the thread computed before the next wait of the series.
    computed: Nanos,
}

impl Series {
    /// Notes that the thread computed for `time` before the waits so far.
    pub(super) fn computes(&mut self, time: Nanos) {
        self.computed = self.computed + time;
    }

    /// The wake-up that the path follows for a wait of `thread`, the one before those so far. It is
    /// the wait's own, or, if the wait timed out, one by the thread that ended the last wait of its
    /// series. `None` without a wake-up, and for a sleep within which the thread was stopped.
    pub(super) fn cause(
        &mut self,
        thread: ThreadId,
        (from, to): (Timestamp, Timestamp),
        wait: Wait,
        wake: Option<Wake>,
    ) -> Option<Wake> {
        let stopped = std::mem::replace(&mut self.stopped, wait == Wait::Stopped);
        let wake = wake.filter(|_| !(stopped && is_sleep(wait)))?;
        let Wait::Call { arguments: [address, _], .. } = wait else { return Some(wake) };
        let computed = std::mem::take(&mut self.computed);
        let later = self.later.take().filter(|_| is_in_one_futex(wait));
        Some(match (wake.by, later) {
            (Origin::Thread(waker), _) if waker != thread && is_in_one_futex(wait) => {
                self.later = Some((address, wake));
                wake
            }
            (Origin::Interrupt(Cause::Timer(armed)), Some((of, last)))
                if of == address
                    && armed.is_none_or(|armed| armed.by == thread)
                    && computed.get().saturating_mul(LONGEST_WORK) <= to.since(from).get() =>
            {
                self.later = later;
                // What the last waker did then is no evidence for the time before.
                let (during, carrier) = (None, None);
                Wake { by: last.by, during, exiting: false, joined: false, carrier, ..wake }
            }
            _ => wake,
        })
    }
}
