//! Waits with a time limit that a thread repeats.

use unjank_host::sched::ThreadId;

use super::is_in_one_futex;
use crate::history::{Cause, Origin, Wait, Wake};

/// The waits of one thread, from the last one back.
///
/// A thread that waits in a futex with a time limit, and waits there again when the time is over,
/// waits all the time for the thread that finally wakes it: `pthread_cond_timedwait` in a loop.
#[derive(Debug, Default)]
pub(super) struct Series {
    /// The next wait in a futex that another thread ended: its address and its end.
    later: Option<(u64, Wake)>,
}

impl Series {
    /// What a wait of `thread`, the one before those so far, was for: what ended it, or if its time
    /// was over, the thread that ended the last wait of its series.
    pub(super) fn cause(&mut self, thread: ThreadId, wait: Wait, wake: Wake) -> Wake {
        let Wait::Call { arguments: [address, _], .. } = wait else { return wake };
        if !is_in_one_futex(wait) {
            return wake;
        }
        match (wake.by, self.later) {
            (Origin::Thread(waker), _) if waker != thread => {
                self.later = Some((address, wake));
                wake
            }
            (Origin::Interrupt(Cause::Timer(armed)), Some((of, last)))
                if of == address && armed.is_none_or(|armed| armed.by == thread) =>
            {
                // What the last waker did then is no evidence for the time before.
                let (during, carrier) = (None, None);
                Wake { by: last.by, during, exiting: false, joined: false, carrier, ..wake }
            }
            _ => wake,
        }
    }
}
