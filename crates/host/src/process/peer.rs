//! Peers: helper processes of a measurement that run this program again.
//!
//! All peers follow one protocol:
//!
//! - A [`HelperCommand`](super::HelperCommand) starts a peer. Its last argument is the number of the
//!   process that starts it, and the peer's first act is to have the kernel kill
//!   it when that process ends ([`die_with_parent`](super::die_with_parent)).
//! - Orders go to its standard input and answers come from its standard output,
//!   as JSON, one message a line ([`send`], [`receive`]). It ends at the end of
//!   its input.
//! - A peer whose standard input and output are what is measured gets its task
//!   as an argument instead ([`with_task`](super::HelperCommand::with_task)).
//!
//! Nothing listens, and nothing has a name.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read as _, Write};
use std::process::{Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Helper;
use crate::error::{Error, Result};

/// The longest message that is read, in bytes: raw samples of some million calls.
const LONGEST_MESSAGE: u64 = 1 << 30;

/// A running peer. It is killed when `process` is dropped; the two ends can be
/// moved to other threads before.
#[derive(Debug)]
pub struct Peer {
    /// The peer's process.
    pub process: Helper,
    /// Sends orders; the peer's input ends when this is dropped.
    pub orders: Orders,
    /// Receives answers.
    pub answers: Answers,
}

/// The writing end of a peer's input.
#[derive(Debug)]
pub struct Orders(PipeWriter);

/// The reading end of a peer's output.
#[derive(Debug)]
pub struct Answers(BufReader<PipeReader>);

impl Peer {
    /// Starts a peer with pipes for orders and answers. It shares this process's
    /// standard error.
    ///
    /// # Errors
    /// No pipe could be made; the program could not be started.
    pub fn start(mut command: Command) -> Result<Self> {
        let pipe = || io::pipe().map_err(|error| Error::syscall("pipe2", "a peer", error));
        let (stdin, orders) = pipe()?;
        let (answers, stdout) = pipe()?;
        command.stdin(stdin).stdout(stdout).stderr(Stdio::inherit());
        let process = Helper::start(&mut command)?;
        // Dropping `command` closes this process's copies of the peer's ends, so
        // that end of file arrives.
        Ok(Self { process, orders: Orders(orders), answers: Answers(BufReader::new(answers)) })
    }
}

impl Orders {
    /// Sends an order.
    ///
    /// # Errors
    /// The peer has closed its input.
    pub fn send(&mut self, order: &impl Serialize) -> io::Result<()> {
        send(&mut self.0, order)
    }
}

impl Answers {
    /// Waits for the next answer; `None` if the peer has closed its output.
    ///
    /// # Errors
    /// `InvalidData` for a message of another form, or one that is too long.
    pub fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        receive(&mut self.0)
    }
}

/// Writes a message.
///
/// # Errors
/// Those of writing.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads the next message; `None` at the end of the input.
///
/// # Errors
/// `InvalidData` for a message of another form, or one that is cut off or too
/// long; those of reading.
pub fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    receive_up_to(from, LONGEST_MESSAGE)
}

fn receive_up_to<T: DeserializeOwned>(
    from: &mut impl BufRead,
    longest: u64,
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.take(longest).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) => {
            let length = line.len();
            let cut = format!("a message without an end after {length} bytes");
            Err(io::Error::new(io::ErrorKind::InvalidData, cut))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_answers_are_lines() {
        let mut peer = Peer::start(Command::new("cat")).unwrap();
        for order in ["one", "two\nlines"] {
            peer.orders.send(&order).unwrap();
            assert_eq!(peer.answers.receive::<String>().unwrap().as_deref(), Some(order));
        }
        drop(peer.orders);
        assert_eq!(peer.answers.receive::<String>().unwrap(), None);
        assert!(peer.process.wait().unwrap().success());
    }

    #[test]
    fn a_peer_that_ends_early_ends_its_answers() {
        let mut peer = Peer::start(Command::new("true")).unwrap();
        assert_eq!(peer.answers.receive::<u32>().unwrap(), None);
    }

    #[test]
    fn a_message_that_is_cut_off_too_long_or_of_another_form_is_refused() {
        let read = |text: &str, longest| receive_up_to::<u32>(&mut text.as_bytes(), longest);
        assert_eq!(read("12\n", 3).unwrap(), Some(12));
        assert_eq!(read("", 3).unwrap(), None);
        for (text, longest) in [("12", 3), ("123\n", 3), ("\"a\"\n", 9), ("\n", 9)] {
            let error = read(text, longest).unwrap_err();
            assert!(
                matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof),
                "{text:?}: {error:?}"
            );
        }
    }
}
