//! Knobs of one session that the kernel changes with another one of its knobs.

use std::path::Path;

use super::super::couplings::{Couplings, Effect};
use super::super::entry::Entry;
use super::super::knob_file::KnobFile;
use super::super::ledger::ChangeKind;
use super::SessionState;
use crate::error::Result;

impl SessionState {
    /// Writes to a held knob as [`write`](Self::write) does, and records what the
    /// held knobs read that change with it.
    pub(super) fn write_coupled(&mut self, seq: u64, value: &str) -> Result<String> {
        let changed = self.changed_with(seq);
        if changed.is_empty() {
            return self.write(seq, value);
        }
        self.note(&self.unsettled(&changed))?;
        let reading = self.write(seq, value);
        // A knob without a recorded reading is put back in any case.
        let _best_effort = self.note(&self.readings(&changed));
        reading
    }

    /// Puts back a knob without guards, and with it what was announced for it. If a
    /// knob that still has a guard changes it, it stays held until that one is put
    /// back, which would change it again.
    pub(super) fn put_back_coupled(&mut self, seq: u64) {
        let before = self.ledger.get(seq).map(|held| held.before.clone()).unwrap_or_default();
        if self.is_changed_by_a_guarded(seq, seq) {
            if self.has_our_value(seq) {
                let _the_other_guard_restores_it = self.write_coupled(seq, &before);
            }
            self.knobs.remove(&seq);
            return;
        }
        self.knobs.remove(&seq);
        let (stay, with): (Vec<_>, Vec<_>) =
            self.changed_with(seq).into_iter().partition(|&(changed, _)| {
                self.knobs.contains_key(&changed) || self.is_changed_by_a_guarded(changed, seq)
            });
        let _best_effort = self.note(&self.unsettled(&stay));
        let with: Vec<u64> = with.into_iter().map(|(seq, _)| seq).chain([seq]).collect();
        self.put_back(&with);
        let _best_effort = self.note(&self.readings(&stay));
    }

    /// The held knobs that the kernel changes when the held knob `seq` is written.
    pub(super) fn changed_with(&self, seq: u64) -> Vec<(u64, Effect)> {
        let Some(knob) = self.ledger.get(seq) else { return Vec::new() };
        self.changed_by(&Couplings::of(&knob.path, &knob.before))
    }

    /// The held knobs that the kernel changes by `couplings`.
    pub(super) fn changed_by(&self, couplings: &Couplings<'_>) -> Vec<(u64, Effect)> {
        if couplings.is_empty() {
            return Vec::new();
        }
        let files = self.ledger.held().iter().filter(|held| held.kind == ChangeKind::File);
        files
            .filter_map(|held| couplings.effect_on(&held.path).map(|effect| (held.seq, effect)))
            .collect()
    }

    /// The lines that say that the kernel is about to change these knobs.
    pub(super) fn unsettled(&self, changed: &[(u64, Effect)]) -> Vec<Entry> {
        let held = changed.iter().filter_map(|&(seq, _)| self.ledger.get(seq));
        held.filter(|held| held.settled)
            .map(|held| Entry::Set { seq: held.seq, value: held.during.clone() })
            .collect()
    }

    /// The lines that say what these knobs read after that. Files that have gone
    /// come back with values of the kernel that cannot be known now, so they are
    /// not settled.
    pub(super) fn readings(&self, changed: &[(u64, Effect)]) -> Vec<Entry> {
        let stays = changed.iter().filter(|(_, effect)| *effect == Effect::Changes);
        let held = stays.filter_map(|&(seq, _)| self.ledger.get(seq));
        held.filter_map(|held| {
            let file = KnobFile::open(&self.site, Path::new(&held.path)).ok()?;
            Some(Entry::Settled { seq: held.seq, value: Some(file.read().ok()?) })
        })
        .collect()
    }

    /// Whether a knob with a guard, other than `except`, changes the held knob `seq`.
    fn is_changed_by_a_guarded(&self, seq: u64, except: u64) -> bool {
        let mut others = self.knobs.keys().filter(|&&other| other != except);
        others.any(|&other| self.changed_with(other).iter().any(|&(changed, _)| changed == seq))
    }
}
