//! The conversation of one thread with the driver: commands out, returns in,
//! one by one.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use crate::command::Commands;
use crate::driver::{Driver, Transfer};
use crate::error::{Error, Malformed, Result};
use crate::mapping::Mapping;
use crate::object::{Entry, entries};
use crate::protocol::{TF_ONE_WAY, TF_STATUS_CODE, TransactionData};
use crate::reply::Return;
use crate::threads::attend;

/// Room for the returns of one transfer; they are 4 to 76 bytes long, and the
/// driver sends at most one call or reply at a time.
const RETURNS: usize = 512;

/// The part of the mapping up to which a payload may be given back late. The
/// usual 16 threads of a pool hold back no more than a quarter then.
const SMALL: u64 = 64;

/// The driver uses no more of a mapping than this.
const USED: u64 = 4 << 20;

/// A payload that the driver has put in the mapping, until it is given back.
/// There is one for each payload, and it cannot be copied.
#[derive(Debug)]
pub(crate) struct Delivery {
    transaction: TransactionData,
}

impl Delivery {
    /// What the driver says about the payload.
    pub(crate) fn transaction(&self) -> &TransactionData {
        &self.transaction
    }

    /// Whether the payload is a bare status.
    pub(crate) fn is_status(&self) -> bool {
        self.transaction.flags & TF_STATUS_CODE != 0
    }

    /// Whether the caller does not wait for a reply.
    pub(crate) fn is_one_way(&self) -> bool {
        self.transaction.flags & TF_ONE_WAY != 0
    }

    /// The payload's bytes.
    pub(crate) fn bytes<'a>(&'a self, mapping: &'a Mapping) -> Result<&'a [u8], Malformed> {
        let TransactionData { buffer, data_size, .. } = self.transaction;
        // SAFETY: the driver has delivered the payload, as this value shows,
        // and it is given back only by a command that swallows this value,
        // which the borrow prevents (include/uapi/linux/android/binder.h).
        unsafe { mapping.payload(buffer, data_size) }
    }

    /// Whether it takes up at most `limit` bytes of the mapping. The driver
    /// does not tell how long the buffers are that go with it; the table does.
    fn fits(&self, limit: u64, mapping: &Mapping) -> bool {
        let TransactionData { data_size, offsets_size, .. } = self.transaction;
        let size = data_size.saturating_add(offsets_size);
        if offsets_size == 0 || size > limit {
            return size <= limit;
        }
        let (Ok(bytes), Ok(table)) = (self.bytes(mapping), self.table(mapping)) else {
            return false;
        };
        let size = entries(bytes, table).try_fold(size, |size, entry| match entry {
            Ok(Entry::Buffer { length, .. }) => Ok(size.saturating_add(length)),
            Ok(_) => Ok(size),
            Err(malformed) => Err(malformed),
        });
        size.is_ok_and(|size| size <= limit)
    }

    /// The table of the objects in the payload.
    pub(crate) fn table<'a>(&'a self, mapping: &'a Mapping) -> Result<&'a [u8], Malformed> {
        let TransactionData { offsets, offsets_size, .. } = self.transaction;
        if offsets_size == 0 {
            return Ok(&[]);
        }
        // SAFETY: as for the payload's bytes.
        unsafe { mapping.payload(offsets, offsets_size) }
    }

    /// A buffer that an object of the payload points to. The driver puts it
    /// behind the table.
    pub(crate) fn buffer<'a>(
        &'a self,
        mapping: &'a Mapping,
        address: u64,
        size: u64,
    ) -> Result<&'a [u8], Malformed> {
        let TransactionData { offsets, offsets_size, .. } = self.transaction;
        if address < offsets.saturating_add(offsets_size) {
            return Err(Malformed::OutsideMapping { address, size });
        }
        // SAFETY: as for the payload's bytes.
        unsafe { mapping.payload(address, size) }
    }

    /// Closes the files in the payload, and tells the name by which it is
    /// given back.
    pub(crate) fn into_address(self, mapping: &Mapping) -> u64 {
        if self.transaction.offsets_size > 0
            && let (Ok(bytes), Ok(table)) = (self.bytes(mapping), self.table(mapping))
        {
            for fd in entries(bytes, table).filter_map(file) {
                // SAFETY: the driver has put the descriptor in this process's
                // table for this payload, and it is lent to nobody any more,
                // as the payload is not (drivers/android/binder.c).
                drop(unsafe { OwnedFd::from_raw_fd(fd) });
            }
        }
        self.transaction.buffer
    }
}

