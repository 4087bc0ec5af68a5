//! A received call, and a server's answer.

use crate::error::Result;
use crate::exchange::{Delivery, Exchange};
use crate::received::{Item, Received};
use crate::reference::Reference;

/// A received call, as the server's handler gets it.
#[derive(Debug)]
pub struct Request<'a> {
    /// The name of the object that is called; 0 for the context manager.
    pub object: u64,
    /// The code of the call.
    pub code: u32,
    /// The payload, in the mapping.
    pub payload: &'a [u8],
    /// The caller's process; 0 if it is in a PID namespace that this process
    /// cannot see.
    pub sender_pid: i32,
    /// The caller's effective user.
    pub sender_euid: u32,
    /// Whether the caller does not wait; no reply is sent then.
    pub one_way: bool,
    received: Received<'a>,
}

/// A handler's answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Send the reply buffer.
    Reply,
    /// Send the reply buffer, and end the loop.
    ReplyAndStop,
    /// Refuse the call with a status other than 0; the buffer is not sent.
    Refuse(i32),
}

/// Counts of a server until its loop ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Calls that the handler answered.
    pub calls: u64,
    /// Replies that did not reach the caller, as far as the driver reports that.
    pub undelivered: u64,
    /// Threads that served.
    pub threads: u32,
}

impl Served {
    /// Adds the counts of another thread.
    pub(crate) fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.undelivered = self.undelivered.saturating_add(other.undelivered);
        self.threads = self.threads.saturating_add(other.threads);
    }
}

impl<'a> Request<'a> {
    pub(crate) fn new(delivery: &'a Delivery, exchange: &'a Exchange) -> Result<Self> {
        let received = Received::new(exchange.driver(), delivery, "BR_TRANSACTION")?;
        let transaction = delivery.transaction();
        Ok(Self {
            object: transaction.target,
            code: transaction.code,
            payload: received.bytes(),
            sender_pid: transaction.sender_pid,
            sender_euid: transaction.sender_euid,
            one_way: delivery.is_one_way(),
            received,
        })
    }

    /// The objects, files and buffers in the payload: [`Received::items`].
    ///
    /// # Errors
    /// As there.
    pub fn items(&self) -> impl Iterator<Item = Result<Item<'a>>> + use<'a> {
        self.received.items()
    }

    /// A reference to an object in the payload: [`Received::reference`].
    ///
    /// # Errors
    /// As there.
    pub fn reference(&self, position: usize) -> Result<Reference> {
        self.received.reference(position)
    }
}
