//! Exchanges commands and returns between one thread and the driver.

mod delivery;

use std::io;
use std::sync::Arc;

use crate::command::Commands;
use crate::driver::{Driver, Transfer};
use crate::error::{Error, Malformed, Result};
use crate::reply::Return;
use crate::threads::track_thread;

pub(crate) use delivery::Delivery;

/// Bytes for the returns of one transfer. Returns are 4 to 76 bytes long, and the
/// driver sends at most one call or reply at a time.
const RETURNS: usize = 512;

/// A payload of at most this fraction of the mapping (1/64) may be given back late.
/// So the usual 16 threads of a pool hold back at most a quarter of it.
const LATE_FRACTION: u64 = 64;

/// The driver uses at most this much of a mapping.
const USED: u64 = 4 << 20;

/// A return of the driver, by kind.
#[derive(Debug)]
pub(crate) enum Event {
    /// A call to serve.
    Call(Delivery),
    /// The reply to this thread's call.
    Reply(Delivery),
    /// A return without a payload.
    Other(Return),
}

/// How a transfer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Commands or returns were moved.
    Made,
    /// A signal came before there was a return.
    Interrupted,
}

/// One thread's exchange with the driver of an open device.
#[derive(Debug)]
pub(crate) struct Exchange {
    driver: Arc<dyn Driver>,
    returns: [u8; RETURNS],
    read: usize,
    filled: usize,
}

impl Exchange {
    pub(crate) fn new(driver: Arc<dyn Driver>) -> Self {
        // Takes memory the first time on a thread: better now than later.
        track_thread(&driver);
        Self { driver, returns: [0; RETURNS], read: 0, filled: 0 }
    }

    pub(crate) fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// Whether all returns that were read have been handed out.
    pub(crate) fn is_drained(&self) -> bool {
        self.read == self.filled
    }

    /// Whether a payload may be given back after the next command, so that the other
    /// process need not wait for it. A large payload is given back first, because the
    /// reply may not fit beside it. So is any payload while returns are not handed
    /// out: if the next command fails, the driver takes no further command before
    /// they are.
    pub(crate) fn can_give_back_later(&self, delivery: &Delivery) -> bool {
        let mapping = self.driver.mapping();
        let limit = USED.min(mapping.length() as u64) / LATE_FRACTION;
        self.is_drained() && delivery.fits(limit, mapping)
    }

    /// Sends all commands and waits for the next event. `during` names the
    /// command under way in errors. A signal ends the wait with
    /// [`Return::Noop`]; the caller then repeats the wait, as the protocol demands.
    pub(crate) fn next(
        &mut self,
        commands: &mut Commands<'_>,
        during: &'static str,
    ) -> Result<Event> {
        while self.is_drained() || !commands.unsent().is_empty() {
            let progress = self.transfer(commands, during, self.is_drained())?;
            if progress == Progress::Interrupted && commands.unsent().is_empty() {
                return Ok(Event::Other(Return::Noop));
            }
        }
        let mut bytes = &self.returns[self.read..self.filled];
        let next = Return::take(&mut bytes);
        self.read = self.filled - bytes.len();
        match next {
            Ok(Return::Transaction(transaction)) => Ok(Event::Call(Delivery { transaction })),
            Ok(Return::TransactionWithContext((transaction, _context))) => {
                Ok(Event::Call(Delivery { transaction }))
            }
            Ok(Return::Reply(transaction)) => Ok(Event::Reply(Delivery { transaction })),
            Ok(other) => Ok(Event::Other(other)),
            Err(malformed) => {
                // Where the next return begins is unknown.
                self.read = self.filled;
                Err(self.malformed(during, malformed))
            }
        }
    }

    /// Sends all commands, without waiting.
    pub(crate) fn send(&mut self, commands: &mut Commands<'_>, during: &'static str) -> Result<()> {
        while !commands.unsent().is_empty() {
            self.transfer(commands, during, false)?;
        }
        Ok(())
    }

