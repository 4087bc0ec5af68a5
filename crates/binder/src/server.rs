//! The context manager of a device: the object behind handle 0.

use std::io;
use std::sync::Arc;

use crate::command::{COMMANDS, Commands};
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::exchange::{Delivery, Event, Exchange};
use crate::notice::note;
use crate::protocol::{FlatObject, NodeFlags, PING, TF_ONE_WAY, TYPE_BINDER};
use crate::reply::Return;
use crate::stop::Stopper;

#[cfg(test)]
mod tests;

/// A call as the server sees it.
#[derive(Debug)]
pub struct Request<'a> {
    /// Which call.
    pub code: u32,
    /// The payload, in the memory that the driver shares with this process.
    pub payload: &'a [u8],
    /// The caller's process; 0 if it is in a PID namespace that this process
    /// cannot see.
    pub sender_pid: i32,
    /// The caller's effective user.
    pub sender_euid: u32,
    /// Whether the caller does not wait; nothing is replied then.
    pub one_way: bool,
}

/// What a handler does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Send what is in the reply buffer.
    Reply,
    /// Send what is in the reply buffer, and end the loop.
    ReplyAndStop,
    /// Refuse the call with a status other than 0; the buffer is not sent.
    Refuse(i32),
}

/// What a server did until its loop ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Calls that the handler answered.
    pub calls: u64,
    /// Replies that, as far as the driver says so, did not reach the caller.
    pub undelivered: u64,
}

/// The context manager of a device, serving calls on one thread.
///
/// The device keeps its context manager until the last owner of the driver is
/// gone; calls that nobody serves wait until then.
#[derive(Debug)]
pub struct Server {
    exchange: Exchange,
    scratch: Vec<u8>,
    reply: Vec<u8>,
    flags: NodeFlags,
    stopper: Stopper,
}

impl Server {
    /// Makes this process the device's context manager. `flags` need the
    /// request `BINDER_SET_CONTEXT_MGR_EXT`; [`flags`](Self::flags) tells
    /// whether this kernel has it.
    ///
    /// # Errors
    /// [`Error::ContextManagerTaken`] if there is one, [`Error::Permission`] if
    /// a security module, or the user who was it before, forbids it.
    pub fn become_context_manager(driver: Arc<dyn Driver>, flags: NodeFlags) -> Result<Self> {
        let flags = take_handle_0(driver.as_ref(), flags)?;
        let exchange = Exchange::new(Arc::clone(&driver));
        driver
            .set_max_threads(0)
            .map_err(|error| exchange.request("BINDER_SET_MAX_THREADS", error))?;
        Ok(Self {
            exchange,
            scratch: Vec::with_capacity(COMMANDS),
            reply: Vec::new(),
            flags,
            stopper: Stopper::new(driver),
        })
    }

    /// The flags that the driver took: those asked for, or none.
    pub fn flags(&self) -> NodeFlags {
        self.flags
    }

    /// Ends [`serve`](Self::serve) from another thread, and every later one at
    /// once.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves calls on this thread, one after the other, until the handler
    /// answers [`Answer::ReplyAndStop`] or a [`Stopper`] is used. The handler
    /// gets the call and an empty buffer for the reply, which keeps its
    /// capacity from call to call. [`PING`] is answered without it.
    ///
    /// # Errors
    /// The driver failed or broke the protocol: the server is of no use then.
    pub fn serve(
        &mut self,
        mut handler: impl FnMut(&Request<'_>, &mut Vec<u8>) -> Answer,
    ) -> Result<Served> {
        let mut served = Served::default();
        let mut last: Option<(Delivery, Answer)> = None;
        let mut stop = false;
        self.enter_looper()?;
        loop {
            let status;
            let mut commands = Commands::new(&mut self.scratch);
            let during = match last.take() {
                None => "BC_ENTER_LOOPER",
                Some((delivery, answer)) => {
                    let one_way = is_one_way(&delivery);
                    commands.free(delivery);
                    match answer {
                        _ if one_way => {}
                        Answer::Reply | Answer::ReplyAndStop => commands.reply(&self.reply),
                        Answer::Refuse(code) => {
                            status = code.to_ne_bytes();
                            commands.reply_status(&status);
                        }
                    }
                    "BC_REPLY"
                }
            };
            if (stop || self.stopper.is_asked()) && self.exchange.is_drained() {
                commands.exit_looper();
                self.exchange.send(&mut commands, during)?;
                return Ok(served);
            }
            match self.exchange.next(&mut commands, during)? {
                Event::Call(delivery) => {
                    let request = request(&delivery, &self.exchange)?;
                    self.reply.clear();
                    let answer = if request.code == PING {
                        Answer::Reply
                    } else {
                        served.calls = served.calls.saturating_add(1);
                        handler(&request, &mut self.reply)
                    };
                    stop |= answer == Answer::ReplyAndStop;
                    last = Some((delivery, answer));
                }
                Event::Reply(_) => return Err(self.exchange.unexpected(during, "BR_REPLY")),
                Event::Other(Return::DeadReply | Return::FailedReply | Return::FrozenReply) => {
                    served.undelivered = served.undelivered.saturating_add(1);
                }
                Event::Other(notice) => note(&mut self.exchange, notice, during)?,
            }
        }
    }

    fn enter_looper(&mut self) -> Result<()> {
        let mut commands = Commands::new(&mut self.scratch);
        commands.enter_looper();
        self.exchange.send(&mut commands, "BC_ENTER_LOOPER")
    }
}

/// Handle 0, with flags where the kernel takes them. The flags it took.
fn take_handle_0(driver: &dyn Driver, flags: NodeFlags) -> Result<NodeFlags> {
    const WITH_FLAGS: &str = "BINDER_SET_CONTEXT_MGR_EXT";
    const WITHOUT: &str = "BINDER_SET_CONTEXT_MGR";
    let object = FlatObject { kind: TYPE_BINDER, flags: flags.0, ..FlatObject::default() };
    let (request, outcome) = match driver.set_context_manager_object(&object) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            (WITHOUT, driver.set_context_manager().map(|()| NodeFlags::NONE))
        }
        outcome => (WITH_FLAGS, outcome.map(|()| flags)),
    };
    outcome.map_err(|source| {
        let device = driver.device().to_owned();
        match source.raw_os_error() {
            Some(libc::EBUSY) => Error::ContextManagerTaken { device, request },
            _ if source.kind() == io::ErrorKind::PermissionDenied => {
                Error::Permission { device, request }
            }
            _ => Error::Request { device, request, source },
        }
    })
}

fn is_one_way(delivery: &Delivery) -> bool {
    delivery.transaction().flags & TF_ONE_WAY != 0
}

fn request<'a>(delivery: &'a Delivery, exchange: &'a Exchange) -> Result<Request<'a>> {
    let payload = delivery
        .bytes(exchange.driver().mapping())
        .map_err(|malformed| exchange.malformed("BC_ENTER_LOOPER", malformed))?;
    let transaction = delivery.transaction();
    Ok(Request {
        code: transaction.code,
        payload,
        sender_pid: transaction.sender_pid,
        sender_euid: transaction.sender_euid,
        one_way: is_one_way(delivery),
    })
}
