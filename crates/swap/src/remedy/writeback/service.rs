//! Looks at which pages are in zram, and writes back, again and again.

use std::collections::HashMap;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use unjank_cachesim::tier::TierPolicy;
use unjank_host::clock::thread_cpu_time;
use unjank_host::machine::{VmStat, pressure};
use unjank_host::memory::page_size;
use unjank_host::process::pid;
use unjank_host::swapped_pages::SwappedPages;
use unjank_host::{Bytes, Error, Nanos, Result, Root, Support, Timestamp};

use super::super::page_key;
use super::super::policy::{self, Identity};
use super::super::tier::map::Slot;
use super::super::tier::server::PAGE;
use super::area;
use super::budget::Budget;
use super::demotion::Demotion;
use super::pace;
use super::status::Status;
use super::sweep::Sweep;
use super::zram::{Stopped, Zram};

/// The time between two looks while pages are swapped, and while none are.
const BETWEEN_LOOKS: Nanos = Nanos::from_millis(1_000);
const BETWEEN_IDLE_LOOKS: Nanos = Nanos::from_millis(5_000);
/// The longest time between two looks: a process that ends swaps nothing.
const BETWEEN_LOOKS_AT_MOST: Nanos = Nanos::from_millis(30_000);
/// Nothing is written back after a look that is older.
const LONGEST: Nanos = Nanos::from_millis(60_000);
/// A look takes at most one part of so many of a processor's time.
const SHARE: u64 = 50;
/// How long a round writes back at most.
const WRITING: Nanos = Nanos::from_millis(200);
/// Slots that are written back at once.
const BATCH: usize = 128;
/// zram has room while this part of it is free: one part of so many.
const FREE: u64 = 8;
/// Slots of a decision that is not asked: pages are written back by age alone.
const NO_SLOTS: Slot = 4;
/// Sweeps in the time after which a page is written back by its age.
const SWEEPS: u64 = 4;
/// The pace below which there is no sweep: the kernel writes all pages at once.
const CALM: f64 = 0.5;

/// What the service does.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The zram device, unless there is only one.
    pub device: Option<String>,
    /// Which pages stay in zram.
    pub policy: TierPolicy,
    /// How much zram holds, before compression; half of the device without a size.
    pub room: Option<Bytes>,
    /// How long all other pages stay.
    pub after: Nanos,
    /// How much may be written to the backing device.
    pub per_day: Bytes,
}

/// The service.
pub struct Service {
    root: Root,
    options: Options,
    zram: Zram,
    /// `No` where it is not known which pages are in zram: they are written back by age alone.
    pages: Support<SwappedPages>,
    demotion: Demotion,
    budget: Budget,
    batch: Vec<Slot>,
    /// The number of the area in pagemap, as the last look has shown.
    area: Option<u8>,
    /// Page-ins and page-outs at the last look, and when it was.
    swaps: Option<(u64, u64)>,
    looked: Timestamp,
    /// When the last look began that has told which pages are in the area.
    known: Option<Timestamp>,
    /// The kernel's count of writes that the budget knows.
    writes: u64,
    not_before: Timestamp,
    began: Timestamp,
    /// The share of the time for writing.
    pace: f64,
    stopped: Option<Stopped>,
    paused: bool,
    sweep: Option<Sweep>,
}

impl Service {
    /// The service, before its first round. `budget` is the remaining budget of an earlier one.
    ///
    /// # Errors
    /// `Unsupported` with the reason; `Invalid` for a size that is too large or too small.
    pub fn new(mut options: Options, budget: Option<Budget>, root: &Root) -> Result<Self> {
        if page_size() != Bytes(PAGE) {
            let why = format!("this kernel has pages of {}, and not of 4 KiB", page_size());
            return Err(Error::Unsupported(why));
        }
        let zram = Zram::find(root, options.device.as_deref())?;
        let pages = match SwappedPages::new(root)? {
            Support::No(_) => SwappedPages::by_maps(root)?,
            pages @ Support::Yes(_) => pages,
        };
        if let Support::No(reason) = &pages {
            (options.policy, options.room) = (TierPolicy::NONE, None);
            zram.mark_older(options.after)
                .map_err(|error| Error::Unsupported(format!("{reason}, and {error}")))?;
        }
        let is_known = matches!(pages, Support::Yes(_));
        let followed = if is_known { zram.slots() } else { NO_SLOTS };
        let demotion = demotion(&options, followed)?;
        let mut budget = budget.unwrap_or_else(|| Budget::full(options.per_day, wall_clock()));
        budget.refill(options.per_day, wall_clock());
        let now = Timestamp::now();
        Ok(Self {
            root: root.clone(),
            demotion,
            writes: zram.stats()?.writes,
            options,
            zram,
            pages,
            budget,
            batch: Vec::with_capacity(BATCH),
            area: None,
            swaps: None,
            looked: now,
            known: None,
            not_before: now,
            began: now,
            pace: 1.0,
            stopped: None,
            paused: false,
            sweep: None,
        })
    }

