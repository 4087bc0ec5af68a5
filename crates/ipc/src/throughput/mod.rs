//! `unjank ipc throughput`: calls back to back, over payload sizes.
//!
//! At each payload, a connection over every transport is open. The transports
//! take turns, in an order that is reversed from round to round. Each call is
//! timed separately. CPU time is that of the client's thread over a whole turn.

mod findings;
mod median;
mod options;
mod tables;

use unjank_host::clock::thread_cpu_time;
use unjank_host::process::HelperCommand;
use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Nanos, Result, Support, Timestamp};
use unjank_measure::{Findings, Monitor, Series};

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
    /// Distribution of the round trips of all turns.
    pub series: Series,
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
    let cpus = options.cpus(&CpuSet::allowed()?)?;
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
    let _pinned = cpus.map(|(client, _)| AffinityGuard::pin_to(client)).transpose()?;
    for (index, &payload) in payloads.iter().enumerate() {
        if monitor.stop_requested() {
            measurements.notes.warn("interrupted before every payload was measured");
            break;
        }
        let done = index as f64 / payloads.len() as f64;
        monitor.progress(done, &format!("calls with {payload} bytes"));
        let peer_cpu = cpus.map(|(_, server)| server);
        let mut lanes = Vec::new();
        for &transport in &transports {
            let route = Route { peer_cpu, ..Route::echo(transport, payload) };
            lanes.push(Lane::open(&route, peer, monitor, &mut measurements.notes)?);
        }
        let mut lanes: Vec<Lane> = lanes.into_iter().flatten().collect();
        take_turns(&mut lanes, options.rounds, turn, monitor)?;
        measurements.cells.extend(lanes.into_iter().map(|lane| lane.cell));
    }
    measurements.cells.retain(|cell| cell.series.n() > 0);
    Ok(measurements)
}

fn take_turns(lanes: &mut [Lane], rounds: usize, turn: Nanos, monitor: &dyn Monitor) -> Result<()> {
    for round in 0..rounds {
        for place in 0..lanes.len() {
            let place = if round % 2 == 0 { place } else { lanes.len() - 1 - place };
            let lane = &mut lanes[place];
            let watch = Watch::new(lane.connection.peer_id());
            match watch.during(monitor, || lane.take_turn(turn, monitor, &watch))? {
                Err(_) if monitor.stop_requested() => return Ok(()),
                Err(_) if watch.gave_up() => return Err(watch::no_reply(lane.cell.transport)),
                taken => taken?,
            }
            if monitor.stop_requested() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A connection, with the measurements over it.
struct Lane {
    connection: Connection,
    request: Vec<u8>,
    reply: Vec<u8>,
    cell: Cell,
}

impl Lane {
    /// `None` if the device has another context manager, which does not echo.
    fn open(
        route: &Route,
        peer: &HelperCommand,
        monitor: &dyn Monitor,
        notes: &mut Findings,
    ) -> Result<Option<Self>> {
        let connection = Connection::open(route, peer)?;
        let Route { transport, payload, .. } = *route;
        if connection.call_kind() == "ping" {
            let reason = "the device already has a context manager, which does not echo";
            let what = format!("ipc/{transport}");
            if !notes.unsupported.iter().any(|known| known.what == what) {
                notes.not_supported(what, reason);
            }
            return Ok(None);
        }
        let series = Series::new(format!("ipc/{transport}/round_trip"))
            .with_label("payload", payload.to_string());
        let cell = Cell { transport, payload, series, rounds: Vec::new() };
        let (request, reply) = (vec![0x5a; payload], vec![0; payload]);
        let mut lane = Self { connection, request, reply, cell };
        watch::watched(lane.connection.peer_id(), transport, monitor, |_| {
            for _ in 0..WARM_UP {
                lane.connection.call(&lane.request, &mut lane.reply)?;
            }
            Ok(())
        })?;
        Ok(Some(lane))
    }

    /// Calls until the turn is over, at least one batch.
    fn take_turn(&mut self, turn: Nanos, monitor: &dyn Monitor, watch: &Watch) -> Result<()> {
        let mut calls = 0_u64;
        let mut sum = 0_u64;
        let cpu_before = thread_cpu_time();
        let start = Timestamp::now();
        loop {
            for _ in 0..BATCH {
                let before = Timestamp::now();
                self.connection.call(&self.request, &mut self.reply)?;
                let took = Timestamp::now().since(before);
                self.cell.series.record(took);
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
        self.cell.rounds.push(Round { calls, time: each(sum), cpu: each(cpu.get()) });
        Ok(())
    }
}
