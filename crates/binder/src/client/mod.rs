//! Calls to objects of other processes.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{COMMANDS, Commands};
use crate::driver::Driver;
use crate::error::{Error, Malformed, Result};
use crate::exchange::{Delivery, Event, Exchange};
use crate::mapping::Mapping;
use crate::notice::note;
use crate::payload::{Body, Gather, Payload};
use crate::protocol::{BR_FAILED_REPLY, Handle, PING, TF_ACCEPT_FDS, TF_ONE_WAY};
use crate::received::Received;
use crate::reply::Return;

#[cfg(test)]
mod tests;

/// How long to sleep between two attempts to find a context manager.
const PING_AGAIN: Duration = Duration::from_millis(1);

/// A reply in the mapping, valid until the next call.
pub type Reply<'a> = Received<'a>;

/// Calls objects and waits for their replies. A client makes one call at a time;
/// each thread needs its own, over the same driver.
///
/// A called object may call back into this process if another thread serves
/// calls. The thread that waits for a reply refuses such a call with `EBUSY`.
#[derive(Debug)]
pub struct Client {
    exchange: Exchange,
    scratch: Vec<u8>,
    gather: Gather,
    /// The last reply, given back together with the next call.
    held: Option<Delivery>,
    abandoned: bool,
}

/// How a one-way call was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way.
    Delivered,
    /// It is on its way, and the driver suspects this process of sending too many.
    /// [`KernelDriver::detect_one_way_spam`](crate::KernelDriver::detect_one_way_spam)
    /// switches this detection on.
    Suspected,
    /// The object's process is frozen; the call waits for it.
    WaitsForFrozen,
}

/// One call.
struct Call<'a> {
    target: Handle,
    code: u32,
    flags: u32,
    body: Body<'a>,
}

impl Call<'_> {
    /// The command, as errors name it.
    fn command(&self) -> &'static str {
        if self.body.buffers.is_some() { "BC_TRANSACTION_SG" } else { "BC_TRANSACTION" }
    }
}

impl Client {
    /// A client over an open device.
    pub fn new(driver: Arc<dyn Driver>) -> Self {
        Self {
            exchange: Exchange::new(driver),
            scratch: Vec::with_capacity(COMMANDS),
            gather: Gather::default(),
            held: None,
            abandoned: false,
        }
    }

