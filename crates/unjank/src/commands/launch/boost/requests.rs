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
use unjank_host::control_socket::{Asker, ControlSocket};
use unjank_host::wait::Doorbell;
use unjank_launch::remedy::report::Status;

/// How long the service may take to tell its state.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait for a descriptor.
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

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct Request {
    /// What is asked for.
    pub(super) action: Action,
    /// Where the answer goes.
    pub(super) reply: Sender<Box<Status>>,
}

/// Listens to askers in a thread of its own, one after the other, for as long
/// as the process lives.
///
/// # Errors
/// No thread, or no file descriptor, is left.
pub(super) fn listen(socket: Arc<ControlSocket>) -> Result<(Receiver<Request>, Arc<Doorbell>)> {
    let (pass_on, requests) = channel();
    let bell = Arc::new(Doorbell::new()?);
    let rings = Arc::clone(&bell);
    thread::Builder::new()
        .name("askers".to_owned())
        .spawn(move || {
            loop {
                match socket.accept() {
                    Ok(asker) => serve(asker, &pass_on, &rings),
                    // No descriptor is left, for the moment: others need it more.
                    Err(_) => thread::sleep(AGAIN),
                }
            }
        })
        .context("while starting a thread")?;
    Ok((requests, bell))
}

fn serve(mut from: Asker, ask: &Sender<Request>, bell: &Doorbell) {
    // Who does not ask gets no answer.
    let Ok(line) = from.question() else { return };
    let answer = reply(&line, from.may_change(), |action| {
        let (reply, replied) = channel();
        ask.send(Request { action, reply }).ok()?;
        bell.ring();
        replied.recv_timeout(PATIENCE).ok()
    });
    let text = serde_json::to_string(&answer).expect("an answer has only string keys");
    let _gone_meanwhile = from.answer(&text);
}

/// The answer to a line, where `state` does what is asked for and tells the
/// state.
fn reply(
    line: &str,
    may_change: bool,
    state: impl FnOnce(Action) -> Option<Box<Status>>,
) -> Answer {
    let refused = |reason: String, not_permitted| Answer::Error { reason, not_permitted };
    let question: Question = match serde_json::from_str(line) {
        Ok(question) => question,
        Err(error) => return refused(format!("that is no question: {error}"), false),
    };
    if question.action != Action::Status && !may_change {
        let who = "only root and the group of the socket may change what the service does";
        return refused(who.to_owned(), true);
    }
    state(question.action).map_or_else(
        || refused("the service is ending, or held up".to_owned(), false),
        Answer::Status,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str, may_change: bool) -> (String, bool) {
        match reply(line, may_change, |_| None) {
            Answer::Error { reason, not_permitted } => (reason, not_permitted),
            Answer::Status(_) => panic!("there is no state"),
        }
    }

    #[test]
    fn who_may_not_change_may_still_look() {
        assert!(told("{\"do\":\"pause\"}", false).1);
        assert!(told("{\"do\":\"resume\"}", false).1);
        let reached = |line, may| !told(line, may).1 && told(line, may).0.contains("ending");
        assert!(reached("{\"do\":\"status\"}", false));
        assert!(reached("{\"do\":\"pause\"}", true));
    }

    #[test]
    fn nonsense_is_told_so() {
        for line in ["", "status", "{}", "{\"do\":\"stop\"}", "{\"do\":\"pause\",\"x\":1}"] {
            assert!(told(line, true).0.starts_with("that is no question"), "{line}");
        }
    }
}
