//! Probes that are started several times, each time in a fresh process with
//! another placement. Intervals include the spread between starts.

mod child;
mod process;

use anyhow::Result;
use unjank_host::{Nanos, Root, Timestamp};
use unjank_launch::Launched;
use unjank_measure::disturbance::{self, Disturbance, Meter};
use unjank_measure::monitor::Part;
use unjank_measure::{Findings, Monitor, StartFindings, pool};

use super::repetition::{StartOutcome, Task};
use child::Ended;

/// The option of commands whose probe is started several times.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct StartArgs {
    /// Independent starts to divide the time into, each a fresh process with another placement
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    starts: u32,
}

impl StartArgs {
    /// The shortest start. A shorter one spends more time starting than
    /// measuring.
    const SHORTEST: Nanos = Nanos::from_millis(20);

    /// The number of starts for a run of this length, and the length of each.
    pub(crate) fn divide(self, duration: Nanos) -> (u32, Nanos) {
        let most = (duration.get() / Self::SHORTEST.get()).clamp(1, u64::from(self.starts));
        (most as u32, Nanos((duration.get() / most).max(1)))
    }
}

/// One probe and the findings of its starts so far.
pub(crate) struct Repeated<'a> {
    root: &'a Root,
    name: &'static str,
    /// The task of a start, by its number.
    task: Box<dyn Fn(u32) -> Task + 'a>,
    /// The approximate length of one start.
    length: Nanos,
    /// The number of the next start.
    next: u32,
    /// Starts, those that were repeated included.
    starts: u32,
    found: Vec<MeasuredStart>,
    /// The options of launches, which are judged together.
    launches: Option<unjank_launch::Options>,
    failure: Option<anyhow::Error>,
    failures: u32,
    timed_out: u32,
}

/// The results of one start.
struct MeasuredStart {
    /// The number of the start, which decides its placement.
    number: u32,
    at: Timestamp,
    outcome: StartOutcome,
    disturbance: Disturbance,
}

impl<'a> Repeated<'a> {
    /// A probe without starts. `length` is the approximate length of one start.
    pub(crate) fn new(
        root: &'a Root,
        name: &'static str,
        length: Nanos,
        task: impl Fn(u32) -> Task + 'a,
    ) -> Self {
        Self {
            root,
            name,
            task: Box::new(task),
            length,
            next: 0,
            starts: 0,
            found: Vec::new(),
            launches: None,
            failure: None,
            failures: 0,
            timed_out: 0,
        }
    }

    /// Launches on the CPUs of `options` in turn, without starts so far.
    pub(crate) fn launches(root: &'a Root, options: &unjank_launch::Options) -> Self {
        let (of_task, all) = (options.clone(), Some(options.clone()));
        let task = move |number| Task::Launch(of_task.clone(), number);
        Self { launches: all, ..Self::new(root, "launch", options.length(), task) }
    }

    /// Starts the probe once more. A start that has not ended by `deadline` is
    /// killed.
    pub(crate) fn start(&mut self, deadline: Option<Timestamp>, monitor: &dyn Monitor) {
        self.next += 1;
        self.start_number(self.next - 1, deadline, monitor);
    }

    /// Starts the probe as in the start `number`, with the same placement.
    pub(crate) fn start_number(
        &mut self,
        number: u32,
        deadline: Option<Timestamp>,
        monitor: &dyn Monitor,
    ) {
        self.starts += 1;
        let meter = Meter::begin(self.root);
        let at = Timestamp::now();
        match child::run(&(self.task)(number), self.length, deadline, monitor) {
            Ok(Ended::Done(StartOutcome::Nothing)) => {}
            Ok(Ended::Done(outcome)) => {
                let disturbance = meter.end();
                self.found.push(MeasuredStart { number, at, outcome, disturbance });
            }
            Ok(Ended::TimedOut) => self.timed_out += 1,
            Err(error) => {
                self.failures += 1;
                self.failure.get_or_insert(error);
            }
        }
    }

    /// The number of starts so far.
    pub(crate) fn begun(&self) -> u32 {
        self.starts
    }