    /// The open device that calls go through; clients of other threads may share it.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        self.exchange.driver()
    }

    /// Calls `target` with a code and a payload, and waits for the reply, which
    /// replaces the content of `reply`. There is no timeout: the death of the
    /// object's process ends the wait, a hang does not.
    ///
    /// Allocates only if the reply is larger than the capacity of `reply`. The
    /// reply's place in the mapping is given back with the next call, or when
    /// the client is dropped.
    ///
    /// # Errors
    /// [`Error::NoContextManager`], [`Error::DeadReply`],
    /// [`Error::FailedReply`], [`Error::FrozenReply`] and [`Error::Status`] if
    /// there is no reply; the client can be used again. After any other error the
    /// device must be opened again.
    pub fn call(
        &mut self,
        target: impl Into<Handle>,
        code: u32,
        request: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<()> {
        reply.clear();
        reply.extend_from_slice(&self.call_in_place(target, code, request)?);
        Ok(())
    }

    /// As [`call`](Self::call), without a copy of the reply: it is read in the
    /// mapping, until the next call. Allocates nothing.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_in_place(
        &mut self,
        target: impl Into<Handle>,
        code: u32,
        request: &[u8],
    ) -> Result<Reply<'_>> {
        let body = request.into();
        self.transact(&Call { target: target.into(), code, flags: 0, body })
    }

    /// As [`call_in_place`](Self::call_in_place), with a payload that may hold
    /// objects, files and buffers. The reply may hold files, too.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_with(
        &mut self,
        target: impl Into<Handle>,
        code: u32,
        request: &Payload,
    ) -> Result<Reply<'_>> {
        let (target, body) = (target.into(), request.into());
        self.transact(&Call { target, code, flags: TF_ACCEPT_FDS, body })
    }

    /// As [`call_in_place`](Self::call_in_place), with a payload of buffers that the
    /// driver copies from their places (scatter-gather). Allocates only if there are
    /// more buffers than in any call before.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_sg(
        &mut self,
        target: impl Into<Handle>,
        code: u32,
        buffers: &[&[u8]],
    ) -> Result<Reply<'_>> {
        let mut gather = std::mem::take(&mut self.gather);
        let call = Call { target: target.into(), code, flags: 0, body: gather.gather(buffers) };
        let outcome = self.abandon_if_broken(|client| client.round_trip(&call));
        let command = call.command();
        self.gather = gather;
        outcome?;
        self.reply(command)
    }

    /// Calls `target` and waits only until the call is on its way. There is no
    /// reply, and no sign whether the call was served.
    ///
    /// # Errors
    /// As [`call`](Self::call); [`Error::FailedReply`] also if the receiver's space
    /// for one-way calls, half of its mapping, is full.
    pub fn send<'a>(
        &mut self,
        target: impl Into<Handle>,
        code: u32,
        request: impl Into<Body<'a>>,
    ) -> Result<Sent> {
        let call = Call { target: target.into(), code, flags: TF_ONE_WAY, body: request.into() };
        self.abandon_if_broken(|client| {
            let mut commands =
                to_call(&call, &mut client.scratch, &client.exchange, &mut client.held);
            wait_until_sent(&mut client.exchange, &mut commands, &call)
        })
    }

    /// Calls the context manager with [`PING`], which every binder object
    /// answers.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn ping(&mut self) -> Result<()> {
        self.call_in_place(Handle::CONTEXT_MANAGER, PING, &[]).map(|_empty| ())
    }

    /// [`ping`](Self::ping)s until the device has a context manager that
    /// answers.
    ///
    /// # Errors
    /// [`Error::NoContextManager`] if it takes longer than `limit`, and as
    /// [`call`](Self::call).
    pub fn wait_for_context_manager(&mut self, limit: Duration) -> Result<()> {
        let begin = Instant::now();
        loop {
            match self.ping() {
                Err(Error::NoContextManager { .. }) if begin.elapsed() < limit => {
                    thread::sleep(PING_AGAIN);
                }
                outcome => return outcome,
            }
        }
    }

    /// Gives the last reply's place in the mapping back now instead of with the
    /// next call.
    ///
    /// # Errors
    /// The kernel's.
    pub fn give_back(&mut self) -> Result<()> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let mut commands = Commands::new(&mut self.scratch);
        commands.free(held, self.exchange.driver().mapping());
        self.exchange.send(&mut commands, "BC_FREE_BUFFER")
    }

    fn transact(&mut self, call: &Call<'_>) -> Result<Reply<'_>> {
        self.abandon_if_broken(|client| client.round_trip(call))?;
        self.reply(call.command())
    }

    fn abandon_if_broken<T>(&mut self, talk: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.abandoned {
            let device = self.exchange.driver().device().to_owned();
            return Err(Error::Abandoned { device });
        }
        let outcome = talk(self);
        self.abandoned = matches!(
            outcome,
            Err(Error::Malformed { .. } | Error::Unexpected { .. } | Error::Request { .. })
        );
        outcome
    }

    fn round_trip(&mut self, call: &Call<'_>) -> Result<()> {
        let mut commands = to_call(call, &mut self.scratch, &self.exchange, &mut self.held);
        let delivery = wait_for_reply(&mut self.exchange, &mut commands, call)?;

        let malformed = |malformed| self.exchange.malformed(call.command(), malformed);
        let bytes = delivery.bytes(self.exchange.driver().mapping()).map_err(malformed)?;
        let outcome = if delivery.is_status() {
            let status = <[u8; 4]>::try_from(bytes)
                .map_err(|_| malformed(Malformed::StatusSize { size: bytes.len() }))?;
            accept_status(i32::from_ne_bytes(status), call, &self.exchange)
        } else {
            Ok(())
        };
        self.held = Some(delivery);
        outcome
    }

    /// The reply of a call that succeeded.
    fn reply(&self, command: &'static str) -> Result<Reply<'_>> {
        let driver = self.exchange.driver();
        match &self.held {
            Some(delivery) if !delivery.is_status() => Received::new(driver, delivery, command),
            _ => Ok(Received::empty(driver, command)),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // If this fails, the driver frees it when the device is closed.
        let _freed = self.give_back();
    }
}

/// The commands of a call. They also give the last reply back, after the call if
/// that can wait.
fn to_call<'a>(
    call: &Call<'a>,
    scratch: &'a mut Vec<u8>,
    exchange: &Exchange,
    held: &mut Option<Delivery>,
) -> Commands<'a> {
    let mapping = exchange.driver().mapping();
    let mut commands = Commands::new(scratch);
    if let Some(reply) = held.take_if(|held| !exchange.can_give_back_later(held)) {
        commands.free(reply, mapping);
    }
    commands.call(call.target, call.code, call.flags, call.body);
    if let Some(reply) = held.take() {
        commands.free(reply, mapping);
    }
    commands
}

