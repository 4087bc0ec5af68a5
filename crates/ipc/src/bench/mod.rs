//! `unjank ipc bench`: compares this crate's calls with those of other tools,
//! alternating in one run.

mod perf;

use unjank_host::process::HelperCommand;
use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Error, Nanos, Result, Timestamp};
use unjank_measure::experiment::{Arm, Plan, Question, Trials};
use unjank_measure::record::Direction;
use unjank_measure::{Findings, Monitor, Series, Unit};

use crate::probe::Placement;
use crate::transport::{Connection, REPORT_BYTES, Route, Transport};
use crate::watch::{self, Watch};
use perf::PerfBench;

/// Length and number of trials.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The length of one trial.
    pub trial: Nanos,
    /// Pairs of trials, for each question.
    pub pairs: usize,
}

/// Calls that do not count, after a connection is made.
const WARM_UP: u32 = 200;
/// Calls between two checks whether the trial is over.
const BATCH: u32 = 32;
/// Bytes of a message of `perf bench sched pipe`: an `int`.
const INT: usize = 4;

/// Compares, in alternating pairs of trials: a round trip over two pipes with
/// that of `perf bench sched pipe`, on one CPU; and a round trip over pi-channel
/// with one over a unix socket, on one CPU and on two.
///
/// # Errors
/// `Invalid` options; a peer that could not be started.
pub fn run(
    comparison: &Comparison,
    peer: &HelperCommand,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    if comparison.pairs == 0 || comparison.trial < Nanos::from_millis(1) {
        let limits = "a trial lasts at least 1 ms, and at least one pair is needed";
        return Err(Error::Invalid(limits.to_owned()));
    }
    let plan = Plan { pairs: comparison.pairs, warm_up: 1, seed };
    let allowed = CpuSet::allowed()?;
    let mut findings = Findings::default();
    against_perf(comparison, plan, &allowed, peer, monitor, &mut findings)?;
    for placement in [Placement::OneCpu, Placement::TwoCpus] {
        if monitor.stop_requested() {
            break;
        }
        if placement.cpus(&allowed).is_none() {
            findings.not_supported(
                format!("ipc/bench, {}", placement.name()),
                "this process may use one CPU only",
            );
            continue;
        }
        pi_against_unix(comparison, plan, placement, &allowed, peer, monitor, &mut findings)?;
    }
    Ok(findings)
}

