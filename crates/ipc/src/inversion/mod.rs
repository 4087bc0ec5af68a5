//! `unjank ipc inversion`: measures the cost of priority inversion for a real-time
//! call.
//!
//! Client (`SCHED_FIFO`), server (`SCHED_OTHER`) and hog (`SCHED_FIFO` below
//! the client) are on one CPU. The hog computes in bursts, and calls begin at
//! random moments. Calls without and beside the hog alternate.
//!
//! Calls are divided into several starts. Each has a new server process, and new
//! threads for client and hog. The starts of all transports alternate.

mod findings;
mod hog;
mod options;

use std::thread;

use rand::RngExt as _;
use unjank_host::process::HelperCommand;
use unjank_host::sched::{AffinityGuard, Realtime, be_ordinary};
use unjank_host::{Error, Nanos, Result, Root, Support, Timestamp};
use unjank_measure::stats::random::{Random, seeded};
use unjank_measure::{Findings, Monitor, Series, StartFindings};

pub use options::Options;

use crate::starts;
use crate::transport::{Connection, REPORT_BYTES, Route, Transport};
use crate::watch::{self, Watch};
use findings::{Cell, note};
use hog::{Hog, Switch};

/// Calls that do not count.
const WARM_UP: u32 = 20;
/// Calls of one turn.
const TURN: u64 = 20;

/// Measures all transports.
///
/// Series: `ipc/<transport>/inversion/round_trip` with the label `load`
/// (`none` or `hog`). Facts: `…/inverted`, the share of calls beside the hog
/// that took longer than a quarter of its burst. A verdict for each transport.
///
/// # Errors
/// `Invalid` options; `Permission` without the privilege for `SCHED_FIFO`; a
/// server that could not be started, or died.
pub fn run(
    options: &Options,
    peer: &HelperCommand,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    options.check()?;
    let starts = starts::divide(options.calls, options.starts)?;
    let realtime = Realtime::prepare(root, options.client, options.force)?;
    let realtime_of_hog = Realtime::prepare(root, options.hog, options.force)?;
    drop(realtime.enter()?);
    let mut findings = Findings::default();
    // Servers and threads inherit this thread's policy, and must stand below the hog.
    be_ordinary()?;
    let _pinned = AffinityGuard::pin_to(options.cpu)?;
    let mut measured: Vec<(Transport, Vec<StartFindings>)> = Vec::new();
    for &transport in &options.transports {
        match transport.support()? {
            Support::Yes(()) => measured.push((transport, Vec::new())),
            Support::No(reason) => findings.not_supported(format!("ipc/{transport}"), reason),
        }
    }
    let bench =
        Bench { options, realtime: &realtime, realtime_of_hog: &realtime_of_hog, peer, monitor };
    for (number, &calls) in starts.iter().enumerate() {
        let of = measured.len();
        let mut foreign = Vec::new();
        for place in 0..of {
            // Another order in each start.
            let (transport, done) = &mut measured[(place + number) % of];
            if monitor.stop_requested() {
                break;
            }
            let before = (number as f64 + place as f64 / of as f64) / starts.len() as f64;
            let share = 1.0 / (starts.len() * of) as f64;
            let part = Part { transport: *transport, calls, before, share };
            let random = seeded(seed, &format!("{transport} {number}"));
            match bench.start(&part, random)? {
                Support::Yes(start) => done.extend(start),
                Support::No(reason) => {
                    findings.not_supported(format!("ipc/{transport}"), reason);
                    foreign.push(*transport);
                }
            }
        }
        measured.retain(|(transport, _)| !foreign.contains(transport));
    }
    if measured.iter().any(|(_, starts)| starts.is_empty()) {
        findings.warn("interrupted before every transport was measured");
    }
    for (transport, starts) in measured {
        note(transport, starts, options, &mut findings)?;
    }
    Ok(findings)
}

/// One start of a transport.
struct Part {
    transport: Transport,
    calls: u64,
    /// The share of all calls that came before it.
    before: f64,
    /// Its share of all calls.
    share: f64,
}

