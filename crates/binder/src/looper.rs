//! The loop of one thread that serves calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::command::{COMMANDS, Commands};
use crate::driver::Driver;
use crate::error::Result;
use crate::exchange::{Delivery, Event, Exchange};
use crate::notice::{Notice, note};
use crate::payload::Payload;
use crate::protocol::PING;
use crate::reply::Return;
use crate::request::{Answer, Request, Served};
use crate::stop::Stopper;

/// The command with which a thread begins to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// By its own decision.
    Enter,
    /// Because the driver asked for a thread.
    Register,
}

impl Entry {
    fn name(self) -> &'static str {
        match self {
            Self::Enter => "BC_ENTER_LOOPER",
            Self::Register => "BC_REGISTER_LOOPER",
        }
    }
}

/// State that the loops of a server's threads share.
pub(crate) struct LoopContext<'a> {
    pub(crate) stopper: &'a Stopper,
    /// Set when one of the threads has ended, so all must end.
    pub(crate) halt: &'a AtomicBool,
    pub(crate) notices: &'a dyn Fn(Notice),
    /// Called when the driver asks for another thread.
    pub(crate) spawn: &'a dyn Fn(),
}

impl LoopContext<'_> {
    fn is_over(&self) -> bool {
        // Pairs with the store in the thread that ended first.
        self.stopper.is_asked() || self.halt.load(Ordering::Acquire)
    }
}

/// A thread's side of serving.
#[derive(Debug)]
pub(crate) struct Looper {
    exchange: Exchange,
    scratch: Vec<u8>,
    reply: Payload,
}

impl Looper {
    pub(crate) fn new(driver: Arc<dyn Driver>) -> Self {
        Self {
            exchange: Exchange::new(driver),
            scratch: Vec::with_capacity(COMMANDS),
            reply: Payload::new(),
        }
    }

    /// Serves calls until there is a reason to stop and all calls that were read are
    /// served. A call is given back after its reply is sent, if that can wait.
    pub(crate) fn run(
        &mut self,
        entry: Entry,
        context: &LoopContext<'_>,
        mut handler: impl FnMut(&Request<'_>, &mut Payload) -> Answer,
    ) -> Result<Served> {
        let mut served = Served { threads: 1, ..Served::default() };
        let mut last: Option<(Delivery, Answer)> = None;
        // Whether the driver has not reported yet how a reply was sent.
        let mut reply_pending = false;
        let mut stop = false;
        self.enter(entry)?;
        loop {
            let status;
            let mut commands = Commands::new(&mut self.scratch);
            let during = match last.take() {
                None => entry.name(),
                Some((delivery, answer)) => {
                    let mapping = self.exchange.driver().mapping();
                    let one_way = delivery.is_one_way();
                    let mut call = Some(delivery);
                    if let Some(call) =
                        call.take_if(|call| !self.exchange.can_give_back_later(call))
                    {
                        commands.free(call, mapping);
                    }
                    match answer {
                        _ if one_way => {}
                        Answer::Reply | Answer::ReplyAndStop => commands.reply(&self.reply),
                        Answer::Refuse(code) => {
                            status = code.to_ne_bytes();
                            commands.reply_status(&status);
                        }
                    }
                    if let Some(call) = call {
                        commands.free(call, mapping);
                    }
                    reply_pending |= !one_way;
                    "BC_REPLY"
                }
            };
            if (stop || context.is_over()) && self.exchange.is_drained() && !reply_pending {
                commands.exit_looper();
                self.exchange.send(&mut commands, during)?;
                return Ok(served);
            }
            match self.exchange.next(&mut commands, during)? {
                Event::Call(delivery) => {
                    let request = Request::new(&delivery, &self.exchange)?;
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
                Event::Other(Return::TransactionComplete) => reply_pending = false,
                Event::Other(Return::DeadReply | Return::FailedReply | Return::FrozenReply) => {
                    reply_pending = false;
                    served.undelivered = served.undelivered.saturating_add(1);
                }
                Event::Other(Return::SpawnLooper) => (context.spawn)(),
                Event::Other(notice) => {
                    if let Some(notice) = note(&mut self.exchange, notice, during)? {
                        (context.notices)(notice);
                    }
                }
            }
        }
    }

    fn enter(&mut self, entry: Entry) -> Result<()> {
        let mut commands = Commands::new(&mut self.scratch);
        match entry {
            Entry::Enter => commands.enter_looper(),
            Entry::Register => commands.register_looper(),
        }
        self.exchange.send(&mut commands, entry.name())
    }
}
