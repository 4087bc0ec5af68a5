//! Requests to block devices, from the driver to their completion.

use std::collections::HashMap;

use unjank_host::Timestamp;
use unjank_host::inode::FileId;
use unjank_host::tracefs::DeviceRequest;

use super::origin::{Origin, RequestId};

/// A request that a device served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What was asked of the device.
    pub asked: DeviceRequest,
    /// When its driver got it.
    pub issued: Timestamp,
    /// Who gave it to the driver.
    pub by: Origin,
    /// The file for whose pages it did so, if it is known.
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

    /// The request that ends here; `None` if its begin is not in the trace. A
    /// part that is finished moves the beginning of the rest.
    pub(super) fn complete(&mut self, done: &DeviceRequest) -> Option<RequestId> {
        let request = self.begun.remove(&(done.device.0, done.sector))?;
        if done.sectors > 0 && done.sectors < request.asked.sectors {
            let mut rest = request;
            rest.asked.sector += u64::from(done.sectors);
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