struct Bench<'a> {
    options: &'a Options,
    realtime: &'a Realtime,
    realtime_of_hog: &'a Realtime,
    peer: &'a HelperCommand,
    monitor: &'a dyn Monitor,
}

impl Bench<'_> {
    /// Calls a new server from a new thread, with a new hog. No findings if it was
    /// interrupted before a call beside the hog; not supported if the device has
    /// another context manager, whose CPU is not ours to choose.
    fn start(&self, part: &Part, random: Random) -> Result<Support<Option<StartFindings>>> {
        let switch = Switch::default();
        thread::scope(|scope| {
            let hog = Hog::start(scope, self.options, self.realtime_of_hog, &switch)?;
            let client = thread::Builder::new()
                .name("ipc/client".to_owned())
                .spawn_scoped(scope, || self.measure(part, random, &switch))
                .map_err(|error| Error::syscall("clone", "the client's thread", error))?;
            let measured =
                client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            hog.finish()?;
            Ok(measured)
        })
    }

    fn measure(
        &self,
        part: &Part,
        mut random: Random,
        switch: &Switch,
    ) -> Result<Support<Option<StartFindings>>> {
        let at = Timestamp::now();
        let Self { options, monitor, .. } = *self;
        let transport = part.transport;
        let route = Route { peer_cpu: Some(options.cpu), ..Route::echo(transport, REPORT_BYTES) };
        let mut connection = Connection::open(&route, self.peer)?;
        if connection.call_kind() == "ping" {
            let reason = "the device already has a context manager, which runs on any CPU";
            return Ok(Support::No(reason.to_owned()));
        }
        let watch = Watch::new(connection.peer_id());
        let mut cell = Cell::new(transport);
        let measured = watch.during(monitor, || {
            self.take_turns(part, &mut connection, &mut random, switch, &watch, &mut cell)
        })?;
        switch.turn(false);
        match measured {
            Err(_) if monitor.stop_requested() => {}
            Err(_) if watch.gave_up() => return Err(watch::no_reply(transport)),
            measured => measured?,
        }
        let findings = cell.finish(options);
        Ok(Support::Yes(findings.map(|findings| StartFindings { at, findings })))
    }

    fn take_turns(
        &self,
        part: &Part,
        connection: &mut Connection,
        random: &mut Random,
        switch: &Switch,
        watch: &Watch,
        cell: &mut Cell,
    ) -> Result<()> {
        for _ in 0..WARM_UP {
            connection.call(&[0; REPORT_BYTES], &mut [0; REPORT_BYTES])?;
        }
        let turns = part.calls.div_ceil(TURN);
        for turn in 0..turns {
            let done = part.before + part.share * turn as f64 / turns as f64;
            self.monitor.progress(done, &format!("calls over {}", part.transport));
            let calls = TURN.min(part.calls - turn * TURN);
            for half in [0, 1] {
                let beside_hog = (turn + half) % 2 == 1;
                let series = if beside_hog { &mut cell.beside_hog } else { &mut cell.alone };
                switch.turn(beside_hog);
                self.call(calls, connection, random, watch, series)?;
                if self.monitor.stop_requested() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Calls at random moments of the hog's bursts, at real-time priority.
    fn call(
        &self,
        calls: u64,
        connection: &mut Connection,
        random: &mut Random,
        watch: &Watch,
        series: &mut Series,
    ) -> Result<()> {
        let period = self.options.burst + self.options.pause();
        let _realtime = self.realtime.enter()?;
        for _ in 0..calls {
            let wait = Nanos(random.random_range(0..period.get()));
            (Timestamp::now() + wait).sleep_until();
            let before = Timestamp::now();
            connection.call(&[0; REPORT_BYTES], &mut [0; REPORT_BYTES])?;
            series.record(Timestamp::now().since(before));
            watch.answered();
        }
        Ok(())
    }
}