    /// The number of starts that did not end in time and were killed.
    pub(crate) fn timed_out(&self) -> u32 {
        self.timed_out
    }

    /// The numbers of the starts that were disturbed from outside, if they are fewer
    /// than half: each is worth another start.
    pub(crate) fn disturbed(&self) -> Vec<u32> {
        let disturbances: Vec<Disturbance> = self.found.iter().map(|it| it.disturbance).collect();
        let numbers = disturbance::to_repeat(&disturbances).into_iter();
        numbers.map(|index| self.found[index].number).collect()
    }

    /// The findings of all starts, pooled.
    ///
    /// # Errors
    /// Every start failed: the first failure.
    pub(crate) fn findings(self) -> Result<Findings> {
        let Self { root, name, mut found, launches, failure, failures, timed_out, starts, .. } =
            self;
        if found.is_empty()
            && let Some(error) = failure
        {
            return Err(error);
        }
        let disturbances: Vec<Disturbance> = found.iter().map(|it| it.disturbance).collect();
        let to_leave_out = disturbance::to_leave_out(disturbances.iter());
        let warnings = [
            disturbance::sentence(name, disturbances.iter(), &to_leave_out),
            disturbance::pressure_sentence(name, &disturbances),
        ];
        // From the last one on, so that the other indices stay valid.
        for &index in to_leave_out.iter().rev() {
            found.remove(index);
        }
        let mut findings = match launches {
            Some(options) => unjank_launch::findings(&launched(found), &options, root)?,
            None => pool(probed(found))?,
        };
        findings.warnings.extend(warnings.into_iter().flatten());
        if timed_out > 0 {
            findings.warn(format!(
                "{name}: {timed_out} of {starts} starts did not end in time and were killed"
            ));
        }
        if let Some(error) = failure {
            let why = crate::exit::sentence(&error);
            findings.warn(format!("{name}: {failures} of {starts} starts failed: {why}"));
        }
        Ok(findings)
    }
}

fn probed(found: Vec<MeasuredStart>) -> Vec<StartFindings> {
    let of_start = |MeasuredStart { at, outcome, .. }| match outcome {
        StartOutcome::Findings(findings) => Some(StartFindings { at, findings: *findings }),
        StartOutcome::Launch(_) | StartOutcome::Nothing => None,
    };
    found.into_iter().filter_map(of_start).collect()
}

fn launched(found: Vec<MeasuredStart>) -> Vec<(Timestamp, Launched)> {
    let of_start = |MeasuredStart { at, outcome, .. }| match outcome {
        StartOutcome::Launch(launched) => Some((at, *launched)),
        StartOutcome::Findings(_) | StartOutcome::Nothing => None,
    };
    found.into_iter().filter_map(of_start).collect()
}

/// Starts a probe `count` times, with a short random pause before each start, so
/// that starts do not keep step with anything periodic.
///
/// # Errors
/// Every start failed.
pub(crate) fn run(
    mut repeated: Repeated<'_>,
    count: u32,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    let mut turn = 0;
    // As many more as were disturbed, but at most a quarter.
    let mut again: Vec<u32> = Vec::new();
    while turn < count + again.len() as u32 {
        if monitor.stop_requested() {
            break;
        }
        let part = Part::new(
            monitor,
            repeated.name,
            f64::from(turn) / f64::from(count),
            1.0 / f64::from(count),
        );
        if count > 1 {
            pause(seed, turn, monitor);
        }
        match turn.checked_sub(count) {
            None => repeated.start(None, &part),
            Some(place) => repeated.start_number(again[place as usize], None, &part),
        }
        turn += 1;
        if turn == count {
            again = repeated.disturbed();
            again.truncate(count as usize / 4);
        }
    }
    repeated.findings()
}

/// Waits for a random time of up to 40 ms.
pub(crate) fn pause(seed: u64, turn: u32, monitor: &dyn Monitor) {
    const LONGEST: u64 = 40_000_000;
    let drawn = unjank_measure::stats::random::below(seed, &format!("pause {turn}"), LONGEST);
    (Timestamp::now() + Nanos(drawn)).sleep_until_or(|| monitor.stop_requested());
}
