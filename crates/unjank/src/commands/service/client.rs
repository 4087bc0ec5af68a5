//! Asks a service.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;
use unjank_host::{Error, control_socket};

use super::requests::{Action, Answer, Question};

/// Longest wait for the service's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Asks the service at a socket for an action, and returns its state after that. `start` is the
/// command that starts one.
pub(crate) fn ask<S: DeserializeOwned>(socket: &Path, action: Action, start: &str) -> Result<S> {
    let question = serde_json::to_string(&Question { action })?;
    let line =
        control_socket::ask(socket, &question, ANSWER_TIMEOUT).map_err(|error| match error {
            Error::Unsupported(reason) => {
                Error::Unsupported(format!("{reason}; {start} starts one"))
            }
            other => other,
        })?;
    match serde_json::from_str(&line).context("while reading the service's answer")? {
        Answer::Status(status) => Ok(*status),
        Answer::Error { reason, not_permitted: true } => Err(Error::Permission {
            what: reason,
            needs: "root, or the group of the socket".to_owned(),
        }
        .into()),
        Answer::Error { reason, .. } => Err(anyhow::anyhow!(reason)),
    }
}
