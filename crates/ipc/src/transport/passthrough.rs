//! A plain call on the caller's own thread: the cost of the measurement itself.

use std::io;

use super::client::{Client, Opened};
use super::service::Service;

struct Passthrough(Service);

impl Client for Passthrough {
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()> {
        reply.copy_from_slice(request);
        self.0.answer(reply);
        Ok(())
    }
}

pub(super) fn connect(service: Service) -> Opened {
    Opened { client: Box::new(Passthrough(service)), peer: None, call: "plain call" }
}
