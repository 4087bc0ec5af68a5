//! Calls to objects of other processes.

use std::io;
use std::ops::Deref;
use std::sync::Arc;

use crate::command::{COMMANDS, Commands};
use crate::driver::Driver;
use crate::error::{Error, Malformed, Result};
use crate::exchange::{Delivery, Event, Exchange};
use crate::notice::note;
use crate::protocol::{BR_FAILED_REPLY, Handle, PING};
use crate::reply::Return;

#[cfg(test)]
mod tests;

/// Calls objects and waits for their replies. One client makes one call at a
/// time; more threads take a client each, over the same driver.
#[derive(Debug)]
pub struct Client {
    exchange: Exchange,
    scratch: Vec<u8>,
    /// The last reply, given back together with the next call.
    held: Option<Delivery>,
    abandoned: bool,
}

impl Client {
    /// A client over an open device.
    pub fn new(driver: Arc<dyn Driver>) -> Self {
        Self {
            exchange: Exchange::new(driver),
            scratch: Vec::with_capacity(COMMANDS),
            held: None,
            abandoned: false,
        }
    }

    /// Calls `target` with a code and a payload, and waits for the reply,
    /// which replaces what is in `reply`. There is no time limit: a process
    /// that dies ends the wait, one that hangs does not.
    ///
    /// Allocates only if the reply is larger than the capacity of `reply`. The
    /// reply's place in the mapping is given back with the next call, or when
    /// the client is dropped.
    ///
    /// # Errors
    /// [`Error::NoContextManager`], [`Error::DeadReply`],
    /// [`Error::FailedReply`], [`Error::FrozenReply`] and [`Error::Status`] if
    /// there is no reply; the client is as good as before then. After any
    /// other error the device must be opened again.
    pub fn call(
        &mut self,
        target: Handle,
        code: u32,
        request: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<()> {
        reply.clear();
        reply.extend_from_slice(&self.call_in_place(target, code, request)?);
        Ok(())
    }

    /// As [`call`](Self::call), without a copy of the reply: it is read where
    /// the driver has put it, until the next call. Allocates nothing.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_in_place(
        &mut self,
        target: Handle,
        code: u32,
        request: &[u8],
    ) -> Result<Reply<'_>> {
        if self.abandoned {
            let device = self.exchange.driver().device().to_owned();
            return Err(Error::Abandoned { device });
        }
        let outcome = self.round_trip(target, code, request);
        self.abandoned = matches!(
            outcome,
            Err(Error::Malformed { .. } | Error::Unexpected { .. } | Error::Request { .. })
        );
        outcome?;
        self.reply()
    }

    /// Calls the context manager with [`PING`], which every binder object
    /// answers.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn ping(&mut self) -> Result<()> {
        self.call(Handle::CONTEXT_MANAGER, PING, &[], &mut Vec::new())
    }

    /// Gives the last reply's place in the mapping back now, and not with the
    /// next call.
    ///
    /// # Errors
    /// The kernel's.
    pub fn give_back(&mut self) -> Result<()> {
        let Some(delivery) = self.held.take() else { return Ok(()) };
        let mut commands = Commands::new(&mut self.scratch);
        commands.free(delivery);
        self.exchange.send(&mut commands, "BC_FREE_BUFFER")
    }

    fn round_trip(&mut self, target: Handle, code: u32, request: &[u8]) -> Result<()> {
        let mut commands = Commands::new(&mut self.scratch);
        if let Some(delivery) = self.held.take() {
            commands.free(delivery);
        }
        commands.call(target, code, 0, request);
        let delivery = wait_for_reply(&mut self.exchange, &mut commands, target)?;

        let malformed = |malformed| self.exchange.malformed("BC_TRANSACTION", malformed);
        let bytes = delivery.bytes(self.exchange.driver().mapping()).map_err(malformed)?;
        let outcome = if delivery.is_status() {
            let status = <[u8; 4]>::try_from(bytes)
                .map_err(|_| malformed(Malformed::StatusSize { size: bytes.len() }))?;
            accept_status(i32::from_ne_bytes(status), target, &self.exchange)
        } else {
            Ok(())
        };
        self.held = Some(delivery);
        outcome
    }

    /// What is held, which is the reply after a call that succeeded.
    fn reply(&self) -> Result<Reply<'_>> {
        let bytes = match &self.held {
            Some(delivery) if !delivery.is_status() => delivery
                .bytes(self.exchange.driver().mapping())
                .map_err(|malformed| self.exchange.malformed("BC_TRANSACTION", malformed))?,
            _ => &[],
        };
        Ok(Reply { bytes })
    }
}

/// A reply in the memory that the driver shares with this process. It
/// dereferences to its bytes.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    bytes: &'a [u8],
}

impl Deref for Reply<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The driver is still open elsewhere, or gives it back when closed.
        let _freed = self.give_back();
    }
}

/// A bare status of 0 is an empty reply.
fn accept_status(status: i32, target: Handle, exchange: &Exchange) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    let device = exchange.driver().device().to_owned();
    Err(Error::Status { device, target, status })
}

fn wait_for_reply(
    exchange: &mut Exchange,
    commands: &mut Commands<'_>,
    target: Handle,
) -> Result<Delivery> {
    const CALL: &str = "BC_TRANSACTION";
    // The driver sends BR_TRANSACTION_COMPLETE before a death that it saw
    // after the call was delivered, and not if there was nobody to deliver to.
    let mut delivered = false;
    loop {
        let event = exchange.next(commands, CALL)?;
        let device = || exchange.driver().device().to_owned();
        let answer = match event {
            Event::Reply(delivery) => return Ok(delivery),
            Event::Call(_) => return Err(exchange.unexpected(CALL, "BR_TRANSACTION")),
            Event::Other(answer) => answer,
        };
        match answer {
            Return::TransactionComplete => delivered = true,
            Return::DeadReply if target == Handle::CONTEXT_MANAGER && !delivered => {
                return Err(Error::NoContextManager { device: device() });
            }
            Return::DeadReply => {
                return Err(Error::DeadReply { device: device(), target, delivered });
            }
            Return::FailedReply => {
                let reason = reason_of_failure(exchange.driver().as_ref());
                return Err(Error::FailedReply { device: device(), target, reason });
            }
            Return::FrozenReply => return Err(Error::FrozenReply { device: device(), target }),
            notice => note(exchange, notice, CALL)?,
        }
    }
}

fn reason_of_failure(driver: &dyn Driver) -> Option<io::Error> {
    let error = driver.extended_error().ok()?;
    (error.command == BR_FAILED_REPLY && error.param != 0)
        .then(|| io::Error::from_raw_os_error(error.param.saturating_abs()))
}
