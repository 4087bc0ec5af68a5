//! `unjank ipc throughput`: calls back to back, over payload sizes.
//!
//! At each payload, the transports take turns, in an order that is reversed from
//! round to round. Each turn has a new peer process, and every second round other CPUs where
//! there is a choice, so turns are independent. Each call is timed separately. CPU
//! time is that of the client's thread over a whole turn.

mod findings;
mod median;
mod options;
mod tables;

use unjank_host::clock::thread_cpu_time;
use unjank_host::process::HelperCommand;
use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Error, Nanos, Result, Support, Timestamp};
use unjank_measure::{Findings, Monitor, Series, SeriesRecord, StartFindings, pool};

pub use options::Options;

use crate::transport::{Connection, Route, Transport};
use crate::watch::{self, Watch};

/// Calls that do not count, at each payload.
const WARM_UP: u32 = 32;
/// Calls between two checks of the time and the stop flag.
const BATCH: u32 = 8;

/// What was measured over one transport at one payload.
#[derive(Debug)]
pub struct Cell {
    /// The transport that carried the calls.
    pub transport: Transport,
    /// Bytes of a request, and of its reply.
    pub payload: usize,
    /// Distribution of the round trips. Each turn is a start.
    pub series: SeriesRecord,
    /// Its turns, in the order in which they ran.
    pub rounds: Vec<Round>,
}

/// One turn of a transport.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// Number of calls in the turn.
    pub calls: u64,
    /// The mean time of a call, in nanoseconds.
    pub time: f64,
    /// The mean CPU time of the client's thread for a call, in nanoseconds.
    pub cpu: f64,
}

/// The measurements of all transports and payloads.
#[derive(Debug, Default)]
pub struct Measurements {
    /// Cells ordered by payload, then by transport.
    pub cells: Vec<Cell>,
    /// Warnings, and transports that are not supported here.
    pub notes: Findings,
}

/// Measures each payload in turn, and all transports at each.
///
/// # Errors
/// `Invalid` options; a server that could not be started, or died.
pub fn run(options: &Options, peer: &HelperCommand, monitor: &dyn Monitor) -> Result<Measurements> {
    options.check()?;
    let payloads = options.payloads()?;
    let allowed = CpuSet::allowed()?;
    let mut measurements = Measurements::default();
    let mut transports = Vec::new();
    for &transport in &options.transports {
        match transport.support()? {
            Support::Yes(()) => transports.push(transport),
            Support::No(reason) => {
                measurements.notes.not_supported(format!("ipc/{transport}"), reason);
            }
        }
    }
    let turns = (payloads.len() * transports.len() * options.rounds).max(1) as u64;
    let turn = Nanos(options.duration.get() / turns);
    for (index, &payload) in payloads.iter().enumerate() {
        if monitor.stop_requested() {
            measurements.notes.warn("interrupted before every payload was measured");
            break;
        }
        let done = index as f64 / payloads.len() as f64;
        monitor.progress(done, &format!("calls with {payload} bytes"));
        let mut lanes: Vec<Lane> =
            transports.iter().map(|&transport| Lane::new(transport, payload)).collect();
        for round in 0..options.rounds {
            let cpus = options.cpus(&allowed, round / 2)?;
            let bench = Bench { cpus, turn, peer, monitor };
            bench.round(round, &mut lanes, &mut measurements.notes)?;
            transports.retain(|known| lanes.iter().any(|lane| lane.transport == *known));
        }
        for lane in lanes {
            measurements.cells.extend(lane.finish()?);
        }
    }
    Ok(measurements)
}

/// The circumstances of one round.
struct Bench<'a> {
    /// CPUs of client and server; `None` if they are not pinned.
    cpus: Option<(usize, usize)>,
    turn: Nanos,
    peer: &'a HelperCommand,
    monitor: &'a dyn Monitor,
}

