//! The steps that make a change: all of a batch, or nothing.

use std::path::Path;

use unjank_units::Bytes;

use super::super::dependants;
use super::super::directory::DirectoryPlace;
use super::super::entry::{Change, Entry};
use super::super::knob_file::{KnobFile, classified};
use super::super::pending_change::PendingChange;
use super::super::rule::CurrentState;
use super::super::stale::free_paths;
use super::super::swap_place::SwapPlace;
use super::super::taken::{ActiveSwapArea, AddedZram, MadeDirectory, TakenKnob};
use super::super::zram_place::ZramPlace;
use super::{HeldKnob, Layer, SessionState};
use crate::error::{Error, Result};
use crate::zram_device;

/// A knob that is about to be changed.
#[derive(Debug)]
struct Wanted<'a> {
    file: KnobFile,
    value: &'a str,
    /// Files that may disappear with the change, and their values.
    dependants: Vec<(String, String)>,
}

impl SessionState {
    /// Changes all of `wanted`, or nothing.
    pub(in crate::journal) fn take_knobs(
        &mut self,
        wanted: &[(&Path, &str)],
    ) -> Result<Vec<TakenKnob>> {
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
    pub(in crate::journal) fn take_directory(&mut self, path: &Path) -> Result<MadeDirectory> {
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
    pub(in crate::journal) fn take_swap_area(&mut self, path: &Path) -> Result<ActiveSwapArea> {
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
    pub(in crate::journal) fn take_zram(
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
}
