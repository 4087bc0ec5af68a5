//! Requests over the control socket: one line of JSON each way.
//!
//! ```text
//! {"do":"status"}   → {"status":{…}}
//! {"do":"mark","process":"firefox"}
//! {"do":"pause"}    → {"status":{…}}, or {"error":{"reason":"…","not_permitted":true}}
//! ```

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use unjank_host::control_socket::{ClientId, Clients, ControlSocket, Question as Asked};
use unjank_host::wait::WakeEvent;

/// Pause before the next attempt when memory is short.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// A request of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    #[serde(rename = "do")]
    pub(crate) action: Action,
    /// The process that a mark is about, by its name or number; `None` for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) process: Option<String>,
}

impl Question {
    /// A request without more.
    pub(crate) fn of(action: Action) -> Self {
        Self { action, process: None }
    }
}

/// An action of the service on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    /// Sends its state.
    Status,
    /// Stops what it does, then sends its state.
    Pause,
    /// Continues, then sends its state.
    Resume,
    /// Explains what has just happened, then sends its state.
    Mark,
}

impl Action {
    /// Whether all users may ask for it.
    fn is_public(self) -> bool {
        matches!(self, Self::Status | Self::Mark)
    }
}

/// The actions of a service that has no others of its own.
pub(crate) const SERVICE: [Action; 3] = [Action::Status, Action::Pause, Action::Resume];

/// The answer of the service.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer<S> {
    /// The state after the action.
    Status(Box<S>),
    /// The action was not done.
    Error {
        /// The reason, in one sentence.
        reason: String,
        /// Whether the client lacks the permission.
        not_permitted: bool,
    },
}

/// A client and the state for it.
type Reply<S> = (ClientId, Box<S>);

/// A request that waits for its answer.
#[derive(Debug)]
pub(crate) struct Request<S> {
    pub(crate) question: Question,
    asker: ClientId,
    replies: Sender<Reply<S>>,
    wake: Arc<WakeEvent>,
}

impl<S> Request<S> {
    /// Sends the state.
    pub(crate) fn answer(self, status: Box<S>) {
        // The socket thread lives as long as the process.
        let _received = self.replies.send((self.asker, status));
        self.wake.send();
    }
}

/// Serves clients in a thread of its own for as long as the process lives. `offers` are the actions
/// of the service.
///
/// # Errors
/// The thread or a file descriptor cannot be made.
pub(crate) fn listen<S: Serialize + Send + 'static>(
    socket: Arc<ControlSocket>,
    offers: &[Action],
) -> Result<(Receiver<Request<S>>, Arc<WakeEvent>)> {
    let (pass_on, requests) = channel();
    let wake = Arc::new(WakeEvent::new()?);
    let clients = Clients::new(socket, text(&held_up::<S>()))?;
    let relay = Relay::new(clients, offers.to_vec(), pass_on, Arc::clone(&wake))?;
    thread::Builder::new()
        .name("clients".to_owned())
        .spawn(move || relay.serve())
        .context("while starting a thread")?;
    Ok((requests, wake))
}

/// Relays requests to the service, and its answers to the clients.
struct Relay<S> {
    clients: Clients,
    offers: Vec<Action>,
    pass_on: Sender<Request<S>>,
    /// Rung when there is a request.
    asked: Arc<WakeEvent>,
    replies: (Sender<Reply<S>>, Receiver<Reply<S>>),
    /// Rung when there is a reply.
    replied: Arc<WakeEvent>,
}

impl<S: Serialize> Relay<S> {
    fn new(
        clients: Clients,
        offers: Vec<Action>,
        pass_on: Sender<Request<S>>,
        asked: Arc<WakeEvent>,
    ) -> Result<Self> {
        let replied = Arc::new(WakeEvent::new()?);
        Ok(Self { clients, offers, pass_on, asked, replies: channel(), replied })
    }

