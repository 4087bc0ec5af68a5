//! Applies a condition: changes knobs, makes the program's control group and runs a service.

use std::sync::Arc;

use unjank_host::cgroup::memory::MemoryGroup;
use unjank_host::journal::{Knob, Session};
use unjank_host::{Bytes, Error, Nanos, Result, Root, Support};

use super::condition::{Condition, Service};
use super::options::{Options, Program};
use super::ready::{Patience, Ready};
use super::started::{Started, WaitResult};

/// A service that is not ready after this time hangs.
const HANGS: Nanos = Nanos::from_millis(600_000);
/// The longest time for a service to end. It may have knobs to put back.
const END_TIMEOUT: Nanos = Nanos::from_millis(60_000);

/// Exit codes of unjank's commands: not possible on this machine, not permitted.
const UNSUPPORTED: i32 = 3;
const PERMISSION: i32 = 4;

/// A condition that holds until this is dropped.
#[derive(Debug)]
pub(super) struct AppliedCondition {
    name: String,
    service: Option<Started>,
    group: Option<Arc<MemoryGroup>>,
    knobs: Vec<Knob>,
}

impl Condition {
    /// Applies it: knobs and the control group first, then the service.
    ///
    /// # Errors
    /// Knobs that cannot be changed; a service that does not start, or ends before
    /// it is ready, or hangs.
    pub(super) fn apply(
        &self,
        session: Option<&Session>,
        options: &Options,
        root: &Root,
        stop: &dyn Fn() -> bool,
    ) -> Result<AppliedCondition> {
        let (knobs, group) = match session {
            _ if !self.needs_session() => (Vec::new(), None),
            Some(session) => {
                let group = self.memory_low.map(|low| self.protect(low, session, root));
                (session.change_all(&self.knobs)?, group.transpose()?)
            }
            None => {
                let reason = format!("{}: no session to put everything back", self.name);
                return Err(Error::Invalid(reason));
            }
        };
        let service = match &self.service {
            Some(service) => Some(self.start(service, options, stop)?),
            None => None,
        };
        Ok(AppliedCondition { name: self.name.clone(), service, group, knobs })
    }

    /// A control group with so much protected memory.
    fn protect(&self, low: Bytes, session: &Session, root: &Root) -> Result<Arc<MemoryGroup>> {
        match MemoryGroup::protected(session, root, low)? {
            Support::Yes(group) => Ok(Arc::new(group)),
            Support::No(reason) => Err(Error::Unsupported(format!("{}: {reason}", self.name))),
        }
    }

    fn start(
        &self,
        service: &Service,
        options: &Options,
        stop: &dyn Fn() -> bool,
    ) -> Result<Started> {
        let ready = if service.notifies { Ready::Notify } else { Ready::AtOnce };
        let program = Program::new(service.command.clone(), ready);
        let program = Program { is_service: true, ..program };
        let patience = Patience { timeout: HANGS, again: false, stop };
        let mut started = Started::begin(&program, &options.means, &patience)?;
        let reason = match started.wait(HANGS, stop)? {
            WaitResult::Ready { .. } | WaitResult::Interrupted => return Ok(started),
            WaitResult::Ended => "ended".to_owned(),
            WaitResult::TimedOut => format!("was not ready within {HANGS}"),
        };
        let said = started.last_lines();
        let code = started.end(END_TIMEOUT).status.and_then(|status| status.code());
        let code = code.filter(|_| service.own);
        let error = said.strip_prefix("error: ").unwrap_or(&said);
        let why = format!("{}: {error}", self.name);
        Err(match (code, why.split_once(" needs ")) {
            (Some(UNSUPPORTED), _) => Error::Unsupported(why),
            (Some(PERMISSION), Some((what, needs))) => {
                Error::Permission { what: what.to_owned(), needs: needs.to_owned() }
            }
            (Some(PERMISSION), None) => {
                let what = format!("{} ({error})", self.name);
                Error::Permission { what, needs: "root".to_owned() }
            }
            _ => {
                let name = if service.own { "unjank".to_owned() } else { program.name() };
                let said = if said.is_empty() { said } else { format!("; it said: {said}") };
                Error::Invalid(format!("{}: {name} {reason}{said}", self.name))
            }
        })
    }
}

impl AppliedCondition {
    /// Whether the condition's name is `name`.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// The control group of programs that are launched under it.
    pub(super) fn group(&self) -> Option<Arc<MemoryGroup>> {
        self.group.clone()
    }

    /// Checks that the service, if any, still runs.
    ///
    /// # Errors
    /// `Invalid` if it has ended: the launches since then were not under the
    /// condition.
    pub(super) fn check(&self) -> Result<()> {
        match &self.service {
            Some(service) if !service.is_alive() => {
                let said = service.last_lines();
                let said = if said.is_empty() { said } else { format!("; it said: {said}") };
                Err(Error::Invalid(format!("{}: the service has ended{said}", self.name)))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for AppliedCondition {
    fn drop(&mut self) {
        // The service may read the knobs while it ends.
        if let Some(service) = self.service.take() {
            service.end(END_TIMEOUT);
        }
        self.knobs.clear();
    }
}
