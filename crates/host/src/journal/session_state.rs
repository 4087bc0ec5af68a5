//! The changes that a session holds, and each step of making them and putting
//! them back. The order of the steps makes a kill at any moment harmless:
//! announce → write → read back → note, and at the end write → note.

use std::collections::BTreeMap;
use std::path::Path;

use super::dependants;
use super::directory::DirectoryPlace;
use super::entry::{Change, Entry};
use super::file::JournalFile;
use super::knob_file::{KnobFile, classified, refusal};
use super::ledger::{Held, Ledger};
use super::pending_change::PendingChange;
use super::report::ChangeReport;
use super::rule::CurrentState;
use super::site::Site;
use super::stale::free_paths;
use super::state_dir::StateDir;
use super::swap_place::SwapPlace;
use super::taken::{ActiveSwapArea, AddedZram, MadeDirectory, TakenKnob};
use super::undo::{Mode, look, put_back_all};
use super::zram_place::ZramPlace;
use crate::error::{Error, Result};
use crate::keeper::Keeper;
use crate::root::Root;
use crate::zram_device;
use unjank_units::Bytes;

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
    /// Numbers of the knobs that the kernel resets with it, which are put back with it.
    dependants: Vec<u64>,
}

/// A knob that is about to be changed.
#[derive(Debug)]
struct Wanted<'a> {
    file: KnobFile,
    value: &'a str,
    /// Files that may disappear with the change, and their values.
    dependants: Vec<(String, String)>,
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

    /// Changes all of `wanted`, or nothing.
    pub(super) fn take_knobs(&mut self, wanted: &[(&Path, &str)]) -> Result<Vec<TakenKnob>> {
        let mut knobs: Vec<Wanted<'_>> = Vec::new();
        for &(path, value) in wanted {
            let file = KnobFile::open(&self.site, path).map_err(classified)?;
            file.check_both_ways()?;
            file.check_value(value)?;
            // Two paths can lead to one file: CPUs that share a clock.
            match knobs.iter().find(|other| other.file.path() == file.path()) {
                None => knobs.push(Wanted { file, value, dependants: Vec::new() }),
                Some(same) if same.value == value => {}
                Some(_) => {
                    let path = file.path();
                    return Err(Error::Invalid(format!("{path} is given two values")));
                }
            }
        }
        let mut paths: Vec<String> =
            knobs.iter().map(|wanted| wanted.file.path().to_owned()).collect();
        let batch = paths.clone();
        for wanted in &mut knobs {
            let Wanted { file, value, .. } = wanted;
            let before = file.read().map_err(classified)?;
            wanted.dependants = dependants::of(&self.site, file, &before, value, &batch);
            // Held knobs are put back anyway.
            wanted
                .dependants
                .retain(|(path, _)| !paths.contains(path) && self.ledger.at(path).is_none());
            paths.extend(wanted.dependants.iter().map(|(path, _)| path.clone()));
        }
        let steps = self.announce(&paths, |holding| holding.plan(knobs))?;
        let mut readings = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            match step.attempt() {
                Ok(reading) => {
                    let value = Some(reading);
                    readings.push(Entry::Settled { seq: step.seq, value });
                }
                Err(error) => {
                    self.roll_back(&steps, index + 1);
                    return Err(error);
                }
            }
        }
        if let Err(error) = self.note(&readings) {
            self.roll_back(&steps, steps.len());
            return Err(error);
        }
        Ok(steps.into_iter().map(|step| self.hold(step)).collect())
    }

    /// Makes a directory.
    pub(super) fn take_directory(&mut self, path: &Path) -> Result<MadeDirectory> {
        let place = DirectoryPlace::open(&self.site, path).map_err(classified)?;
        let paths = [place.path().to_owned()];
        let (seq, place) = self.announce(&paths, |holding| {
            if place.look()? != CurrentState::Missing {
                return Err(Error::Busy(format!("{} already exists", place.path())));
            }
            let seq = holding.ledger.next_seq();
            let path = place.path().to_owned();
            Ok(((seq, place), vec![Entry::Intent { seq, path, change: Change::Directory }]))
        })?;
        if let Err(error) = place.make() {
            self.forget(&[seq]);
            return Err(error);
        }
        if let Err(error) = self.note(&[Entry::Settled { seq, value: None }]) {
            self.put_back(&[seq]);
            return Err(error);
        }
        Ok(MadeDirectory { seq, place })
    }

    /// Turns a swap area on.
    pub(super) fn take_swap_area(&mut self, path: &Path) -> Result<ActiveSwapArea> {
        let place = SwapPlace::open(&self.site, path)?;
        let paths = [place.path().to_owned()];
        let seq = self.announce(&paths, |holding| {
            if place.look()? != CurrentState::Missing {
                return Err(Error::Busy(format!("{} is already in use as swap", place.path())));
            }
            let seq = holding.ledger.next_seq();
            let path = place.path().to_owned();
            Ok((seq, vec![Entry::Intent { seq, path, change: Change::SwapArea }]))
        })?;
        if let Err(error) = place.turn_on() {
            self.forget(&[seq]);
            return Err(error);
        }
        if let Err(error) = self.note(&[Entry::Settled { seq, value: None }]) {
            self.put_back(&[seq]);
            return Err(error);
        }
        Ok(ActiveSwapArea { seq, path: place.path().to_owned() })
    }

    /// Sets up a zram device that was added just now, or removes it again.
    pub(super) fn take_zram(
        &mut self,
        number: u32,
        algorithm: &str,
        size: Bytes,
        backing: Option<&Path>,
    ) -> Result<AddedZram> {
        let place = ZramPlace::numbered(&self.site, number);
        let paths = [place.path().to_owned()];
        let announced = self.announce(&paths, |holding| {
            let seq = holding.ledger.next_seq();
            let path = place.path().to_owned();
            Ok((seq, vec![Entry::Intent { seq, path, change: Change::Zram }]))
        });
        let seq = match announced {
            Ok(seq) => seq,
            Err(error) => {
                // It holds nothing yet.
                let _the_error_is_reported = zram_device::remove(self.site.root(), number);
                return Err(error);
            }
        };
        let set_up = place.set_up(algorithm, size, backing);
        match set_up.and_then(|()| self.note(&[Entry::Settled { seq, value: None }])) {
            Ok(()) => Ok(AddedZram { seq, number }),
            Err(error) => {
                self.put_back(&[seq]);
                Err(error)
            }
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
        let reading = if in_force { self.write(seq, value)? } else { value.to_owned() };
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
            None => {
                let mut seqs =
                    self.knobs.remove(&seq).map(|knob| knob.dependants).unwrap_or_default();
                seqs.push(seq);
                self.put_back(&seqs);
            }
            Some(value) if was_in_force && self.has_our_value(seq) => {
                // If the kernel refuses it now, the drop of the last guard still
                // finds one of our values and puts the first value back.
                let _the_last_guard_restores_it = self.write(seq, &value);
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

    /// Under the lock of the state directory: makes sure that `paths` are free,
    /// lets `plan` decide what to announce, and announces it.
    fn announce<T>(
        &mut self,
        paths: &[String],
        plan: impl FnOnce(&mut Self) -> Result<(T, Vec<Entry>)>,
    ) -> Result<T> {
        let live = self.running()?;
        live.keeper.ensure()?;
        let own = live.journal.name().to_owned();
        let _lock = self.state.lock()?;
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        free_paths(&self.site, &self.state, &own, &paths)?;
        let (planned, entries) = plan(self)?;
        self.running()?.journal.announce(&entries)?;
        self.apply(&entries);
        Ok(planned)
    }

    fn plan<'a>(&mut self, knobs: Vec<Wanted<'a>>) -> Result<(Vec<PendingChange<'a>>, Vec<Entry>)> {
        let mut steps = Vec::new();
        let mut entries = Vec::new();
        let mut next = self.ledger.next_seq();
        let mut announce = |path: String, before: String, wanted: String| {
            let seq = next;
            next = next.saturating_add(1);
            let change = Change::File { before, wanted };
            (seq, Entry::Intent { seq, path, change })
        };
        for Wanted { file, value, dependants } in knobs {
            let wanted = value.to_owned();
            let held = self.ledger.at(file.path()).map(|held| (held.seq, held.during.clone()));
            let (seq, before, nested) = if let Some((seq, before)) = held {
                entries.push(Entry::Set { seq, value: wanted.clone() });
                (seq, before, true)
            } else {
                let before = file.read().map_err(classified)?;
                (0, before, false)
            };
            let mut step =
                PendingChange { seq, file, value, before, nested, dependants: Vec::new() };
            if !nested {
                // Announced before the knob itself, so put back after it.
                for (path, reads) in dependants {
                    let (seq, entry) = announce(path, reads.clone(), reads);
                    step.dependants.push(seq);
                    entries.push(entry);
                }
                let (seq, entry) =
                    announce(step.file.path().to_owned(), step.before.clone(), wanted);
                step.seq = seq;
                entries.push(entry);
            }
            steps.push(step);
        }
        Ok((steps, entries))
    }

    fn hold(&mut self, step: PendingChange<'_>) -> TakenKnob {
        self.last_layer += 1;
        let PendingChange { seq, file, before, value: asked, dependants, .. } = step;
        let id = self.last_layer;
        let path = file.path().to_owned();
        let value = self.ledger.get(seq).map_or_else(String::new, |held| held.during.clone());
        let fresh = HeldKnob { file, layers: Vec::new(), dependants };
        let knob = self.knobs.entry(seq).or_insert(fresh);
        knob.layers.push(Layer { id, value });
        TakenKnob { seq, layer: id, path, asked: asked.to_owned(), before }
    }

    /// Undoes a batch of which the first `attempted` changes were tried.
    fn roll_back(&mut self, steps: &[PendingChange<'_>], attempted: usize) {
        for (index, step) in steps.iter().enumerate().rev().filter(|(_, step)| step.nested) {
            let _the_last_guard_restores_it = if index < attempted {
                self.write(step.seq, &step.before).map(drop)
            } else {
                self.note(&[Entry::Settled { seq: step.seq, value: Some(step.before.clone()) }])
            };
        }
        let fresh = |steps: &[PendingChange<'_>]| -> Vec<u64> {
            let fresh = steps.iter().filter(|step| !step.nested);
            fresh.flat_map(|step| step.dependants.iter().chain([&step.seq])).copied().collect()
        };
        self.forget(&fresh(&steps[attempted..]));
        self.put_back(&fresh(&steps[..attempted]));
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
        let reports = put_back_all(&self.site, &held, Mode::Act, |held| {
            let entry = [Entry::Restored { seq: held.seq }];
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
