//! Requests to block devices, from their issue to the driver to their completion.

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
    /// When it was issued to the driver (`block_rq_issue`).
    pub issued: Timestamp,
    /// The thread that issued it; an interrupt if the driver's queue had been full before.
    pub by: Origin,
    /// The file whose pages it reads, if it is known.
    pub file: Option<FileId>,
}

/// Requests in flight. A device has at most one for a sector at a time.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    begun: HashMap<(u32, u64), Request>,
    finished: Vec<Request>,
}

impl InFlight {
    pub(super) fn issue(&mut self, request: Request) {
        self.begun.insert((request.asked.device.0, request.asked.sector), request);
    }

    /// Finishes a request, and returns its number; `None` if its issue is not in the trace. If the
    /// device finished only the first sectors, the rest stays in flight.
    pub(super) fn complete(&mut self, done: &DeviceRequest) -> Option<RequestId> {
        let request = self.begun.remove(&(done.device.0, done.sector))?;
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
            let (issued, by) = (Timestamp::default(), Origin::Interrupt(Cause::Unknown));
            let mut requests = InFlight::default();
            requests.issue(Request { asked: part(first, 16), issued, by, file: None });
            assert_eq!(requests.complete(&part(first, 8)), Some(RequestId(0)));
            let rest = part(first.saturating_add(8), 8);
            assert_eq!(requests.complete(&rest), Some(RequestId(1)));
            assert_eq!(requests.complete(&rest), None);
            assert_eq!(requests.finish()[1].asked, rest);
        }
    }
}