impl Bench<'_> {
    /// One turn of each lane. Removes lanes whose device has another context manager,
    /// which does not echo.
    fn round(&self, round: usize, lanes: &mut Vec<Lane>, notes: &mut Findings) -> Result<()> {
        let _pinned = self.cpus.map(|(client, _)| AffinityGuard::pin_to(client)).transpose()?;
        let mut foreign = Vec::new();
        for place in 0..lanes.len() {
            let place = if round.is_multiple_of(2) { place } else { lanes.len() - 1 - place };
            let lane = &mut lanes[place];
            if self.monitor.stop_requested() {
                break;
            }
            match self.take_turn(lane) {
                Ok(Support::Yes(())) => {}
                Ok(Support::No(reason)) => {
                    notes.not_supported(format!("ipc/{}", lane.transport), reason);
                    foreign.push(lane.transport);
                }
                Err(_) if self.monitor.stop_requested() => break,
                Err(error) => return Err(error),
            }
        }
        lanes.retain(|lane| !foreign.contains(&lane.transport));
        Ok(())
    }

    fn take_turn(&self, lane: &mut Lane) -> Result<Support<()>> {
        let Lane { transport, payload, .. } = *lane;
        let peer_cpu = self.cpus.map(|(_, server)| server);
        let route = Route { peer_cpu, ..Route::echo(transport, payload) };
        let mut connection = Connection::open(&route, self.peer)?;
        if connection.call_kind() == "ping" {
            let reason = "the device already has a context manager, which does not echo";
            return Ok(Support::No(reason.to_owned()));
        }
        let Self { turn, monitor, .. } = *self;
        watch::watched(connection.peer_id(), transport, monitor, |watch| {
            lane.take_turn(&mut connection, turn, monitor, watch)
        })?;
        Ok(Support::Yes(()))
    }
}

/// A transport at one payload, with the measurements over it.
struct Lane {
    transport: Transport,
    payload: usize,
    request: Vec<u8>,
    reply: Vec<u8>,
    turns: Vec<StartFindings>,
    rounds: Vec<Round>,
}

impl Lane {
    fn new(transport: Transport, payload: usize) -> Self {
        let (request, reply) = (vec![0x5a; payload], vec![0; payload]);
        Self { transport, payload, request, reply, turns: Vec::new(), rounds: Vec::new() }
    }

    /// Calls until the turn is over, at least one batch.
    fn take_turn(
        &mut self,
        connection: &mut Connection,
        turn: Nanos,
        monitor: &dyn Monitor,
        watch: &Watch,
    ) -> Result<()> {
        for _ in 0..WARM_UP {
            connection.call(&self.request, &mut self.reply)?;
        }
        let mut series = Series::new(format!("ipc/{}/round_trip", self.transport))
            .with_label("payload", self.payload.to_string());
        let mut calls = 0_u64;
        let mut sum = 0_u64;
        let cpu_before = thread_cpu_time();
        let start = Timestamp::now();
        loop {
            for _ in 0..BATCH {
                let before = Timestamp::now();
                connection.call(&self.request, &mut self.reply)?;
                let took = Timestamp::now().since(before);
                series.record(took);
                sum = sum.saturating_add(took.get());
            }
            calls += u64::from(BATCH);
            watch.answered();
            if Timestamp::now().since(start) >= turn || monitor.stop_requested() {
                break;
            }
        }
        let cpu = Nanos(thread_cpu_time().get().saturating_sub(cpu_before.get()));
        let each = |sum: u64| sum as f64 / calls as f64;
        self.rounds.push(Round { calls, time: each(sum), cpu: each(cpu.get()) });
        let findings = Findings { series: vec![series.finish()], ..Findings::default() };
        self.turns.push(StartFindings { at: start, findings });
        Ok(())
    }

    /// `None` without a turn.
    fn finish(self) -> Result<Option<Cell>> {
        let Self { transport, payload, turns, rounds, .. } = self;
        let pooled = pool(turns).map_err(|error| Error::Invalid(error.to_string()))?;
        let series = pooled.series.into_iter().next();
        Ok(series.map(|series| Cell { transport, payload, series, rounds }))
    }
}
