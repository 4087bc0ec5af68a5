//! The energy of an idle machine at each sampling period of its governor:
//! Table 3 of Jo & Suh, with intervals.

use unjank_host::energy::{About, Meter, Samples, Spent};
use unjank_host::journal::Session;
use unjank_host::{Error, Joules, Nanos, Result, Root, Support, Timestamp};
use unjank_measure::experiment::{Plan, Round, rounds};
use unjank_measure::{Monitor, Series};

use super::average::Window;
use super::governor::{Governors, HeldPeriod};
use super::idle_states::{IdleShare, IdleWatch};

/// Sampling periods to compare, and the plan of their trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The sampling periods of the governor to compare.
    pub rates: Vec<Nanos>,
    /// The period that the others are compared with.
    pub reference: Nanos,
    /// The window of each trial.
    pub window: Window,
    /// Trials of each period.
    pub rounds: usize,
    /// Smaller differences, as shares, are ignored; 0 for none.
    pub min_effect: f64,
}

/// The energies at all sampling periods.
#[derive(Debug, Clone)]
pub struct MeasuredRates {
    /// Description of the meter.
    pub about: About,
    /// The options of this run.
    pub options: Options,
    /// The plan of rounds.
    pub plan: Plan,
    /// Arms, one for each period that the kernel accepts.
    pub arms: Vec<Arm>,
    /// Periods that the kernel refuses, each with the reason.
    pub refused: Vec<(Nanos, String)>,
    /// The energy of each trial, by the index of its arm.
    pub rounds: Vec<Round>,
    /// An unfinished or disturbed trial, which does not count.
    pub partial: Option<(Nanos, Spent)>,
    /// Why the measurement ended early, if it did.
    pub stopped: Option<String>,
    /// Counts of the meter's samples.
    pub samples: Samples,
    /// Durations of the meter's readings.
    pub reading: Series,
}

/// One sampling period.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// The sampling period that the options ask for.
    pub rate: Nanos,
    /// The period that the kernel set.
    pub actual: Nanos,
    /// Energies of its trials, scaled to the length of a window: the whole
    /// device, and the CPUs.
    pub trials: Vec<(Joules, Option<Joules>)>,
    /// The use of idle states in each trial.
    pub idle: Vec<Vec<IdleShare>>,
}

impl Options {
    fn check(&self) -> Result<()> {
        self.window.check()?;
        let mut sorted = self.rates.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() < self.rates.len() {
            return Err(Error::Invalid("a sampling period is given twice".to_owned()));
        }
        if !self.rates.contains(&self.reference) {
            let reference = self.reference;
            return Err(Error::Invalid(format!(
                "the reference {reference} is not among the sampling periods"
            )));
        }
        if let Some(rate) = self.rates.iter().find(|rate| !rate.get().is_multiple_of(1_000)) {
            return Err(Error::Invalid(format!(
                "a sampling period of {} ns: governors take whole microseconds",
                rate.get()
            )));
        }
        if self.rates.len() < 2 || self.rounds == 0 {
            return Err(Error::Invalid("there is nothing to compare".to_owned()));
        }
        Ok(())
    }
}

