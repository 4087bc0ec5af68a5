//! Waits with a time limit that a thread repeats.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_units::Nanos;

use super::is_in_one_futex;
use crate::history::{Cause, Origin, Wait, Wake};

/// A thread that computes longer than this part of its wait before it waits again has work of its
/// own, and waits for a time.
const LONGEST_WORK: u64 = 10;

/// The waits of one thread, from the last one back.
///
/// A thread that waits in a futex with a time limit, and waits there again when the time is over,
/// waits all the time for the thread that finally wakes it: `pthread_cond_timedwait` in a loop.
#[derive(Debug, Default)]
pub(super) struct Series {
    /// The next wait in a futex that another thread ended, if nothing else was between: its address
    /// and its end.
    later: Option<(u64, Wake)>,
    /// How long the thread computed before the next wait of the series.
    computed: Nanos,
}

impl Series {
    /// The thread computed before those waits.
    pub(super) fn computes(&mut self, time: Nanos) {
        self.computed = self.computed + time;
    }

    /// What a wait of `thread`, the one before those so far, was for: what ended it, or if its time
    /// was over, the thread that ended the last wait of its series.
    pub(super) fn cause(
        &mut self,
        thread: ThreadId,
        (from, to): (Timestamp, Timestamp),
        wait: Wait,
        wake: Wake,
    ) -> Wake {
        let Wait::Call { arguments: [address, _], .. } = wait else { return wake };
        let computed = std::mem::take(&mut self.computed);
        let later = self.later.take().filter(|_| is_in_one_futex(wait));
        match (wake.by, later) {
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
        }
    }
}
