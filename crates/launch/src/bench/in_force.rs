//! A condition in force: knobs that are changed, a service that runs.

use unjank_host::journal::{Knob, Session};
use unjank_host::{Error, Nanos, Result};

use super::condition::{Condition, Service};
use super::options::{Options, Program};
use super::ready::Ready;
use super::started::{Came, Started};

/// How long a service may take to be ready, and to end.
const PATIENCE: Nanos = Nanos::from_millis(10_000);

/// Exit codes of unjank's commands: not possible on this machine, and not
/// possible for this user.
const UNSUPPORTED: i32 = 3;
const PERMISSION: i32 = 4;

/// A condition that holds until this is dropped or ended.
#[derive(Debug)]
pub(super) struct InForce {
    name: String,
    service: Option<Started>,
    knobs: Vec<Knob>,
}

impl Condition {
    /// Puts it in force: knobs first, then the service.
    ///
    /// # Errors
    /// Knobs that cannot be changed; a service that does not start, or is not
    /// ready within 10 s.
    pub(super) fn put_in_force(
        &self,
        session: Option<&Session>,
        options: &Options,
        stop: &dyn Fn() -> bool,
    ) -> Result<InForce> {
        let knobs = match session {
            _ if self.knobs.is_empty() => Vec::new(),
            Some(session) => session.change_all(&self.knobs)?,
            None => {
                let reason = format!("{}: nobody would put the knobs back", self.name);
                return Err(Error::Invalid(reason));
            }
        };
        let service = match &self.service {
            Some(service) => Some(self.start(service, options, stop)?),
            None => None,
        };
        Ok(InForce { name: self.name.clone(), service, knobs })
    }

    fn start(
        &self,
        service: &Service,
        options: &Options,
        stop: &dyn Fn() -> bool,
    ) -> Result<Started> {
        let ready = if service.notifies { Ready::Notify } else { Ready::AtOnce };
        let program = Program { command: service.command.clone(), ready };
        let mut started = Started::begin(&program, options)?;
        let reason = match started.wait(PATIENCE, stop)? {
            Came::Ready { .. } | Came::Interrupted => return Ok(started),
            Came::Ended => "ended".to_owned(),
            Came::TimedOut => format!("was not ready within {PATIENCE}"),
        };
        let said = started.last_words();
        let code = started.end(PATIENCE).and_then(|status| status.code());
        let code = code.filter(|_| service.own);
        let why = format!("{}: {}", self.name, said.strip_prefix("error: ").unwrap_or(&said));
        Err(match (code, why.split_once(" needs ")) {
            (Some(UNSUPPORTED), _) => Error::Unsupported(why),
            (Some(PERMISSION), Some((what, needs))) => {
                Error::Permission { what: what.to_owned(), needs: needs.to_owned() }
            }
            _ => {
                let said = if said.is_empty() { said } else { format!("; it said: {said}") };
                Error::Invalid(format!("{}: {} {reason}{said}", self.name, program.name()))
            }
        })
    }
}

impl InForce {
    /// Whether this is the condition called `name`.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// Whether the service is still there, if there is one.
    ///
    /// # Errors
    /// `Invalid` if it has ended: what was launched meanwhile was launched
    /// under no condition at all.
    pub(super) fn check(&self) -> Result<()> {
        match &self.service {
            Some(service) if !service.is_alive() => {
                let said = service.last_words();
                let said = if said.is_empty() { said } else { format!("; it said: {said}") };
                Err(Error::Invalid(format!("{}: the service has ended{said}", self.name)))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for InForce {
    fn drop(&mut self) {
        // The service may look at the knobs while it ends.
        if let Some(service) = self.service.take() {
            service.end(PATIENCE);
        }
        self.knobs.clear();
    }
}
