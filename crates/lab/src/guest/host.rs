//! The port to the host.

use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use unjank_host::virtio_port::VirtioPort;
use unjank_host::{Error as HostError, Root};

use crate::channel::{Frame, PORT};
use crate::error::Result;

/// The port to the host, shared by the threads that read a command's output.
#[derive(Debug)]
pub(super) struct Host(Mutex<VirtioPort>);

impl Host {
    pub(super) fn connect(root: &Root) -> Result<Self> {
        Ok(Self(Mutex::new(VirtioPort::open(root, PORT)?)))
    }

    pub(super) fn send(&self, frame: &Frame) -> Result<()> {
        let mut port = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(port
            .write_all(&frame.encode())
            .map_err(|error| HostError::file("write to", "the host", error))?)
    }
}
