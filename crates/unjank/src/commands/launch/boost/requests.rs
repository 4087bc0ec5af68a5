//! What is asked of the service over its socket: one line of JSON each way.
//!
//! ```text
//! {"do":"status"}   → {"status":{…}}
//! {"do":"pause"}    → {"status":{…}}, or {"error":"…","needs":"…"}
//! ```

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use unjank_host::control_socket::{ClientId, Clients, ControlSocket, Question as Asked};
use unjank_host::wait::Doorbell;
use unjank_launch::remedy::report::Status;

/// How long to wait for memory.
const AGAIN: Duration = Duration::from_secs(2);

/// A question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// What is asked for.
    #[serde(rename = "do")]
    pub(super) action: Action,
}

/// What the service can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Action {
    /// Its state.
    Status,
    /// To boost nothing, and its state then.
    Pause,
    /// To go on, and its state then.
    Resume,
}

/// The answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    /// The state after what was asked for.
    Status(Box<Status>),
    /// It was not done, and why.
    Error {
        /// Why, in a sentence.
        reason: String,
        /// Whether the asker may not.
        not_permitted: bool,
    },
}

/// Whom to tell which state.
type Reply = (ClientId, Box<Status>);

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct Request {
    /// What is asked for.
    pub(super) action: Action,
    asker: ClientId,
    replies: Sender<Reply>,
    bell: Arc<Doorbell>,
}

impl Request {
    /// Answers it.
    pub(super) fn answer(self, status: Box<Status>) {
        // The thread that hears askers lives as long as the process.
        let _heard = self.replies.send((self.asker, status));
        self.bell.ring();
    }
}

/// Listens to askers in a thread of its own for as long as the process lives.
///
/// # Errors
/// No thread, or no file descriptor, is left.
pub(super) fn listen(socket: Arc<ControlSocket>) -> Result<(Receiver<Request>, Arc<Doorbell>)> {
    let (pass_on, requests) = channel();
    let bell = Arc::new(Doorbell::new()?);
    let askers = Clients::new(socket, text(&held_up()))?;
    let desk = Desk::new(askers, pass_on, Arc::clone(&bell))?;
    thread::Builder::new()
        .name("askers".to_owned())
        .spawn(move || desk.serve())
        .context("while starting a thread")?;
    Ok((requests, bell))
}

/// Passes questions on, and answers back.
struct Desk {
    askers: Clients,
    pass_on: Sender<Request>,
    /// Rung when there is a request.
    asked: Arc<Doorbell>,
    replies: (Sender<Reply>, Receiver<Reply>),
    /// Rung when there is a reply.
    replied: Arc<Doorbell>,
}

impl Desk {
    fn new(askers: Clients, pass_on: Sender<Request>, asked: Arc<Doorbell>) -> Result<Self> {
        let replied = Arc::new(Doorbell::new()?);
        Ok(Self { askers, pass_on, asked, replies: channel(), replied })
    }

    fn serve(mut self) {
        loop {
            match self.askers.questions(&self.replied) {
                Ok(questions) => questions.into_iter().for_each(|question| self.take(&question)),
                // No memory is left, for the moment.
                Err(_) => thread::sleep(AGAIN),
            }
            self.replied.quiet();
            while let Ok((asker, status)) = self.replies.1.try_recv() {
                self.askers.answer(asker, &text(&Answer::Status(status)));
            }
        }
    }

    /// Passes a question on, or answers it at once where it is none.
    fn take(&mut self, question: &Asked) {
        let answer = match read(&question.line, question.may_change) {
            Ok(action) => {
                let request = Request {
                    action,
                    asker: question.client,
                    replies: self.replies.0.clone(),
                    bell: Arc::clone(&self.replied),
                };
                if self.pass_on.send(request).is_ok() {
                    self.asked.ring();
                    return;
                }
                held_up()
            }
            Err(refused) => refused,
        };
        self.askers.answer(question.client, &text(&answer));
    }
}

fn text(answer: &Answer) -> String {
    serde_json::to_string(answer).expect("an answer has only string keys")
}

fn held_up() -> Answer {
    let reason = "the service is ending, or held up".to_owned();
    Answer::Error { reason, not_permitted: false }
}

/// What a line asks for, or the answer that refuses it.
fn read(line: &str, may_change: bool) -> Result<Action, Answer> {
    let refused = |reason: String, not_permitted| Answer::Error { reason, not_permitted };
    let question: Question = serde_json::from_str(line)
        .map_err(|error| refused(format!("that is no question: {error}"), false))?;
    if question.action != Action::Status && !may_change {
        let who = "only root and the group of the socket may change what the service does";
        return Err(refused(who.to_owned(), true));
    }
    Ok(question.action)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str, may_change: bool) -> (String, bool) {
        match read(line, may_change) {
            Err(Answer::Error { reason, not_permitted }) => (reason, not_permitted),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_may_not_change_may_still_look() {
        assert!(refused("{\"do\":\"pause\"}", false).1);
        assert!(refused("{\"do\":\"resume\"}", false).1);
        assert_eq!(read("{\"do\":\"status\"}", false).unwrap(), Action::Status);
        assert_eq!(read("{\"do\":\"pause\"}", true).unwrap(), Action::Pause);
    }

    #[test]
    fn nonsense_is_told_so() {
        for line in ["", "status", "{}", "{\"do\":\"stop\"}", "{\"do\":\"pause\",\"x\":1}"] {
            assert!(refused(line, true).0.starts_with("that is no question"), "{line}");
        }
    }
}
