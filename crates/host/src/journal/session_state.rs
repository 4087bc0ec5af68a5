//! The changes that a session holds, and each step of making them and putting
//! them back. The order of the steps makes a kill at any moment harmless:
//! announce → write → read back → note, and at the end write → note.

mod coupled;
mod take;

use std::collections::BTreeMap;

use super::entry::Entry;
use super::file::JournalFile;
use super::knob_file::{KnobFile, classified, refusal};
use super::ledger::{Held, Ledger};
use super::report::ChangeReport;
use super::rule::CurrentState;
use super::site::Site;
use super::state_dir::StateDir;
use super::undo::{Mode, look, put_back_all};
use crate::error::{Error, Result};
use crate::keeper::Keeper;
use crate::root::Root;

/// The state of one session, until it has ended.
#[derive(Debug)]
pub(super) struct SessionState {
    site: Site,
    state: StateDir,
    /// `None` once the session has ended.
    live: Option<Live>,
    ledger: Ledger,
    knobs: BTreeMap<u64, HeldKnob>,
    last_layer: u64,
    reports: Vec<ChangeReport>,
}

/// The journal and keeper of a live session. They are dropped in this order:
/// the journal is unlocked, then the keeper notices and ends.
#[derive(Debug)]
struct Live {
    journal: JournalFile,
    keeper: Keeper,
}

/// A knob and the guards that hold it, newest last.
#[derive(Debug)]
struct HeldKnob {
    file: KnobFile,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    id: u64,
    value: String,
}

impl SessionState {
    pub(super) fn new(site: Site, state: StateDir, journal: JournalFile, keeper: Keeper) -> Self {
        Self {
            site,
            state,
            live: Some(Live { journal, keeper }),
            ledger: Ledger::default(),
            knobs: BTreeMap::new(),
            last_layer: 0,
            reports: Vec::new(),
        }
    }

    /// The machine.
    pub(super) fn root(&self) -> &Root {
        self.site.root()
    }

    /// Leaves all changes as they are.
    pub(super) fn keep(&mut self, by: &str) -> Result<()> {
        self.running()?.journal.announce(&[Entry::Kept { by: by.to_owned() }])?;
        self.knobs.clear();
        self.live = None;
        Ok(())
    }

    /// The last value that a guard gave its knob.
    pub(super) fn value(&self, seq: u64, layer: u64) -> String {
        let layers = self.knobs.get(&seq).into_iter().flat_map(|knob| &knob.layers);
        layers.filter(|each| each.id == layer).map(|each| each.value.clone()).collect()
    }

    /// Gives a held knob another value.
    pub(super) fn set(&mut self, seq: u64, layer: u64, value: &str) -> Result<()> {
        self.running()?;
        let Some(knob) = self.knobs.get_mut(&seq) else { return Err(ended()) };
        knob.file.check_value(value)?;
        knob.file.stay_open();
        let in_force = knob.layers.last().is_some_and(|top| top.id == layer);
        let reading = if in_force { self.write_coupled(seq, value)? } else { value.to_owned() };
        let layers = self.knobs.get_mut(&seq).into_iter().flat_map(|knob| &mut knob.layers);
        layers.filter(|each| each.id == layer).for_each(|each| each.value.clone_from(&reading));
        Ok(())
    }

    /// Whether a knob reads the last value that it was given.
    pub(super) fn is_as_left(&self, seq: u64) -> bool {
        let Some((knob, held)) = self.knobs.get(&seq).zip(self.ledger.get(seq)) else {
            return false;
        };
        let Ok(reads) = knob.file.read() else { return false };
        // A knob that lags may still read an earlier value.
        knob.layers.last().is_some_and(|layer| layer.value == reads)
            || knob.file.lags() && (held.ours.contains(&reads) || held.before == reads)
    }

    /// Handles the drop of a knob's guard.
    pub(super) fn release(&mut self, seq: u64, layer: u64) {
        if self.live.is_none() {
            return;
        }
        let Some(knob) = self.knobs.get_mut(&seq) else { return };
        let was_in_force = knob.layers.last().is_some_and(|top| top.id == layer);
        knob.layers.retain(|each| each.id != layer);
        let below = knob.layers.last().map(|top| top.value.clone());
        match below {
            None => self.put_back_coupled(seq),
            Some(value) if was_in_force && self.has_our_value(seq) => {
                // If the kernel refuses it now, the drop of the last guard still
                // finds one of our values and puts the first value back.
                let _the_last_guard_restores_it = self.write_coupled(seq, &value);
            }
            Some(_) => {}
        }
    }

    /// Handles the drop of the guard of a directory, a swap area or a zram device.
    pub(super) fn remove(&mut self, seq: u64) {
        if self.live.is_some() {
            self.put_back(&[seq]);
        }
    }