/// A bare status of 0 is an empty reply.
fn accept_status(status: i32, call: &Call<'_>, exchange: &Exchange) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    let device = exchange.driver().device().to_owned();
    Err(Error::Status { device, command: call.command(), target: call.target, status })
}

fn wait_for_reply(
    exchange: &mut Exchange,
    commands: &mut Commands<'_>,
    call: &Call<'_>,
) -> Result<Delivery> {
    let command = call.command();
    // The driver sends BR_TRANSACTION_COMPLETE before BR_DEAD_REPLY only if the
    // process died after the call was delivered.
    let mut delivered = false;
    loop {
        match exchange.next(commands, command)? {
            Event::Reply(delivery) => return Ok(delivery),
            Event::Call(delivery) => refuse(exchange, delivery)?,
            Event::Other(Return::TransactionComplete) => delivered = true,
            Event::Other(answer) => {
                if let Some(error) = no_reply(exchange, &answer, call, delivered) {
                    return Err(error);
                }
                note(exchange, answer, command)?;
            }
        }
    }
}

fn wait_until_sent(
    exchange: &mut Exchange,
    commands: &mut Commands<'_>,
    call: &Call<'_>,
) -> Result<Sent> {
    let command = call.command();
    loop {
        match exchange.next(commands, command)? {
            Event::Other(Return::TransactionComplete) => return Ok(Sent::Delivered),
            Event::Other(Return::OnewaySpamSuspect) => return Ok(Sent::Suspected),
            Event::Other(Return::TransactionPendingFrozen) => return Ok(Sent::WaitsForFrozen),
            Event::Reply(_) => return Err(exchange.unexpected(command, "BR_REPLY")),
            Event::Call(delivery) => refuse(exchange, delivery)?,
            Event::Other(answer) => {
                if let Some(error) = no_reply(exchange, &answer, call, false) {
                    return Err(error);
                }
                note(exchange, answer, command)?;
            }
        }
    }
}

/// The error of a return that ends a call without a reply.
fn no_reply(
    exchange: &Exchange,
    answer: &Return,
    call: &Call<'_>,
    delivered: bool,
) -> Option<Error> {
    let (command, target) = (call.command(), call.target);
    let device = || exchange.driver().device().to_owned();
    Some(match answer {
        Return::DeadReply if target == Handle::CONTEXT_MANAGER && !delivered => {
            Error::NoContextManager { device: device(), command }
        }
        Return::DeadReply => Error::DeadReply { device: device(), command, target, delivered },
        Return::FailedReply => {
            let reason = reason_of_failure(exchange.driver().as_ref());
            Error::FailedReply { device: device(), command, target, reason }
        }
        Return::FrozenReply => Error::FrozenReply { device: device(), command, target },
        _ => return None,
    })
}

/// Refuses a call into a thread that waits for a reply.
fn refuse(exchange: &mut Exchange, delivery: Delivery) -> Result<()> {
    let status = (-libc::EBUSY).to_ne_bytes();
    let one_way = delivery.is_one_way();
    let mut scratch = Vec::new();
    let mut commands = Commands::new(&mut scratch);
    let mapping: &Mapping = exchange.driver().mapping();
    commands.free(delivery, mapping);
    if !one_way {
        commands.reply_status(&status);
    }
    exchange.send(&mut commands, "BC_REPLY")
}

fn reason_of_failure(driver: &dyn Driver) -> Option<io::Error> {
    let error = driver.extended_error().ok()?;
    (error.command == BR_FAILED_REPLY && error.param != 0)
        .then(|| io::Error::from_raw_os_error(error.param.saturating_abs()))
}