    /// The device.
    pub fn zram(&self) -> &Zram {
        &self.zram
    }

    /// Why pages are written back by their age alone, if they are.
    pub fn by_age(&self) -> Option<&str> {
        match &self.pages {
            Support::Yes(_) => None,
            Support::No(reason) => Some(reason),
        }
    }

    /// The remaining budget. What a sweep may write counts as spent.
    pub fn budget(&self) -> Budget {
        let mut budget = self.budget;
        if let Some(sweep) = &self.sweep {
            budget.spend(sweep.charged);
        }
        budget
    }

    /// Pauses or resumes writing back. Pages are followed meanwhile.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Looks and writes back once. Returns when the next round is due. While the machine does not
    /// swap to the device, waits until it does again.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn round(&mut self) -> Result<Timestamp> {
        let now = Timestamp::now();
        if self.stopped == Some(Stopped::NoDevice) {
            self.find_again()?;
        }
        let Some(place) = self.zram.area()?.filter(|_| self.stopped != Some(Stopped::NoDevice))
        else {
            self.stopped = Some(Stopped::NoDevice);
            return Ok(now + BETWEEN_IDLE_LOOKS);
        };
        if self.by_age().is_some() {
            return self.sweep();
        }
        let swaps = swaps(&self.root)?;
        let has_swapped = self.swaps != Some(swaps);
        let is_time = has_swapped || now.since(self.looked) >= BETWEEN_LOOKS_AT_MOST;
        if is_time && now >= self.not_before && self.look(place) {
            (self.swaps, self.known) = (Some(swaps), Some(now));
        }
        self.refill()?;
        // A page that stayed away until the last look has hardly come back since, if that was not
        // long ago.
        let is_known = self.known.is_some_and(|at| Timestamp::now().since(at) < LONGEST);
        let is_left = if is_known && !self.paused { self.write_back()? } else { false };
        let pause = match (is_left, has_swapped) {
            (false, false) => BETWEEN_IDLE_LOOKS,
            _ => BETWEEN_LOOKS,
        };
        Ok(Timestamp::now() + pause)
    }

    /// Adds to the budget what has accumulated, and adapts the pace.
    fn refill(&mut self) -> Result<()> {
        self.budget.refill(self.options.per_day, wall_clock());
        self.pace = match pressure::read(&self.root)? {
            Support::Yes(pressure) => pace::share_at(&pressure),
            Support::No(_) => 1.0,
        };
        Ok(())
    }

    /// Has the kernel write back what has been in zram for long. It says only afterwards how much
    /// that was, so the budget must allow all. Returns when the next sweep is due.
    fn sweep(&mut self) -> Result<Timestamp> {
        self.refill()?;
        if self.sweep.as_ref().is_some_and(|sweep| !sweep.is_over()) {
            return Ok(Timestamp::now() + BETWEEN_LOOKS);
        }
        if let Some(sweep) = self.sweep.take() {
            self.stopped = sweep.end();
            let before = self.writes;
            self.count_writes()?;
            self.demotion.swept(self.writes.saturating_sub(before));
            let between = Nanos(self.options.after.get() / SWEEPS);
            return Ok(Timestamp::now() + between.clamp(BETWEEN_LOOKS, BETWEEN_LOOKS_AT_MOST));
        }
        let charged = Bytes(self.count_writes()? * PAGE);
        self.stopped = None;
        if self.budget.left() < charged {
            self.stopped = Some(Stopped::Budget);
        } else if !self.paused && self.pace >= CALM && charged > Bytes(0) {
            match Sweep::start(&self.zram, self.options.after, charged) {
                Ok(sweep) => self.sweep = Some(sweep),
                Err(stopped) => self.stopped = Some(stopped),
            }
        }
        let pause = if self.sweep.is_some() { BETWEEN_LOOKS } else { BETWEEN_IDLE_LOOKS };
        Ok(Timestamp::now() + pause)
    }

    /// Finds the device again, which may have another size. Nothing is known of its pages.
    fn find_again(&mut self) -> Result<()> {
        let Ok(zram) = Zram::find(&self.root, self.options.device.as_deref()) else {
            return Ok(());
        };
        if self.by_age().is_none() {
            self.demotion = demotion(&self.options, zram.slots())?;
        }
        self.writes = zram.stats()?.writes;
        self.zram = zram;
        (self.stopped, self.area, self.swaps, self.known) = (None, None, None, None);
        Ok(())
    }

    /// Finds the pages in the area. Returns whether they are known; if not, the next look may tell.
    fn look(&mut self, (place, lines, used): (usize, usize, u64)) -> bool {
        let before = thread_cpu_time();
        let guess = self.area.or_else(|| u8::try_from(place).ok());
        let mut seen: area::Seen = [0; area::NUMBERS];
        let Self { pages: Support::Yes(pages), demotion, .. } = self else { return false };
        let looked = pages.visit(|page| {
            if let Some(count) = seen.get_mut(usize::from(page.area)) {
                *count += 1;
            }
            let slot = Slot::try_from(page.slot).ok().filter(|_| Some(page.area) == guess);
            if let Some((slot, key)) = slot.zip(page_key::of(page)) {
                demotion.see(slot, key);
            }
        });
        self.area = area::number(place, lines, used, &seen);
        // A search that fails, as for want of memory, is repeated.
        let is_known = looked.is_ok() && self.area.is_some() && self.area == guess;
        if is_known {
            self.end_look();
        } else {
            self.demotion.abandon_look();
            if looked.is_ok() && self.area.is_none() {
                self.stopped = Some(Stopped::UnknownArea);
            }
        }
        let now = Timestamp::now();
        self.looked = now;
        self.not_before = now + (thread_cpu_time() - before).times(SHARE);
        is_known
    }

    fn end_look(&mut self) {
        let mut ended: HashMap<u32, bool> = HashMap::new();
        let root = &self.root;
        let has_ended = |process: u32| {
            *ended.entry(process).or_insert_with(|| !root.exists(format!("/proc/{process}")))
        };
        self.demotion.end_look(Timestamp::now().since(self.began), has_ended);
    }

    /// Writes back for some time. Returns whether there is more to do.
    fn write_back(&mut self) -> Result<bool> {
        let end = Timestamp::now() + Nanos((WRITING.get() as f64 * self.pace) as u64);
        self.stopped = None;
        loop {
            let pages = self.count_writes()?;
            let allowed = usize::try_from(self.budget.left().get() / PAGE).unwrap_or(usize::MAX);
            let at = Timestamp::now().since(self.began);
            let room = room(&self.options, self.zram.slots());
            let has_room = pages < room - room / FREE;
            self.demotion.next(at, BATCH.min(allowed), has_room, &mut self.batch);
            let mut rest = self.batch.as_slice();
            if rest.is_empty() {
                return Ok(false);
            }
            while !rest.is_empty() {
                match self.zram.write_back(rest) {
                    Ok(count) => {
                        self.demotion.done(count);
                        rest = &rest[count..];
                    }
                    Err(stopped) => {
                        self.stopped = Some(stopped);
                        self.count_writes()?;
                        return Ok(false);
                    }
                }
                if Timestamp::now() >= end {
                    self.count_writes()?;
                    return Ok(true);
                }
            }
        }
    }

    /// Deducts the kernel's writes from the budget, also those that other programs caused. Returns
    /// the pages in zram.
    fn count_writes(&mut self) -> Result<u64> {
        let stats = self.zram.stats()?;
        self.budget.spend(Bytes(stats.writes.saturating_sub(self.writes) * PAGE));
        self.writes = stats.writes;
        Ok(stats.pages)
    }

    /// The state at this moment.
    ///
    /// # Errors
    /// The statistics cannot be read.
    pub fn status(&self) -> Result<Status> {
        let process = std::process::id();
        Ok(Status {
            schema: Status::SCHEMA.to_owned(),
            process,
            up: Timestamp::now().since(self.began),
            device: self.zram.name().to_owned(),
            backing: self.zram.backing().to_owned(),
            policy: self.options.policy.to_string(),
            by_age: self.by_age().map(str::to_owned),
            after: self.options.after,
            paused: self.paused,
            zram: self.zram.stats()?,
            followed: self.demotion.followed(),
            demoted: self.demotion.demoted(),
            counts: self.demotion.counts(),
            budget_left: self.budget().left(),
            pace: self.pace,
            stopped: self.stopped,
            cpu_time: pid::cpu_time(process).unwrap_or_default(),
            resident: pid::resident(&Root::system(), process).unwrap_or_default(),
        })
    }
}

/// How many pages zram may hold.
fn room(options: &Options, slots: Slot) -> u64 {
    let held = options.room.map_or(u64::from(slots) / 2, |room| room.get() / PAGE);
    held.min(slots.into())
}

/// Decides for a device of so many slots, of which nothing is known yet.
fn demotion(options: &Options, slots: Slot) -> Result<Demotion> {
    let frames = Slot::try_from(room(options, slots)).unwrap_or(Slot::MAX);
    let invalid = |why: &dyn fmt::Display| Error::Invalid(format!("{frames} pages in zram: {why}"));
    if frames < 2 {
        return Err(invalid(&"two are the fewest"));
    }
    let policy = policy::make(options.policy, Identity::Page, (frames, slots));
    Ok(Demotion::new(policy.map_err(|error| invalid(&error))?, slots, options.after))
}

/// Page-ins and page-outs since boot.
fn swaps(root: &Root) -> Result<(u64, u64)> {
    let counters = VmStat::read(root)?;
    Ok((counters.pswpin().unwrap_or_default(), counters.pswpout().unwrap_or_default()))
}

/// Seconds since 1970.
pub fn wall_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
