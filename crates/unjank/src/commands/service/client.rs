//! Asks a service: `status`, `pause` and `resume`.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use unjank_host::{Error, control_socket};

use super::requests::{Action, Answer, Question};
use crate::{exit, output};

/// Longest wait for the service's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A service with a control socket, as its clients know it.
pub(crate) trait Service: Debug + Send + Sync + 'static {
    /// Its state.
    type Status: Serialize + DeserializeOwned;

    /// The command that runs it: `unjank launch boost`.
    const COMMAND: &'static str;
    /// The name of its unit, without the suffix.
    const UNIT: &'static str;
    /// Where it listens by default.
    const SOCKET: &'static str;
    /// What a pause means: `nothing is boosted`.
    const PAUSED: &'static str;
    /// What the end of a pause means: `launches are boosted again`.
    const RESUMED: &'static str;

    /// The number of its process.
    fn process(status: &Self::Status) -> u32;

    /// Its state for people.
    fn text(status: &Self::Status) -> String;
}

/// Arguments of `pause` and `resume`.
#[derive(Debug, clap::Args)]
pub(crate) struct SocketArgs<S: Service> {
    /// Where the service listens
    #[arg(long, value_name = "PATH", default_value = S::SOCKET)]
    socket: PathBuf,
    #[arg(skip)]
    service: PhantomData<S>,
}

/// Arguments of `status`.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs<S: Service> {
    /// Print the state as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    socket: SocketArgs<S>,
}

impl<S: Service> SocketArgs<S> {
    /// Asks the service for an action, and returns its state after that.
    pub(crate) fn ask(&self, action: Action) -> Result<S::Status> {
        self.ask_question(&Question::of(action))
    }

    /// As `ask`, with all that a question has.
    pub(crate) fn ask_question(&self, question: &Question) -> Result<S::Status> {
        ask::<S>(&self.socket, question)
    }

    /// Asks the service to pause.
    pub(crate) fn pause(&self) -> Result<ExitCode> {
        self.ask(Action::Pause)?;
        output::remark(&format!("paused: {} until {} resume", S::PAUSED, S::COMMAND));
        Ok(ExitCode::from(exit::FINE))
    }

    /// Asks the service to resume.
    pub(crate) fn resume(&self) -> Result<ExitCode> {
        self.ask(Action::Resume)?;
        output::remark(&format!("resumed: {}", S::RESUMED));
        Ok(ExitCode::from(exit::FINE))
    }
}

impl<S: Service> StatusArgs<S> {
    /// Prints the state.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let status = self.socket.ask(Action::Status)?;
        let text = if self.json { output::json(&status)? } else { S::text(&status) };
        output::print(&text)?;
        Ok(ExitCode::from(exit::FINE))
    }
}

/// Refuses to install a service that somebody runs already.
///
/// # Errors
/// `Invalid`: it answers at its default socket.
pub(crate) fn check_that_none_runs<S: Service>() -> Result<()> {
    let Ok(running) = ask::<S>(Path::new(S::SOCKET), &Question::of(Action::Status)) else {
        return Ok(());
    };
    Err(Error::Invalid(format!(
        "{} runs already (process {}): stop it first, as with systemctl stop {}",
        S::COMMAND,
        S::process(&running),
        S::UNIT
    ))
    .into())
}

fn ask<S: Service>(socket: &Path, question: &Question) -> Result<S::Status> {
    let question = serde_json::to_string(question)?;
    let line =
        control_socket::ask(socket, &question, ANSWER_TIMEOUT).map_err(|error| match error {
            Error::Unsupported(reason) => {
                Error::Unsupported(format!("{reason}; sudo {} starts one", S::COMMAND))
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
