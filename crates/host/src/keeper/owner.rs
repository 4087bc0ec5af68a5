//! The owner's side: starts a keeper and ends it.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::LONGEST_LINE;
use super::order::Order;
use crate::error::{Error, Result};
use crate::process::HelperCommand;

/// How long a keeper may take to start on a very busy machine.
const SLOWEST_START: Duration = Duration::from_secs(180);
/// How long an owner waits for the end of its keeper, which has no work left.
const SLOWEST_END: Duration = Duration::from_secs(30);

/// The owner's side of a keeper.
#[derive(Debug)]
pub(crate) struct Keeper {
    command: HelperCommand,
    order: Order,
    child: Child,
    line: BufReader<UnixStream>,
}

impl Keeper {
    /// Starts a keeper and waits until it is `up`.
    pub(crate) fn start(command: HelperCommand, order: Order) -> Result<Self> {
        let failed = |source| Error::file("start the keeper", command.program(), source);
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        ours.set_read_timeout(Some(SLOWEST_START)).map_err(failed)?;
        let child = command
            .command()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let mut keeper = Self { command, order, child, line: BufReader::new(ours) };
        let order = serde_json::to_string(&keeper.order).expect("an order is plain text");
        keeper.say(&order, "up")?;
        Ok(keeper)
    }

    /// Sends `watch`, because the journal exists now, and waits for `ready`.
    pub(crate) fn watch(&mut self) -> Result<()> {
        self.say("watch", "ready")
    }

    /// Starts another keeper if this one has been killed.
    pub(crate) fn ensure(&mut self) -> Result<()> {
        if matches!(self.child.try_wait(), Ok(None)) {
            return Ok(());
        }
        *self = Self::start(self.command.clone(), self.order.clone())?;
        if self.order.is_followed_by_watch() { self.watch() } else { Ok(()) }
    }

    fn say(&mut self, words: &str, expected: &str) -> Result<()> {
        // Socket errors are not useful to the user, and "broken pipe" would be
        // taken for a reader of our output that went away.
        let _an_answer_tells = self.line.get_ref().write_all(format!("{words}\n").as_bytes());
        let mut answer = String::new();
        let heard = self.line.by_ref().take(LONGEST_LINE).read_line(&mut answer);
        let answer = answer.trim_end();
        if answer == expected {
            return Ok(());
        }
        let problem = match heard {
            Ok(_) if !answer.is_empty() => answer.to_owned(),
            Err(error) if !says_ended(&error) => format!("it does not answer: {error}"),
            _ => "it ended before it was ready".to_owned(),
        };
        let _it_may_be_gone = self.child.kill();
        let _reaped = self.child.wait();
        let program = self.command.program();
        Err(Error::file("start the keeper", program, io::Error::other(problem)))
    }
}

/// Waits for the keeper's end. By then its journal is unlocked, or was never
/// created.
impl Drop for Keeper {
    fn drop(&mut self) {
        let stream = self.line.get_ref();
        let _it_may_be_gone = stream.shutdown(Shutdown::Write);
        let _for_the_wait = stream.set_read_timeout(Some(SLOWEST_END));
        // Its end closes the socket. A stopped keeper (SIGSTOP) is waited for
        // up to the timeout, and then left alone.
        let heard = self.line.read_exact(&mut [0]);
        if heard.is_err_and(|error| says_ended(&error)) {
            let _reaped = self.child.wait();
        }
    }
}

/// Whether the other end is closed (a reset if it had not read everything).
fn says_ended(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
}
