//! Waits that an interrupt ended: for a timer, a request or a device.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;

use super::{At, Walk};
use crate::history::{Armed, Cause, Origin, RequestId};
use crate::path::segment::{Activity, Certainty, Detail, Way};

impl Walk<'_> {
    /// Explains a wait of `thread` that an interrupt ended.
    pub(super) fn interrupt(
        &mut self,
        cause: Cause,
        thread: ThreadId,
        from: Timestamp,
        to: Timestamp,
        at: At,
    ) {
        let storage = if at.page.is_some() { Activity::PageIn } else { Activity::Storage };
        let (activity, detail) = match cause {
            Cause::Timer(Some(armed)) if armed.by != thread => {
                return self.timer(armed, thread, from, to, at);
            }
            Cause::Timer(_) => (Activity::Timer, Detail::None),
            Cause::Network => (Activity::Network, Detail::None),
            // The end of a flush, which is not a request of its own.
            Cause::Device(device) if self.history.is_storage(device) => {
                (storage, Detail::Interrupt(device))
            }
            Cause::Device(device) => (Activity::Device, Detail::Interrupt(device)),
            Cause::Unknown => (Activity::Unknown, Detail::None),
            Cause::StorageOfOld => (storage, Detail::None),
            Cause::Storage(id) => return self.request(id, storage, thread, from, to, at),
        };
        self.push(thread, from, to, at, activity, detail);
    }

    /// Explains a wait for a timer that another thread armed: the timer, and before
    /// it that thread.
    fn timer(&mut self, armed: Armed, thread: ThreadId, from: Timestamp, to: Timestamp, at: At) {
        let armed_at = armed.at.clamp(from, to);
        self.push(thread, armed_at, to, at, Activity::Timer, Detail::None);
        self.before(armed.by, thread, from, armed_at, at);
    }

    /// Explains the time before `by` armed the timer or submitted the request that `thread` waited
    /// for. That `by` did so as early as it could is inferred.
    fn before(&mut self, by: ThreadId, thread: ThreadId, from: Timestamp, to: Timestamp, at: At) {
        if from >= to {
            return;
        }
        let way = match at.way {
            Way::Own if self.history.is_kernel(by) => Way::Work,
            Way::Own => Way::Other,
            way => way,
        };
        let certainty = if by == thread { at.certainty } else { Certainty::Inferred };
        self.follow(Origin::Thread(by), thread, from, to, At { way, certainty, ..at });
    }

    /// Explains a wait for a request: the device, and before it the thread that submitted it.
    fn request(
        &mut self,
        id: RequestId,
        activity: Activity,
        thread: ThreadId,
        from: Timestamp,
        to: Timestamp,
        at: At,
    ) {
        let Some(request) = self.history.request(id) else {
            return self.push(thread, from, to, at, activity, Detail::None);
        };
        let submitted = request.submitted.clamp(from, to);
        self.push(thread, submitted, to, at, activity, Detail::Request(id));
        match request.by {
            _ if from >= submitted => {}
            // The driver's queue was full until the device had finished another.
            Origin::Interrupt(_) => {
                let at = At { certainty: Certainty::Inferred, ..at };
                self.push(thread, from, submitted, at, activity, Detail::None);
            }
            Origin::Thread(by) => self.before(by, thread, from, submitted, at),
        }
    }
}