    fn serve(mut self) {
        loop {
            match self.clients.questions(&self.replied) {
                Ok(questions) => questions.into_iter().for_each(|question| self.take(&question)),
                // Out of memory for the moment.
                Err(_) => thread::sleep(RETRY_AFTER),
            }
            self.replied.reset();
            while let Ok((asker, status)) = self.replies.1.try_recv() {
                self.clients.answer(asker, &text(&Answer::Status(status)));
            }
        }
    }

    /// Passes a request on, or answers at once if it is invalid or refused.
    fn take(&mut self, question: &Asked) {
        let answer: Answer<S> = match read::<S>(&question.line, question.may_change, &self.offers) {
            Ok(parsed) => {
                let request = Request {
                    question: parsed,
                    asker: question.client,
                    replies: self.replies.0.clone(),
                    wake: Arc::clone(&self.replied),
                };
                if self.pass_on.send(request).is_ok() {
                    self.asked.send();
                    return;
                }
                held_up()
            }
            Err(refused) => refused,
        };
        self.clients.answer(question.client, &text(&answer));
    }
}

fn text<S: Serialize>(answer: &Answer<S>) -> String {
    serde_json::to_string(answer).expect("an answer has only string keys")
}

fn held_up<S>() -> Answer<S> {
    let reason = "the service is ending or does not answer".to_owned();
    Answer::Error { reason, not_permitted: false }
}

/// Parses a request; the error is the answer that refuses it.
fn read<S>(line: &str, may_change: bool, offers: &[Action]) -> Result<Question, Answer<S>> {
    let refused = |reason: String, not_permitted| Answer::Error { reason, not_permitted };
    let question: Question = serde_json::from_str(line)
        .map_err(|error| refused(format!("invalid request: {error}"), false))?;
    if !offers.contains(&question.action) {
        return Err(refused("this service does not do that".to_owned(), false));
    }
    if question.process.is_some() && question.action != Action::Mark {
        return Err(refused("invalid request: only a mark is about a process".to_owned(), false));
    }
    if !question.action.is_public() && !may_change {
        let reason = "only root and the group of the socket may change what the service does";
        return Err(refused(reason.to_owned(), true));
    }
    Ok(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Action; 4] = [Action::Status, Action::Pause, Action::Resume, Action::Mark];

    fn refused(line: &str, may_change: bool) -> (String, bool) {
        match read::<()>(line, may_change, &ALL) {
            Err(Answer::Error { reason, not_permitted }) => (reason, not_permitted),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reading_the_state_needs_no_permission() {
        assert!(refused("{\"do\":\"pause\"}", false).1);
        assert!(refused("{\"do\":\"resume\"}", false).1);
        assert_eq!(
            read::<()>("{\"do\":\"status\"}", false, &ALL).unwrap(),
            Question::of(Action::Status)
        );
        assert_eq!(
            read::<()>("{\"do\":\"pause\"}", true, &ALL).unwrap(),
            Question::of(Action::Pause)
        );
    }

    #[test]
    fn a_mark_needs_no_permission_but_a_service_that_offers_it() {
        let mark = "{\"do\":\"mark\"}";
        assert_eq!(read::<()>(mark, false, &ALL).unwrap(), Question::of(Action::Mark));
        let about = read::<()>("{\"do\":\"mark\",\"process\":\"a b\"}", false, &ALL).unwrap();
        assert_eq!(about.process.as_deref(), Some("a b"));
        let refused = read::<()>(mark, true, &SERVICE).unwrap_err();
        assert!(matches!(refused, Answer::Error { not_permitted: false, .. }));
    }

    #[test]
    fn invalid_requests_are_refused() {
        for line in [
            "",
            "status",
            "{}",
            "{\"do\":\"stop\"}",
            "{\"do\":\"pause\",\"x\":1}",
            "{\"do\":\"status\",\"process\":\"a\"}",
        ] {
            assert!(refused(line, true).0.starts_with("invalid request"), "{line}");
        }
    }
}
