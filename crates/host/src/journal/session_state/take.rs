//! The steps that make a change: all of a batch, or nothing.

use std::path::Path;

use unjank_units::Bytes;

use super::super::couplings::{Couplings, setting};
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
            let path = file.path();
            match knobs.iter().find(|other| setting(other.file.path()) == setting(path)) {
                None => knobs.push(Wanted { file, value }),
                Some(same) if same.file.path() != path => {
                    let other = same.file.path();
                    let what = format!("{other} and {path} are one setting: give one of them");
                    return Err(Error::Invalid(what));
                }
                Some(same) if same.value == value => {}
                Some(_) => return Err(Error::Invalid(format!("{path} is given two values"))),
            }
        }
        let paths: Vec<String> = knobs.iter().map(|wanted| wanted.file.path().to_owned()).collect();
        let steps = self.announce(&paths, |holding| holding.plan(knobs, &paths))?;
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
        // After all of them: a later one may have changed an earlier one again.
        let changed = steps.iter().flat_map(|step| self.changed_with(step.seq));
        readings.extend(self.readings(&changed.collect::<Vec<_>>()));
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
        let _lock = self.state.lock()?;
        self.free(paths)?;
        let (planned, entries) = plan(self)?;
        self.running()?.journal.announce(&entries)?;
        self.apply(&entries);
        Ok(planned)
    }

    /// Makes sure that no other session holds `paths`.
    fn free(&mut self, paths: &[String]) -> Result<()> {
        let own = self.running()?.journal.name().to_owned();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        free_paths(&self.site, &self.state, &own, &paths)
    }

    /// The knobs that the kernel changes with each of `knobs`, which are free, and
    /// that are not held or about to be.
    fn dependants(&mut self, knobs: &[Wanted<'_>], batch: &[String]) -> Result<Vec<Vec<KnobFile>>> {
        let mut paths: Vec<String> = Vec::new();
        let mut all = Vec::new();
        for Wanted { file, value } in knobs {
            if self.ledger.at(file.path()).is_some() {
                all.push(Vec::new());
                continue;
            }
            let before = file.read().map_err(classified)?;
            let mut found = dependants::of(&self.site, file, &before, value, batch)?;
            found.retain(|file| {
                let path = file.path();
                let is_held = self.ledger.at(path).is_some() || paths.iter().any(|p| p == path);
                !is_held && !batch.iter().any(|wanted| wanted == path)
            });
            paths.extend(found.iter().map(|file| file.path().to_owned()));
            all.push(found);
        }
        if !paths.is_empty() {
            self.free(&paths)?;
        }
        Ok(all)
    }

    /// Refuses a knob that this session holds under another name.
    fn check_not_held(&self, path: &str) -> Result<()> {
        let mut knobs = self.ledger.held().iter().filter(|held| !held.dependant);
        let same = knobs.find(|held| held.path != path && setting(&held.path) == setting(path));
        same.map_or(Ok(()), |same| {
            let other = &same.path;
            Err(Error::Busy(format!("{path} is one setting with {other}, which is held already")))
        })
    }

    fn plan<'a>(
        &mut self,
        knobs: Vec<Wanted<'a>>,
        batch: &[String],
    ) -> Result<(Vec<PendingChange<'a>>, Vec<Entry>)> {
        let dependants = self.dependants(&knobs, batch)?;
        let mut steps = Vec::new();
        let mut entries = Vec::new();
        let mut next = self.ledger.next_seq();
        let mut announce = |path: &str, before: String, wanted: String, dependant: bool| {
            let (seq, path) = (next, path.to_owned());
            next = next.saturating_add(1);
            let change = Change::File { before, wanted, dependant };
            (seq, Entry::Intent { seq, path, change })
        };
        for (Wanted { file, value }, dependants) in knobs.into_iter().zip(dependants) {
            self.check_not_held(file.path())?;
            let wanted = value.to_owned();
            let held = self.ledger.at(file.path()).map(|held| (held.seq, held.during.clone()));
            let (seq, before, nested) = if let Some((seq, before)) = held {
                entries.push(Entry::Set { seq, value: wanted.clone() });
                (seq, before, true)
            } else {
                let before = file.read().map_err(classified)?;
                (0, before, false)
            };
            // The kernel changes held knobs with it.
            let changed = self.changed_by(&Couplings::of(file.path(), &before));
            entries.extend(self.unsettled(&changed));
            let way_back = dependants::way_back(&self.site, file.path(), &before);
            let mut announced = Vec::new();
            for dependant in dependants {
                let Ok(reads) = dependant.read() else { continue };
                announced.push(announce(dependant.path(), reads.clone(), reads, true));
            }
            let (dependants, intents): (Vec<u64>, Vec<Entry>) = announced.into_iter().unzip();
            entries.extend(intents);
            let seq = if nested {
                seq
            } else {
                let (seq, intent) = announce(file.path(), before.clone(), wanted, false);
                entries.push(intent);
                seq
            };
            steps.push(PendingChange { seq, file, value, before, nested, dependants, way_back });
        }
        Ok((steps, entries))
    }

    fn hold(&mut self, step: PendingChange<'_>) -> TakenKnob {
        self.last_layer += 1;
        let PendingChange { seq, file, before, value: asked, .. } = step;
        let id = self.last_layer;
        let path = file.path().to_owned();
        let value = self.ledger.get(seq).map_or_else(String::new, |held| held.during.clone());
        let fresh = HeldKnob { file, layers: Vec::new() };
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
        let changed: Vec<_> = steps.iter().flat_map(|step| self.changed_with(step.seq)).collect();
        // What was not tried may have changed with what was.
        let (also, never): (Vec<u64>, Vec<u64>) =
            fresh(&steps[attempted..]).into_iter().partition(|seq| {
                let mut tried = steps[..attempted].iter();
                tried.any(|step| self.changed_with(step.seq).iter().any(|(with, _)| with == seq))
            });
        self.forget(&never);
        self.put_back(&[fresh(&steps[..attempted]), also].concat());
        // Those that other guards hold.
        let _best_effort = self.note(&self.readings(&changed));
    }
}
