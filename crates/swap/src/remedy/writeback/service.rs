//! Looks at which pages are in zram, and writes back, again and again.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use unjank_cachesim::tier::TierPolicy;
use unjank_host::clock::thread_cpu_time;
use unjank_host::machine::{VmStat, pressure};
use unjank_host::process::pid;
use unjank_host::swapped_pages::SwappedPages;
use unjank_host::{Bytes, Error, Nanos, Result, Root, Support, Timestamp};

use super::super::page_key;
use super::super::policy::{self, Identity};
use super::super::tier::map::Slot;
use super::super::tier::server::PAGE;
use super::budget::Budget;
use super::demotion::Demotion;
use super::pace;
use super::status::Status;
use super::zram::{Stopped, Zram};

/// The time between two looks while pages are swapped, and while none are.
const BETWEEN_LOOKS: Nanos = Nanos::from_millis(1_000);
const BETWEEN_IDLE_LOOKS: Nanos = Nanos::from_millis(5_000);
/// A look takes at most one part of so many of a processor's time.
const SHARE: u64 = 50;
/// How long a round writes back at most.
const WRITING: Nanos = Nanos::from_millis(200);
/// Slots that are written back at once.
const BATCH: usize = 128;

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
    pages: SwappedPages,
    demotion: Demotion,
    budget: Budget,
    batch: Vec<Slot>,
    /// Page-ins and page-outs at the last look.
    swaps: Option<(u64, u64)>,
    /// The kernel's count of writes that the budget knows.
    writes: u64,
    not_before: Timestamp,
    began: Timestamp,
    /// The share of the time for writing.
    pace: f64,
    stopped: Option<Stopped>,
    paused: bool,
}

impl Service {
    /// The service, which has done nothing yet. `budget` is what an earlier one has left.
    ///
    /// # Errors
    /// `Unsupported` with the reason; `Invalid` for a size that is too large or too small.
    pub fn new(options: Options, budget: Option<Budget>, root: &Root) -> Result<Self> {
        let zram = Zram::find(root, options.device.as_deref())?;
        let pages = match SwappedPages::new(root)? {
            Support::No(_) => SwappedPages::by_maps(root)?,
            pages @ Support::Yes(_) => pages,
        };
        let pages = match pages {
            Support::Yes(pages) => pages,
            Support::No(reason) => return Err(Error::Unsupported(reason)),
        };
        let slots = zram.slots();
        let all = u64::from(slots) * PAGE;
        let held = options.room.unwrap_or(Bytes(all / 2)).get().min(all);
        let frames = Slot::try_from(held / PAGE).unwrap_or(Slot::MAX);
        let invalid = |error| Error::Invalid(format!("{held} bytes in zram: {error}"));
        let policy = policy::make(options.policy, Identity::Page, (frames, slots));
        let policy = policy.map_err(invalid)?;
        let mut budget = budget.unwrap_or_else(|| Budget::full(options.per_day, wall_clock()));
        budget.refill(options.per_day, wall_clock());
        let now = Timestamp::now();
        Ok(Self {
            root: root.clone(),
            demotion: Demotion::new(policy, slots, options.after),
            writes: zram.stats()?.writes,
            options,
            zram,
            pages,
            budget,
            batch: Vec::with_capacity(BATCH),
            swaps: None,
            not_before: now,
            began: now,
            pace: 1.0,
            stopped: None,
            paused: false,
        })
    }

    /// The device.
    pub fn zram(&self) -> &Zram {
        &self.zram
    }

    /// What may still be written.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// Writes nothing back until it may again. Pages are followed meanwhile.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Looks and writes back once, for less than a second. Returns when the next round is due.
    ///
    /// # Errors
    /// `Unsupported` if the machine does not swap to the device any more; the kernel's error.
    pub fn round(&mut self) -> Result<Timestamp> {
        let now = Timestamp::now();
        let Some(area) = self.zram.area()? else {
            let name = self.zram.name();
            return Err(Error::Unsupported(format!(
                "this machine does not swap to {name} any more"
            )));
        };
        let swaps = swaps(&self.root)?;
        let has_swapped = self.swaps != Some(swaps);
        if has_swapped && now >= self.not_before {
            self.look(area)?;
            self.swaps = Some(swaps);
        }
        self.budget.refill(self.options.per_day, wall_clock());
        self.pace = match pressure::read(&self.root)? {
            Support::Yes(pressure) => pace::share_at(&pressure),
            Support::No(_) => 1.0,
        };
        // Slots may have other pages since a look that is out of date.
        let is_current = self.swaps == Some(swaps);
        let is_left = if is_current && !self.paused { self.write_back()? } else { false };
        let pause = match (is_left, has_swapped) {
            (false, false) => BETWEEN_IDLE_LOOKS,
            _ => BETWEEN_LOOKS,
        };
        Ok(Timestamp::now() + pause)
    }

    /// Finds the pages in the area.
    fn look(&mut self, area: u8) -> Result<()> {
        let Self { pages, demotion, root, began, .. } = self;
        let before = thread_cpu_time();
        let looked = pages.visit(|page| {
            let slot = Slot::try_from(page.slot).ok().filter(|_| page.area == area);
            if let Some((slot, key)) = slot.zip(page_key::of(page)) {
                demotion.see(slot, key);
            }
        });
        if let Err(error) = looked {
            demotion.abandon_look();
            return Err(error);
        }
        let mut ended: HashMap<u32, bool> = HashMap::new();
        let has_ended = |process: u32| {
            *ended.entry(process).or_insert_with(|| !root.exists(format!("/proc/{process}")))
        };
        demotion.end_look(Timestamp::now().since(*began), has_ended);
        let cost = thread_cpu_time() - before;
        self.not_before = Timestamp::now() + cost.times(SHARE);
        Ok(())
    }

    /// Writes back for some time. Returns whether there is more to do.
    fn write_back(&mut self) -> Result<bool> {
        let end = Timestamp::now() + Nanos((WRITING.get() as f64 * self.pace) as u64);
        self.stopped = None;
        loop {
            self.count_writes()?;
            let allowed = usize::try_from(self.budget.left().get() / PAGE).unwrap_or(usize::MAX);
            let at = Timestamp::now().since(self.began);
            self.demotion.next(at, BATCH.min(allowed), &mut self.batch);
            let mut rest = self.batch.as_slice();
            if rest.is_empty() {
                return Ok(false);
            }
            while !rest.is_empty() {
                match self.zram.write_back(rest)? {
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

    /// Takes what the kernel has written from the budget, for whomever it has.
    fn count_writes(&mut self) -> Result<()> {
        let writes = self.zram.stats()?.writes;
        self.budget.spend(Bytes(writes.saturating_sub(self.writes) * PAGE));
        self.writes = writes;
        Ok(())
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
            after: self.options.after,
            paused: self.paused,
            zram: self.zram.stats()?,
            followed: self.demotion.followed(),
            demoted: self.demotion.demoted(),
            counts: self.demotion.counts(),
            budget_left: self.budget.left(),
            pace: self.pace,
            stopped: self.stopped,
            cpu_time: pid::cpu_time(process).unwrap_or_default(),
            resident: pid::resident(&Root::system(), process).unwrap_or_default(),
        })
    }
}

/// Page-ins and page-outs since boot.
fn swaps(root: &Root) -> Result<(u64, u64)> {
    let counters = VmStat::read(root)?;
    Ok((counters.pswpin().unwrap_or_default(), counters.pswpout().unwrap_or_default()))
}

/// Seconds since 1970.
fn wall_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