fn file(entry: Result<Entry, Malformed>) -> Option<RawFd> {
    match entry {
        Ok(Entry::File(fd)) => RawFd::try_from(fd).ok(),
        _ => None,
    }
}

/// What the driver tells this thread.
#[derive(Debug)]
pub(crate) enum Event {
    /// A call to serve.
    Call(Delivery),
    /// The reply to this thread's call.
    Reply(Delivery),
    /// Everything that comes without a payload.
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

/// A conversation with the driver of an open device.
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
        attend(&driver);
        Self { driver, returns: [0; RETURNS], read: 0, filled: 0 }
    }

    pub(crate) fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// Whether everything that was read from the driver has been handed out.
    pub(crate) fn is_drained(&self) -> bool {
        self.read == self.filled
    }

    /// Whether a payload may be given back after what is sent next, so that
    /// the other process need not wait for that. A large one goes before: what
    /// comes next could find no room. So does one while returns wait to be
    /// handed out: should what is sent fail, the driver takes no command after
    /// it until they are.
    pub(crate) fn can_give_back_later(&self, delivery: &Delivery) -> bool {
        let mapping = self.driver.mapping();
        let limit = USED.min(mapping.length() as u64) / SMALL;
        self.is_drained() && delivery.fits(limit, mapping)
    }

    /// Sends all commands and waits for the next event. `during` names the
    /// command under way in errors. A signal ends the wait with
    /// [`Return::Noop`]; the protocol wants the wait repeated then.
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

    /// Sends all commands, and waits for nothing.
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
        attend(&self.driver);
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
    use crate::protocol::{
        BC_ENTER_LOOPER, BC_EXIT_LOOPER, BR_FAILED_REPLY, BR_NOOP, BufferObject, Layout, TYPE_PTR,
    };
    use crate::scripted::{Bytes, Scripted, Step};

    fn exchange(steps: impl IntoIterator<Item = Step>) -> (Arc<Scripted>, Exchange) {
        let driver = Arc::new(Scripted::new(steps));
        (Arc::clone(&driver), Exchange::new(driver))
    }

    #[test]
    fn a_signal_gives_the_waiting_thread_a_chance_to_look_around() {
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

    /// A delivery of `size` bytes that begin with an entry for a buffer of
    /// `length` bytes, and whose table has one entry, which stands at `entry`.
    fn with_buffer(mapping: &Mapping, size: u64, length: u64, entry: u64) -> Delivery {
        let mut bytes = Vec::new();
        BufferObject { kind: TYPE_PTR, length, ..BufferObject::default() }.put(&mut bytes);
        let transaction = TransactionData {
            buffer: mapping.deliver(0, &bytes),
            data_size: size,
            offsets: mapping.deliver(2048, &entry.to_ne_bytes()),
            offsets_size: 8,
            ..TransactionData::default()
        };
        Delivery { transaction }
    }

    #[test]
    fn the_buffers_that_go_with_a_payload_count() {
        let mapping = Mapping::anonymous(4096);
        let fits =
            |size, length, entry| with_buffer(&mapping, size, length, entry).fits(1024, &mapping);
        assert!(fits(40, 1024 - 48, 0));
        assert!(!fits(40, 1024 - 47, 0));
        assert!(!fits(40, u64::MAX, 0));
        assert!(fits(1016, 0, 0));
        assert!(!fits(1017, 0, 0), "the table counts, too");
        assert!(!fits(40, 0, 40), "who knows what stands there");
        let mut nowhere = with_buffer(&mapping, 40, 0, 0);
        nowhere.transaction.offsets = 1;
        assert!(!nowhere.fits(1024, &mapping));
        nowhere.transaction.offsets_size = 0;
        assert!(nowhere.fits(1024, &mapping), "there is no table");
    }
}