/// Compares means, because `perf bench` prints one mean for each trial.
fn against_perf(
    comparison: &Comparison,
    plan: Plan,
    allowed: &CpuSet,
    peer: &HelperCommand,
    monitor: &dyn Monitor,
    findings: &mut Findings,
) -> Result<()> {
    let subject = "ipc/bench/one-cpu/pipe";
    let Some((cpu, _)) = Placement::OneCpu.cpus(allowed) else { return Ok(()) };
    let pinned = AffinityGuard::pin_to(cpu)?;
    let perf = match PerfBench::new(comparison.trial) {
        Ok(perf) => perf,
        Err(Error::Unsupported(reason)) => {
            findings.not_supported("perf bench sched pipe", reason);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    drop(pinned);
    let mut places = Places::new(Placement::OneCpu, allowed);
    let trials = plan.run(monitor, |arm| {
        let (cpu, _) = places.next();
        let _pinned = AffinityGuard::pin_to(cpu)?;
        let mean = match arm {
            Arm::A => perf.run_trial()?,
            Arm::B => {
                let mut pipe = Caller::connect(Transport::Pipe, INT, cpu, peer, monitor)?;
                pipe.run_trial(comparison.trial, subject, monitor)?.mean
            }
        };
        let mut series = Series::new(subject);
        series.record(Nanos(mean.round() as u64));
        Ok::<_, Error>(series)
    })?;
    let question = Question {
        text: "Is a round trip over two pipes as fast as perf bench sched pipe's?".to_owned(),
        subject: subject.to_owned(),
        unit: Unit::Nanoseconds,
        better: Direction::Smaller,
        min_effect: 0.10,
    };
    note(&trials, &question, ["perf", "unjank"], findings);
    Ok(())
}

fn pi_against_unix(
    comparison: &Comparison,
    plan: Plan,
    placement: Placement,
    allowed: &CpuSet,
    peer: &HelperCommand,
    monitor: &dyn Monitor,
    findings: &mut Findings,
) -> Result<()> {
    let place = placement.name();
    let subject = format!("ipc/bench/{place}/pi");
    let mut places = Places::new(placement, allowed);
    let trials = plan.run(monitor, |arm| {
        let (client_cpu, server_cpu) = places.next();
        let _pinned = AffinityGuard::pin_to(client_cpu)?;
        let transport = match arm {
            Arm::A => Transport::Unix,
            Arm::B => Transport::Pi,
        };
        let mut caller = Caller::connect(transport, REPORT_BYTES, server_cpu, peer, monitor)?;
        caller.run_trial(comparison.trial, &subject, monitor).map(|trial| trial.series)
    })?;
    let question = Question {
        text: format!("Is a round trip over pi faster than over a unix socket, {place}?"),
        subject: subject.clone(),
        unit: Unit::Nanoseconds,
        better: Direction::Smaller,
        min_effect: 0.05,
    };
    note(&trials, &question, ["unix", "pi"], findings);
    Ok(())
}

/// The CPUs of each trial: both trials of a pair have the same, the next pair has
/// others where there are any.
struct Places<'a> {
    placement: Placement,
    allowed: &'a CpuSet,
    trials: usize,
}

impl<'a> Places<'a> {
    fn new(placement: Placement, allowed: &'a CpuSet) -> Self {
        Self { placement, allowed, trials: 0 }
    }

    /// CPUs of client and server.
    fn next(&mut self) -> (usize, usize) {
        let pair = self.trials / 2;
        self.trials += 1;
        // Where there are too few CPUs, nothing is measured.
        self.placement.cpus_of_start(self.allowed, pair).unwrap_or_default()
    }
}

/// Adds the answer, and the series of both arms.
fn note(trials: &Trials<Series>, question: &Question, arms: [&str; 2], findings: &mut Findings) {
    trials.conclude(question).note(findings);
    for (mut series, arm) in trials.pooled(question).into_iter().zip(arms) {
        series.labels.insert("arm".to_owned(), arm.to_owned());
        findings.series.push(series);
    }
}

/// A connection whose calls are measured in one trial. The next trial has a new
/// peer process, as trials that share one would not be independent.
struct Caller {
    transport: Transport,
    connection: Connection,
    request: Vec<u8>,
    reply: Vec<u8>,
}

/// The round trips of one trial.
struct Trial {
    series: Series,
    /// Mean round trip in nanoseconds.
    mean: f64,
}

impl Caller {
    fn connect(
        transport: Transport,
        payload: usize,
        cpu: usize,
        peer: &HelperCommand,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let route = Route { peer_cpu: Some(cpu), ..Route::echo(transport, payload) };
        let connection = Connection::open(&route, peer)?;
        let (request, reply) = (vec![0; payload], vec![0; payload]);
        let mut caller = Self { transport, connection, request, reply };
        watch::watched(caller.connection.peer_id(), transport, monitor, |_| {
            for _ in 0..WARM_UP {
                caller.connection.call(&caller.request, &mut caller.reply)?;
            }
            Ok(())
        })?;
        Ok(caller)
    }

    fn run_trial(&mut self, length: Nanos, subject: &str, monitor: &dyn Monitor) -> Result<Trial> {
        let (peer, transport) = (self.connection.peer_id(), self.transport);
        watch::watched(peer, transport, monitor, |watch| self.calls(length, subject, watch))
    }

    fn calls(&mut self, length: Nanos, subject: &str, watch: &Watch) -> Result<Trial> {
        let mut series = Series::new(subject);
        let mut calls = 0_u64;
        let start = Timestamp::now();
        let mut now = start;
        while now.since(start) < length {
            for _ in 0..BATCH {
                let before = Timestamp::now();
                self.connection.call(&self.request, &mut self.reply)?;
                now = Timestamp::now();
                series.record(now.since(before));
            }
            calls += u64::from(BATCH);
            watch.answered();
        }
        Ok(Trial { series, mean: now.since(start).get() as f64 / calls as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trials_of_a_pair_share_their_cpus_and_pairs_take_turns() {
        let allowed = CpuSet::new([0, 3]);
        let mut places = Places::new(Placement::TwoCpus, &allowed);
        let cpus: Vec<_> = (0..6).map(|_| places.next()).collect();
        assert_eq!(cpus, [(0, 3), (0, 3), (3, 0), (3, 0), (0, 3), (0, 3)]);
    }
}
