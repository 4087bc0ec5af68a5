//! Requests to block devices, from their submission to their completion.

use std::collections::HashMap;

use unjank_host::Timestamp;
use unjank_host::inode::FileId;
use unjank_host::tracefs::DeviceRequest;

use super::origin::{Origin, RequestId};

/// A request that a device served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The device, the sectors and the operation.
    pub asked: DeviceRequest,
    /// When it was given to the I/O scheduler (`block_rq_insert`), or without one to the driver
    /// (`block_rq_issue`).
    pub submitted: Timestamp,
    /// The thread that did so; an interrupt if the driver's queue had been full before.
    pub by: Origin,
    /// The file whose pages it reads, if it is known.
    pub file: Option<FileId>,
}

/// Requests in flight. A device has at most one for a sector at a time.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Those that wait in an I/O scheduler. Another thread may issue them.
    waiting: HashMap<(u32, u64), Request>,
    begun: HashMap<(u32, u64), Request>,
    finished: Vec<Request>,
}

impl InFlight {
    /// A request waits in an I/O scheduler. One that the driver gives back is in flight.
    pub(super) fn queue(&mut self, request: Request) {
        let place = place(&request.asked);
        if !self.begun.contains_key(&place) {
            self.waiting.insert(place, request);
        }
    }

    /// Whether a request that is issued now has waited in an I/O scheduler.
    pub(super) fn is_queued(&self, asked: &DeviceRequest) -> bool {
        self.waiting.contains_key(&place(asked))
    }

    /// The driver gets a request. If it has waited, it keeps its submission, and has its present
    /// length: others may have been merged with it.
    pub(super) fn issue(&mut self, request: Request) {
        let place = place(&request.asked);
        let waited = self.waiting.remove(&place);
        let request = waited.map_or(request, |waited| Request { asked: request.asked, ..waited });
        self.begun.insert(place, request);
    }

    /// Finishes a request, and returns its number; `None` if its issue is not in the trace. If the
    /// device finished only the first sectors, the rest stays in flight.
    pub(super) fn complete(&mut self, done: &DeviceRequest) -> Option<RequestId> {
        let request = self.begun.remove(&place(done))?;
        if done.sectors > 0 && done.sectors < request.asked.sectors {
            let mut rest = request;
            rest.asked.sector = rest.asked.sector.saturating_add(done.sectors.into());
            rest.asked.sectors -= done.sectors;
            self.issue(rest);
        }
        let id = RequestId(u32::try_from(self.finished.len()).ok()?);
        self.finished.push(request);
        Some(id)
    }

    pub(super) fn finish(self) -> Vec<Request> {
        self.finished
    }
}

fn place(asked: &DeviceRequest) -> (u32, u64) {
    (asked.device.0, asked.sector)
}

#[cfg(test)]
mod tests {
    use unjank_host::block_device::DeviceNumber;

    use super::super::origin::Cause;
    use super::*;

    #[test]
    fn a_request_that_a_device_finishes_in_parts_moves_on_and_sectors_are_bounded() {
        for first in [8, u64::MAX - 8, u64::MAX] {
            let part = |sector, sectors| DeviceRequest {
                device: DeviceNumber(1),
                sector,
                sectors,
                letters: "R".into(),
            };
            let (submitted, by) = (Timestamp::default(), Origin::Interrupt(Cause::Unknown));
            let mut requests = InFlight::default();
            requests.issue(Request { asked: part(first, 16), submitted, by, file: None });
            assert_eq!(requests.complete(&part(first, 8)), Some(RequestId(0)));
            let rest = part(first.saturating_add(8), 8);
            assert_eq!(requests.complete(&rest), Some(RequestId(1)));
            assert_eq!(requests.complete(&rest), None);
            assert_eq!(requests.finish()[1].asked, rest);
        }
    }
}
