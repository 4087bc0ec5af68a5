//! One launch: its condition, a pause, the start, the end.

use rand::RngExt as _;
use unjank_host::energy::{Meter, Reading};
use unjank_host::journal::Session;
use unjank_host::{Joules, Nanos, Result, Root, Timestamp, page_cache};
use unjank_measure::Monitor;
use unjank_measure::stats::random::{Random, seeded};

use super::condition::Condition;
use super::in_force::InForce;
use super::options::{Options, Workload};
use super::pause;
use super::started::{Came, Started};
use crate::load::Timing;

/// How long a program may take to end when it is asked to.
const PATIENCE: Nanos = Nanos::from_millis(2_000);
/// The most that chance adds to a pause: the longest period of a governor that
/// is in wide use.
const SPREAD: Nanos = Nanos::from_millis(100);

/// What one launch showed.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    /// From just before fork and exec until it was ready; the time-out for one
    /// that never was, which is the least that it would have taken.
    pub(super) total: Nanos,
    /// How long the generated load took, where the program says so.
    pub(super) load: Option<Nanos>,
    /// What the machine took from its start to the end of the window; `None`
    /// without a meter, and where the launch or the meter did not fit in it.
    pub(super) energy: Option<Joules>,
    pub(super) end: End,
}

/// How a launch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// It was ready; whether it ended by itself with another code than 0.
    Ready { failed: bool },
    /// It ended before it was ready.
    Died { status: String, stderr: String },
    /// It was not ready in time.
    TimedOut { stderr: String },
    /// The user wanted to stop.
    Interrupted,
}

impl Launch {
    /// What is left of the launch without the generated load.
    pub(super) fn basic(&self) -> Option<Nanos> {
        Some(self.total - self.load?)
    }

    pub(super) fn was_ready(&self) -> bool {
        matches!(self.end, End::Ready { .. })
    }

    pub(super) fn succeeded(&self) -> bool {
        self.end == End::Ready { failed: false }
    }
}

/// Launches one workload again and again.
pub(super) struct Visitor<'a> {
    options: &'a Options,
    workload: &'a Workload,
    session: Option<&'a Session>,
    root: &'a Root,
    meter: Option<&'a mut dyn Meter>,
    chance: Random,
    in_force: Option<InForce>,
    launches: usize,
}

impl<'a> Visitor<'a> {
    pub(super) fn new(
        options: &'a Options,
        workload: &'a Workload,
        session: Option<&'a Session>,
        root: &'a Root,
        meter: Option<&'a mut dyn Meter>,
        seed: u64,
    ) -> Self {
        let chance = seeded(seed, "pauses");
        Self { options, workload, session, root, meter, chance, in_force: None, launches: 0 }
    }

    /// How many launches there were.
    pub(super) fn launches(&self) -> usize {
        self.launches
    }

    /// One launch under `condition`, which stays in force for the next one if
    /// that is under the same.
    ///
    /// # Errors
    /// A condition that cannot be put in force, or has not lasted; a program
    /// that does not start.
    pub(super) fn launch(
        &mut self,
        condition: &Condition,
        monitor: &dyn Monitor,
    ) -> Result<Launch> {
        let stop = || monitor.stop_requested();
        if !self.in_force.as_ref().is_some_and(|in_force| in_force.is(&condition.name)) {
            // The former one ends before the next one begins: both may hold
            // the same knob.
            self.in_force = None;
            self.in_force = Some(condition.put_in_force(self.session, self.options, &stop)?);
        }
        if self.options.drop_caches {
            page_cache::drop_clean(self.root)?;
        }
        let interrupted =
            Launch { total: Nanos::ZERO, load: None, energy: None, end: End::Interrupted };
        if !self.pause(&stop)? {
            return Ok(interrupted);
        }
        self.launches += 1;
        let before = self.meter.as_deref_mut().map(Meter::read).transpose()?;
        let begun = Timestamp::now();
        let mut started = Started::begin(&self.workload.program, self.options)?;
        let came = started.wait(self.options.timeout, &stop)?;
        let stderr = started.last_words();
        let by_itself = !started.is_alive();
        let status = started.end(PATIENCE);
        let energy = match before {
            Some(before) => self.energy(&before, begun, &stop)?,
            None => None,
        };
        let never = |end| Launch { total: self.options.timeout, load: None, energy, end };
        let launch = match came {
            Came::Ready { took, line } => {
                let timing = line.filter(|_| self.workload.times_itself);
                let load = timing.map(|line| Timing::parse(&line)).transpose()?;
                let failed = by_itself && status.is_some_and(|status| !status.success());
                let load = load.map(|timing| timing.load);
                Launch { total: took, load, energy, end: End::Ready { failed } }
            }
            Came::Ended => {
                let status = status.map_or_else(String::new, |status| status.to_string());
                never(End::Died { status, stderr })
            }
            Came::TimedOut => never(End::TimedOut { stderr }),
            Came::Interrupted => interrupted,
        };
        if let Some(in_force) = &self.in_force {
            in_force.check()?;
        }
        Ok(launch)
    }

    /// What was spent since `before`, once the window is over.
    fn energy(
        &mut self,
        before: &Reading,
        begun: Timestamp,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Joules>> {
        let Some(meter) = self.meter.as_deref_mut() else { return Ok(None) };
        let end = begun + self.options.energy_window;
        let now = Timestamp::now();
        if now > end || !meter.pass(end.since(now), stop) {
            return Ok(None);
        }
        let spent = meter.read()?.since(before);
        Ok(spent.cut_short.is_none().then_some(spent.energy))
    }

    /// Whether it was long enough.
    fn pause(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        if self.options.pause == Nanos::ZERO {
            return Ok(!stop());
        }
        let more = Nanos(self.chance.random_range(0..=SPREAD.get()));
        let end = Timestamp::now() + self.options.pause + more;
        pause::until(end, self.options.wake_every, stop)
    }
}
