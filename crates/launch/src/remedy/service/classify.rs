//! Decides whether a program that begins to run is a launch, and boosts it.

use unjank_host::process::connector::EventKinds;
use unjank_host::{Timestamp, process::pid};

use super::Service;
use crate::remedy::report::Raised;
use crate::remedy::rules::{Candidate, Rejection};

/// The executable of all Android apps; their name is their first argument.
const ZYGOTE: &str = "app_process";

impl Service {
    /// Handles an exec event. The cheap checks come first: most programs are
    /// started by other programs for their own use.
    pub(super) fn exec(&mut self, process: u32, at: Timestamp) {
        self.counts.execs += 1;
        if self.engine.begins_with(process) {
            return self.name(process);
        }
        if let Some(reason) = self.rejection_of(process) {
            return self.count_rejection(reason);
        }
        self.begin(process, at);
        self.name(process);
    }

    /// Why the program of `process` is not boosted.
    fn rejection_of(&mut self, process: u32) -> Option<Rejection> {
        if let Some(reason) = self.engine.rejection(Timestamp::now()) {
            return Some(reason);
        }
        match pid::leads_group(process) {
            None => return Some(Rejection::Gone),
            Some(false) if self.rules.leaders_only => return Some(Rejection::Follower),
            Some(_) => {}
        }
        if self.engine.too_many_starts(Timestamp::now()) {
            return Some(Rejection::Crowd);
        }
        let control_group = self.groups.of(&self.root, process);
        let executable = if self.rules.need_executable() {
            let Some(executable) = pid::executable(&self.root, process) else {
                return Some(Rejection::Gone);
            };
            Some(executable)
        } else {
            None
        };
        self.rules.rejection(&Candidate {
            executable: executable.as_deref(),
            control_group: &control_group,
            user: self.user(process),
        })
    }

    /// Handles a launch that Android reports: the rules about control groups and
    /// leaders do not apply.
    pub(super) fn announced(&mut self, process: u32, program: &str, at: Timestamp) {
        let rejection = self.engine.rejection(at).or_else(|| {
            let executable = Some(program.as_ref());
            let user = self.user(process);
            self.rules.rejection(&Candidate { executable, control_group: "/", user })
        });
        if let Some(reason) = rejection {
            return self.count_rejection(reason);
        }
        self.begin(process, at);
        self.engine.name(process, program, Timestamp::now());
    }

    /// The user of a process, if a rule needs it.
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

    /// Boosts a launch. Before the knobs are written, it does only what the
    /// decision needs.
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
            self.note_lost(outcome);
            self.follow_family(process);
        }
        self.counts.launches += u64::from(!known);
    }

    /// Looks up the program of a launch.
    fn name(&mut self, process: u32) {
        if let Some(executable) = pid::executable(&self.root, process) {
            self.engine.name(process, &executable.to_string_lossy(), Timestamp::now());
        }
    }

    /// Follows the children of `process`, future and present.
    fn follow_family(&mut self, process: u32) {
        self.quiet_at = None;
        if !self.receives_family
            && let Some(events) = &self.sources.family
        {
            // If it fails, a launch ends with its first process.
            self.receives_family = events.ask(EventKinds::FAMILY).is_ok();
        }
        for child in pid::children(&self.root, process) {
            self.engine.forked(process, child);
        }
    }
}
