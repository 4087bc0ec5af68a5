//! `unjank ipc inversion`: measures the cost of priority inversion for a real-time
//! call.
//!
//! Client (`SCHED_FIFO`), server (`SCHED_OTHER`) and hog (`SCHED_FIFO` below
//! the client) are on one CPU. The hog computes in bursts, and calls begin at
//! random moments. Calls without and beside the hog alternate.

mod findings;
mod hog;
mod options;

use std::thread;

use rand::RngExt as _;
use unjank_host::process::HelperCommand;
use unjank_host::sched::{AffinityGuard, Realtime, be_ordinary};
use unjank_host::{Nanos, Result, Root, Support, Timestamp};
use unjank_measure::stats::random::{Random, seeded};
use unjank_measure::{Findings, Monitor, Series};

pub use options::Options;

use crate::transport::{Connection, REPORT_BYTES, Route, Transport};
use crate::watch::{self, Watch};
use findings::Cell;
use hog::{Hog, Switch};

/// Calls that do not count.
const WARM_UP: u32 = 20;
/// Calls of one turn.
const TURN: u64 = 20;

/// Measures each transport in turn.
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
    let realtime = Realtime::prepare(root, options.client, options.force)?;
    let realtime_of_hog = Realtime::prepare(root, options.hog, options.force)?;
    drop(realtime.enter()?);
    let mut findings = Findings::default();
    // Servers inherit this thread's policy, and must stand below the hog.
    be_ordinary()?;
    let _pinned = AffinityGuard::pin_to(options.cpu)?;
    let switch = Switch::default();
    thread::scope(|scope| {
        let hog = Hog::start(scope, options, &realtime_of_hog, &switch)?;
        for (index, &transport) in options.transports.iter().enumerate() {
            if let Support::No(reason) = transport.support()? {
                findings.not_supported(format!("ipc/{transport}"), reason);
                continue;
            }
            if monitor.stop_requested() {
                findings.warn("interrupted before every transport was measured");
                break;
            }
            let part = Part { index, of: options.transports.len(), transport, monitor };
            let bench = Bench { options, realtime: &realtime, switch: &switch, part };
            if let Some(cell) = bench.measure(peer, seed, &mut findings)? {
                cell.note(options, &mut findings);
            }
        }
        hog.finish()
    })?;
    Ok(findings)
}

/// One of several transports.
struct Part<'a> {
    index: usize,
    of: usize,
    transport: Transport,
    monitor: &'a dyn Monitor,
}

struct Bench<'a> {
    options: &'a Options,
    realtime: &'a Realtime,
    switch: &'a Switch,
    part: Part<'a>,
}

impl Bench<'_> {
    /// `None` if the device has another context manager, whose CPU is not ours
    /// to choose.
    fn measure(
        &self,
        peer: &HelperCommand,
        seed: u64,
        findings: &mut Findings,
    ) -> Result<Option<Cell>> {
        let Part { transport, monitor, .. } = self.part;
        let peer_cpu = Some(self.options.cpu);
        let route = Route { peer_cpu, ..Route::echo(transport, REPORT_BYTES) };
        let mut connection = Connection::open(&route, peer)?;
        if connection.call_kind() == "ping" {
            let reason = "the device already has a context manager, which runs on any CPU";
            findings.not_supported(format!("ipc/{transport}"), reason);
            return Ok(None);
        }
        let watch = Watch::new(connection.peer_id());
        let mut cell = Cell::new(transport);
        let measured = watch.during(monitor, || {
            self.take_turns(&mut connection, &mut seeded(seed, transport.name()), &watch, &mut cell)
        })?;
        self.switch.turn(false);
        match measured {
            Err(_) if monitor.stop_requested() => {}
            Err(_) if watch.gave_up() => return Err(watch::no_reply(transport)),
            measured => measured?,
        }
        Ok(Some(cell))
    }

    fn take_turns(
        &self,
        connection: &mut Connection,
        random: &mut Random,
        watch: &Watch,
        cell: &mut Cell,
    ) -> Result<()> {
        let Self { options, part, .. } = self;
        for _ in 0..WARM_UP {
            connection.call(&[0; REPORT_BYTES], &mut [0; REPORT_BYTES])?;
        }
        let turns = options.calls.div_ceil(TURN);
        for turn in 0..turns {
            let done = (part.index as f64 + turn as f64 / turns as f64) / part.of as f64;
            part.monitor.progress(done, &format!("calls over {}", part.transport));
            let calls = TURN.min(options.calls - turn * TURN);
            for half in [0, 1] {
                let beside_hog = (turn + half) % 2 == 1;
                let series = if beside_hog { &mut cell.beside_hog } else { &mut cell.alone };
                self.switch.turn(beside_hog);
                self.call(calls, connection, random, watch, series)?;
                if part.monitor.stop_requested() {
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
