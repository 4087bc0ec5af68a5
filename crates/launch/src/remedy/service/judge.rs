//! From a program that begins to run to a boost.

use unjank_host::process::connector::EventKinds;
use unjank_host::{Timestamp, process::pid};

use super::Service;
use crate::remedy::report::Raised;
use crate::remedy::rules::{Candidate, Reason};

/// Android's programs are all this one; their name is their first argument.
const ZYGOTE: &str = "app_process";

impl Service {
    /// A process has begun to run a program. The cheap questions come first:
    /// most programs are started by others for themselves.
    pub(super) fn exec(&mut self, process: u32, at: Timestamp) {
        self.counts.execs += 1;
        if self.engine.begins_with(process) {
            return self.name(process);
        }
        if let Some(reason) = self.objection_to(process) {
            return self.pass_over(reason);
        }
        self.begin(process, at);
        self.name(process);
    }

    /// Why what `process` has begun to run is no launch.
    fn objection_to(&mut self, process: u32) -> Option<Reason> {
        if let Some(reason) = self.engine.objection(Timestamp::now()) {
            return Some(reason);
        }
        match pid::leads_group(process) {
            None => return Some(Reason::Gone),
            Some(false) if self.rules.leaders_only => return Some(Reason::Follower),
            Some(_) => {}
        }
        if self.engine.crowded(Timestamp::now()) {
            return Some(Reason::Crowd);
        }
        let control_group = self.groups.of(&self.root, process);
        let executable = if self.rules.ask_for_executable() {
            let Some(executable) = pid::executable(&self.root, process) else {
                return Some(Reason::Gone);
            };
            Some(executable)
        } else {
            None
        };
        self.rules.objection(&Candidate {
            executable: executable.as_deref(),
            control_group: &control_group,
            user: self.user(process),
        })
    }

    /// The system says that `program` is launched: no rule about groups and
    /// leaders applies, only that about programs.
    pub(super) fn announced(&mut self, process: u32, program: &str, at: Timestamp) {
        let objection = self.engine.objection(at).or_else(|| {
            let executable = Some(program.as_ref());
            let user = self.user(process);
            self.rules.objection(&Candidate { executable, control_group: "/", user })
        });
        if let Some(reason) = objection {
            return self.pass_over(reason);
        }
        self.begin(process, at);
        self.engine.name(process, program, Timestamp::now());
    }

    /// The user of a process, if any rule asks for it.
    fn user(&self, process: u32) -> u32 {
        let asked = !(self.rules.users.is_empty() && self.rules.not_users.is_empty());
        asked.then(|| pid::user(&self.root, process)).flatten().unwrap_or_default()
    }

    /// The program of a process: on Android, its package.
    pub(super) fn program(&self, process: u32) -> Option<String> {
        let executable = pid::executable(&self.root, process)?.to_string_lossy().into_owned();
        if !executable.contains(ZYGOTE) {
            return Some(executable);
        }
        let name = pid::command_line(&self.root, process)?.first()?.to_string_lossy().into_owned();
        Some(name)
    }

    /// Boosts a launch. Nothing but what decides about it comes before the
    /// knobs are written.
    fn begin(&mut self, process: u32, at: Timestamp) {
        let known = self.engine.begins_with(process);
        if self.engine.begin(process, at, Timestamp::now()) {
            let outcome = self.knobs.boost();
            let written = Timestamp::now();
            self.counts.boosts += 1;
            if outcome.written > 0 {
                let raised = Raised { after: written.since(at), knobs: outcome.written };
                self.latency.saturating_record(raised.after.get());
                self.raised.insert(process, raised);
            }
            self.tap_at = self.knobs.want_again().then(|| written + self.second_tap);
            self.tell_lost(outcome);
            self.hear_family(process);
        }
        self.counts.launches += u64::from(!known);
    }

    /// Finds out which program a launch is of.
    fn name(&mut self, process: u32) {
        if let Some(executable) = pid::executable(&self.root, process) {
            self.engine.name(process, &executable.to_string_lossy(), Timestamp::now());
        }
    }

    /// Follows what `process` starts, from now on and what it has started
    /// already.
    fn hear_family(&mut self, process: u32) {
        self.quiet_at = None;
        if !self.hears_family
            && let Some(events) = &self.sources.family
        {
            // If it fails, a launch is over with its first process.
            self.hears_family = events.ask(EventKinds::FAMILY).is_ok();
        }
        for child in pid::children(&self.root, process) {
            self.engine.forked(process, child);
        }
    }
}