    fn transfer(
        &mut self,
        commands: &mut Commands<'_>,
        during: &'static str,
        wait: bool,
    ) -> Result<Progress> {
        track_thread(&self.driver);
        let returns = if wait { &mut self.returns[..] } else { &mut [] };
        let (written, room) = (commands.unsent().len(), returns.len());
        let mut transfer =
            Transfer { commands: commands.unsent(), returns, consumed: 0, returned: 0 };
        // SAFETY: the commands borrow the payloads that they send, and own the
        // deliveries that they give back; the kernel reads and frees no others
        // (include/uapi/linux/android/binder.h).
        let outcome = unsafe { self.driver.write_read(&mut transfer) };
        let Transfer { consumed, returned, .. } = transfer;
        let interrupted = match outcome {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            Err(error) => return Err(self.request("BINDER_WRITE_READ", error)),
        };
        let nothing_moved = consumed == 0 && returned == 0 && !interrupted;
        if consumed > written || returned > room || nothing_moved {
            let malformed = Malformed::Transfer { consumed, written, returned, room };
            return Err(self.malformed(during, malformed));
        }
        commands.mark_sent(consumed);
        if wait {
            (self.read, self.filled) = (0, returned);
        }
        Ok(if interrupted && returned == 0 { Progress::Interrupted } else { Progress::Made })
    }

    pub(crate) fn malformed(&self, command: &'static str, malformed: Malformed) -> Error {
        Error::Malformed { device: self.driver.device().to_owned(), command, malformed }
    }

    pub(crate) fn unexpected(&self, command: &'static str, answer: &'static str) -> Error {
        Error::Unexpected { device: self.driver.device().to_owned(), command, answer }
    }

    pub(crate) fn request(&self, request: &'static str, source: io::Error) -> Error {
        Error::Request { device: self.driver.device().to_owned(), request, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{BC_ENTER_LOOPER, BC_EXIT_LOOPER, BR_FAILED_REPLY, BR_NOOP};
    use crate::scripted::{Bytes, Scripted, Step};

    fn exchange(steps: impl IntoIterator<Item = Step>) -> (Arc<Scripted>, Exchange) {
        let driver = Arc::new(Scripted::new(steps));
        (Arc::clone(&driver), Exchange::new(driver))
    }

    #[test]
    fn a_signal_returns_to_the_waiting_thread() {
        let (driver, mut exchange) = exchange([
            Step::reads().fails(libc::EINTR),
            Step::reads().returns(Bytes::default().code(BR_FAILED_REPLY)),
        ]);
        let mut scratch = Vec::new();
        let mut commands = Commands::new(&mut scratch);
        let event = exchange.next(&mut commands, "test").unwrap();
        assert!(matches!(event, Event::Other(Return::Noop)), "{event:?}");
        assert_eq!(driver.left(), 1);
        let event = exchange.next(&mut commands, "test").unwrap();
        assert!(matches!(event, Event::Other(Return::FailedReply)), "{event:?}");
    }

    #[test]
    fn commands_that_were_left_are_sent_before_the_returns_are_handed_out() {
        let both = Bytes::default().code(BC_ENTER_LOOPER).code(BC_EXIT_LOOPER);
        let (driver, mut exchange) = exchange([
            Step::writes(both)
                .takes(4)
                .returns(Bytes::default().code(BR_FAILED_REPLY).code(BR_NOOP)),
            Step::sends(Bytes::default().code(BC_EXIT_LOOPER)),
        ]);
        let mut scratch = Vec::new();
        let mut commands = Commands::new(&mut scratch);
        commands.enter_looper();
        commands.exit_looper();
        let event = exchange.next(&mut commands, "test").unwrap();
        assert!(matches!(event, Event::Other(Return::FailedReply)), "{event:?}");
        assert_eq!((driver.left(), exchange.is_drained()), (0, false));
        let event = exchange.next(&mut commands, "test").unwrap();
        assert!(matches!(event, Event::Other(Return::Noop)), "{event:?}");
        assert!(exchange.is_drained());
    }
}
