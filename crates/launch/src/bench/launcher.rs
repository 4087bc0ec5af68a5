//! One launch: its condition, a pause, the start, the end.

use rand::RngExt as _;
use unjank_host::energy::{Meter, Reading};
use unjank_host::journal::Session;
use unjank_host::{Joules, Nanos, Result, Root, Timestamp, page_cache};
use unjank_measure::Monitor;
use unjank_measure::stats::random::{Random, seeded};

use super::applied::AppliedCondition;
use super::condition::Condition;
use super::options::{Options, Program, Workload};
use super::pause;
use super::ready::{Patience, Ready, total_time};
use super::started::{Ending, Started, WaitResult};
use crate::load::Timing;

/// How long a program may take to end after SIGTERM.
const END_TIMEOUT: Nanos = Nanos::from_millis(20_000);
/// The longest random addition to a pause: the longest period of a widely used
/// governor.
const SPREAD: Nanos = Nanos::from_millis(100);

/// One launch.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    /// From just before fork and exec until it was ready. If it never was, the
    /// time-out, which is a lower bound.
    pub(super) total: Nanos,
    /// Time of the generated load, if the program reports it.
    pub(super) load: Option<Nanos>,
    /// The machine's energy from the start to the end of the window; `None`
    /// without a meter, or if the launch or the meter's reading exceeded it.
    pub(super) energy: Option<Joules>,
    pub(super) end: LaunchEnd,
    /// Processes that it left behind, as far as they are known.
    pub(super) left: usize,
}

/// How a launch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LaunchEnd {
    /// It was ready; `failed` if it then ended by itself with a code other than 0.
    Ready { failed: bool },
    /// It ended before it was ready.
    Died { status: String, stderr: String },
    /// It was not ready in time.
    TimedOut { stderr: String },
    /// The user wanted to stop.
    Interrupted,
}

impl Launch {
    /// The launch less the generated load.
    pub(super) fn basic(&self) -> Option<Nanos> {
        Some(self.total - self.load?)
    }

    pub(super) fn was_ready(&self) -> bool {
        matches!(self.end, LaunchEnd::Ready { .. })
    }

    pub(super) fn succeeded(&self) -> bool {
        self.end == LaunchEnd::Ready { failed: false }
    }
}

/// Launches one workload again and again.
pub(super) struct Launcher<'a> {
    options: &'a Options,
    workload: &'a Workload,
    session: Option<&'a Session>,
    root: &'a Root,
    meter: Option<&'a mut dyn Meter>,
    chance: Random,
    applied: Option<AppliedCondition>,
    launches: usize,
}

impl<'a> Launcher<'a> {
    pub(super) fn new(
        options: &'a Options,
        workload: &'a Workload,
        session: Option<&'a Session>,
        root: &'a Root,
        meter: Option<&'a mut dyn Meter>,
        seed: u64,
    ) -> Self {
        let chance = seeded(seed, "pauses");
        Self { options, workload, session, root, meter, chance, applied: None, launches: 0 }
    }

    /// Number of launches so far.
    pub(super) fn launches(&self) -> usize {
        self.launches
    }

    /// One launch under `condition`, which stays applied for the next launch
    /// under the same.
    ///
    /// # Errors
    /// The condition cannot be applied, or ended early; the program does not
    /// start.
    pub(super) fn launch(
        &mut self,
        condition: &Condition,
        monitor: &dyn Monitor,
    ) -> Result<Launch> {
        let stop = || monitor.stop_requested();
        if !self.applied.as_ref().is_some_and(|applied| applied.is(&condition.name)) {
            // End the former one first: both may hold the same knob.
            self.applied = None;
            self.applied = Some(condition.apply(self.session, self.options, self.root, &stop)?);
        }
        if self.options.drop_caches || condition.is_cold {
            page_cache::drop_clean(self.root)?;
        }
        let interrupted = Launch {
            total: Nanos::ZERO,
            load: None,
            energy: None,
            end: LaunchEnd::Interrupted,
            left: 0,
        };
        if !self.pause(&stop)? {
            return Ok(interrupted);
        }
        self.launches += 1;
        let program = Program {
            policy: condition.policy,
            environment: condition.environment.clone(),
            group: self.applied.as_ref().and_then(AppliedCondition::group),
            ..self.workload.program.clone()
        };
        let before = self.meter.as_deref_mut().map(Meter::read).transpose()?;
        let begun = Timestamp::now();
        let (timeout, again) = (self.options.timeout, self.launches > 1);
        let patience = Patience { timeout, again, stop: &stop };
        let mut started = Started::begin(&program, &self.options.means, &patience)?;
        let came = started.wait(self.options.timeout, &stop)?;
        let stderr = started.last_lines();
        let by_itself = !started.is_alive();
        let Ending { status, left, .. } = started.end(END_TIMEOUT);
        let energy = match before {
            Some(before) => self.energy(&before, begun, &stop)?,
            None => None,
        };
        let never = |end| Launch { total: self.options.timeout, load: None, energy, end, left };
        let launch = match came {
            WaitResult::Ready { took, line, .. } => {
                let took = match (&program.ready, &line) {
                    // Starting `am` takes longer than many activities.
                    (Ready::Activity, Some(line)) => total_time(line).unwrap_or(took),
                    _ => took,
                };
                let timing = line.filter(|_| self.workload.times_itself);
                let load = timing.map(|line| Timing::parse(&line)).transpose()?;
                let failed = by_itself && status.is_some_and(|status| !status.success());
                let load = load.map(|timing| timing.load);
                Launch { total: took, load, energy, end: LaunchEnd::Ready { failed }, left }
            }
            WaitResult::Ended => {
                let status = status.map_or_else(String::new, |status| status.to_string());
                never(LaunchEnd::Died { status, stderr })
            }
            WaitResult::TimedOut => never(LaunchEnd::TimedOut { stderr }),
            WaitResult::Interrupted => interrupted,
        };
        if let Some(applied) = &self.applied {
            applied.check()?;
        }
        Ok(launch)
    }

    /// The energy since `before`, once the window is over.
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

    /// Pauses; `false` if stopped.
    fn pause(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        if self.options.pause == Nanos::ZERO {
            return Ok(!stop());
        }
        let more = Nanos(self.chance.random_range(0..=SPREAD.get()));
        let end = Timestamp::now() + self.options.pause + more;
        pause::until(end, self.options.wake_every, stop)
    }
}
