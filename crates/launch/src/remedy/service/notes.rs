//! The service's state, and its notes about launches and knobs.

use unjank_host::{Bytes, Timestamp, process::pid};

use super::Service;
use crate::remedy::engine::{EndedBoost, PauseReason};
use crate::remedy::knobs::WriteOutcome;
use crate::remedy::log_limit::LogDecision;
use crate::remedy::report::{Boosted, Latency, Note, Status};
use crate::remedy::rules::Rejection;

/// The schema of the state.
const SCHEMA: &str = "unjank.boost/1";

impl Service {
    pub(super) fn status(&mut self, now: Timestamp) -> Status {
        let me = std::process::id();
        let sources = [
            ("exec", self.sources.exec.is_some()),
            ("top-app", self.sources.foreground.is_some()),
            ("logcat", self.sources.log.is_some()),
        ];
        let sources = sources.into_iter().filter(|(_, there)| *there);
        let boosted_for = self.engine.boosted_since().map(|since| now.since(since));
        let mut counts = self.counts.clone();
        counts.boosted = counts.boosted + boosted_for.unwrap_or_default();
        Status {
            schema: SCHEMA.to_owned(),
            process: me,
            up: now.since(self.begun),
            paused: self.engine.is_paused(PauseReason::Request),
            power_saver: self.engine.is_paused(PauseReason::PowerSaver),
            moves: self.knobs.moves(),
            sources: sources.map(|(name, _)| name.to_owned()).collect(),
            boosted_for,
            launches: self
                .engine
                .launches()
                .map(|(process, program)| (process, program.to_owned()))
                .collect(),
            budget_left: self.engine.budget_left(now),
            learned: self.engine.learned().len(),
            counts,
            latency: Latency::of(&self.latency),
            cpu_time: pid::cpu_time(me).unwrap_or_default(),
            resident: pid::resident(&self.root, me).map_or(0, Bytes::get),
        }
    }

    pub(super) fn count_rejection(&mut self, reason: Rejection) {
        *self.counts.not.entry(reason).or_default() += 1;
    }

    pub(super) fn note_ended(&mut self, over: Vec<EndedBoost>, now: Timestamp) {
        for over in over {
            let raised = self.raised.remove(&over.process);
            let budget_left = self.engine.budget_left(now);
            match self.log_limit.decide(now) {
                LogDecision::Drop => continue,
                LogDecision::Log => {}
                LogDecision::LogAfterDropped(n) => self.note(Note::NotLogged(n)),
            }
            self.note(Note::Ended(Boosted { over, raised, budget_left }));
        }
    }

    pub(super) fn note_lost(&mut self, outcome: WriteOutcome) {
        for (knob, reason) in outcome.lost {
            self.counts.knobs_lost += 1;
            self.note(Note::Lost { knob, reason });
        }
    }

    pub(super) fn note(&self, note: Note) {
        // Fails only if the receiver is ending.
        let _nobody_there = self.notes.send(note);
        self.has_notes.send();
    }
}