/// Measures every period once a round, in an order that runs back and forth.
/// `session` restores the period.
///
/// # Errors
/// Invalid options; a period that cannot be changed; a meter that cannot be
/// read. A later failure ends the experiment; the results until then are kept.
pub fn run(
    options: &Options,
    meter: &mut dyn Meter,
    root: &Root,
    session: &Session,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Support<MeasuredRates>> {
    options.check()?;
    let governors = match Governors::find(root)? {
        Support::Yes(governors) => governors,
        Support::No(reason) => return Ok(Support::No(reason)),
    };
    let held = governors.hold(session)?;
    let (arms, refused) = arms(options, &held);
    if arms.len() < 2 || arms.iter().all(|arm| arm.rate != options.reference) {
        let reasons: Vec<String> =
            refused.iter().map(|(rate, reason)| format!("{rate}: {reason}")).collect();
        return Err(Error::Unsupported(format!(
            "the kernel accepts too few of the sampling periods: {}",
            reasons.join("; ")
        )));
    }
    let mut measured = MeasuredRates {
        about: meter.about().clone(),
        options: options.clone(),
        plan: Plan { pairs: options.rounds, warm_up: 0, seed },
        arms,
        refused,
        rounds: Vec::new(),
        partial: None,
        stopped: None,
        samples: Samples::default(),
        reading: Series::new("launch/power/reading"),
    };
    measured.run_all(meter, &held, root, monitor)?;
    Ok(Support::Yes(measured))
}

/// Tries each period: those that the kernel accepts, and those that it refuses.
fn arms(options: &Options, held: &HeldPeriod<'_>) -> (Vec<Arm>, Vec<(Nanos, String)>) {
    let (mut arms, mut refused) = (Vec::new(), Vec::new());
    for &rate in &options.rates {
        match held.set(rate) {
            Ok(actual) => arms.push(Arm { rate, actual, trials: Vec::new(), idle: Vec::new() }),
            Err(error) => refused.push((rate, error.to_string())),
        }
    }
    (arms, refused)
}

impl MeasuredRates {
    fn run_all(
        &mut self,
        meter: &mut dyn Meter,
        held: &HeldPeriod<'_>,
        root: &Root,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        let order = rounds(self.arms.len(), &self.plan);
        let all = (order.len() * self.arms.len()) as f64;
        for (number, round) in order.iter().enumerate() {
            self.rounds.push(Round::new());
            for (place, &arm) in round.iter().enumerate() {
                let rate = self.arms[arm].rate;
                let done = (number * self.arms.len() + place) as f64 / all;
                monitor.progress(done, &format!("round {}, every {rate}", number + 1));
                if let Err(stopped) = self.run_trial(arm, meter, held, root, monitor)? {
                    self.stopped = Some(stopped);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Runs one trial. The inner error is why the experiment ends with it.
    fn run_trial(
        &mut self,
        arm: usize,
        meter: &mut dyn Meter,
        held: &HeldPeriod<'_>,
        root: &Root,
        monitor: &dyn Monitor,
    ) -> Result<Result<(), String>> {
        let (window, rate) = (self.options.window, self.arms[arm].rate);
        let stop = || monitor.stop_requested();
        let interrupted = || Ok(Err("interrupted".to_owned()));
        if stop() {
            return interrupted();
        }
        if let Some(disturbance) = held.disturbed() {
            return Ok(Err(disturbance));
        }
        match held.set(rate) {
            Ok(actual) if actual == self.arms[arm].actual => {}
            Ok(actual) => {
                return Ok(Err(format!("the kernel now sets {actual} instead of {rate}")));
            }
            Err(error) => return Ok(Err(error.to_string())),
        }
        if window.discard > Nanos::ZERO && !meter.pass(window.discard, &stop) {
            return interrupted();
        }
        let watch = IdleWatch::begin(root)?;
        let begin = Timestamp::now();
        let before = meter.read()?;
        self.reading.record(Timestamp::now().since(begin));
        let whole = meter.pass(window.counted(), &stop);
        let spent = meter.read()?.since(&before);
        let idle = watch.end(window.counted(), root)?;
        self.samples = self.samples.and(spent.samples);
        let disturbance = held.disturbed().or_else(|| spent.cut_short.clone());
        let Some(power) = spent.power().filter(|_| whole && disturbance.is_none()) else {
            self.partial = Some((rate, spent));
            return match disturbance {
                Some(disturbance) => Ok(Err(disturbance)),
                None if whole => Ok(Err("no time has passed for the meter".to_owned())),
                None => interrupted(),
            };
        };
        // Sleeps end late by microseconds, and by more where all CPUs are busy.
        let scale = window.counted().as_secs_f64() / spent.time.as_secs_f64();
        let energy = power.over(window.counted());
        self.arms[arm].trials.push((energy, spent.cpu.map(|cpu| Joules(cpu.0 * scale))));
        self.arms[arm].idle.push(idle);
        if let Some(round) = self.rounds.last_mut() {
            round.push((arm, energy.0));
        }
        Ok(Ok(()))
    }
}