    /// Puts everything back, removes the journal, and returns the results of all
    /// changes. A second call does nothing and returns nothing.
    pub(super) fn end(&mut self) -> Vec<ChangeReport> {
        if self.live.is_some() {
            let held: Vec<u64> = self.ledger.held().iter().map(|held| held.seq).collect();
            self.knobs.clear();
            let failed = self.put_back(&held);
            if let Some(live) = self.live.take()
                && failed.is_empty()
            {
                // A journal without open changes is harmless: the next session
                // removes it.
                let _cleared = self.state.remove_journal(live.journal.name());
            }
            self.reports.extend(failed);
        }
        std::mem::take(&mut self.reports)
    }

    /// Writes to a held knob, and announces the value before if it is new.
    /// Returns the value read back.
    fn write(&mut self, seq: u64, value: &str) -> Result<String> {
        let Some(held) = self.ledger.get(seq) else { return Err(ended()) };
        let former = held.during.clone();
        if !held.settled || !held.ours.contains(value) {
            let entry = Entry::Set { seq, value: value.to_owned() };
            self.running()?.journal.announce_again(&entry)?;
            self.apply(&[entry]);
        }
        let Some(knob) = self.knobs.get(&seq) else { return Err(ended()) };
        let written = knob.file.write(value);
        // A value that was in force before takes effect again, so there is no
        // need to wait for a knob that lags.
        let is_known = self.ledger.get(seq).is_some_and(|held| held.settled);
        let reading = if is_known && knob.file.lags() {
            Ok(value.to_owned())
        } else {
            knob.file.read_after(value).map_err(classified)
        };
        if let Err(source) = written {
            let error = refusal(knob.file.path(), value, source);
            self.settle_refused(seq, reading.ok().as_deref());
            return Err(error);
        }
        let reading = reading?;
        let known =
            self.ledger.get(seq).is_some_and(|held| held.settled && held.ours.contains(&reading));
        if known {
            self.ledger.note_value(seq, &reading);
        } else if let Err(error) =
            self.note(&[Entry::Settled { seq, value: Some(reading.clone()) }])
        {
            // A value that is not in the journal would be taken for another
            // program's, and never be put back.
            let _unsettled_anyway = self.knobs.get(&seq).map(|knob| knob.file.write(&former));
            return Err(error);
        }
        Ok(reading)
    }

    /// Records that the kernel refused an announced value. If the knob has kept
    /// its value, the change is settled; otherwise it stays unsettled.
    fn settle_refused(&mut self, seq: u64, reading: Option<&str>) {
        let (Some(held), Some(reading)) = (self.ledger.get(seq), reading) else { return };
        if !held.settled && (held.ours.contains(reading) || held.before == reading) {
            let value = held.ours.contains(reading).then(|| reading.to_owned());
            let _stays_unsettled = self.note(&[Entry::Settled { seq, value }]);
            self.ledger.note_value(seq, reading);
        }
    }

    fn has_our_value(&self, seq: u64) -> bool {
        self.ledger.get(seq).is_some_and(
            |held| matches!(look(&self.site, held), CurrentState::Reads(now) if held.ours.contains(&now)),
        )
    }

    /// Puts back the changes with these numbers. Adds the results to the
    /// reports; returns the failures, which are still held.
    fn put_back(&mut self, seqs: &[u64]) -> Vec<ChangeReport> {
        let held = self.ledger.held().iter().filter(|held| seqs.contains(&held.seq));
        let held: Vec<Held> = held.cloned().collect();
        let live = &mut self.live;
        let ledger = &mut self.ledger;
        let reports = put_back_all(&self.site, &held, Mode::Act, |progress, held| {
            let entry = [progress.entry(held)];
            // If this cannot be written, the next reader finds it already back.
            let _best_effort = live.as_mut().map(|live| live.journal.note(&entry));
            ledger.apply(&entry[0]).expect("it is held");
        });
        let (failed, ended): (Vec<_>, Vec<_>) =
            reports.into_iter().partition(|report| report.outcome.is_failure());
        self.reports.extend(ended);
        failed
    }

    /// Gives up changes that were announced and never made.
    fn forget(&mut self, seqs: &[u64]) {
        let entries: Vec<Entry> = seqs.iter().map(|&seq| Entry::Restored { seq }).collect();
        let _best_effort = self.note(&entries);
        self.apply(&entries);
    }

    /// Writes entries to the journal and applies them.
    fn note(&mut self, entries: &[Entry]) -> Result<()> {
        self.running()?.journal.note(entries)?;
        self.apply(entries);
        Ok(())
    }

    fn apply(&mut self, entries: &[Entry]) {
        for entry in entries {
            // An entry about a change that is no longer held was applied before.
            let _applied_before = self.ledger.apply(entry);
        }
    }

    fn running(&mut self) -> Result<&mut Live> {
        self.live.as_mut().ok_or_else(ended)
    }
}

fn ended() -> Error {
    Error::Invalid("the session has ended".to_owned())
}
