//! `unjank ipc probe`: request/reply round trips between two processes.

mod options;

pub use options::{Options, Placement};

use unjank_host::process::HelperCommand;
use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Nanos, Result, Support, Timestamp};
use unjank_measure::stats::proportion;
use unjank_measure::{Fact, Findings, Monitor, Outlier, Series, Unit};

use crate::transport::{Connection, Route, Transport};
use crate::watch::{self, Watch};

/// Calls before the first one that counts.
const WARM_UP: u32 = 100;

/// Calls between two checks of the time and the stop flag.
const BATCH: u32 = 32;

/// Measures each transport in each placement in turn, for equal shares of the
/// time.
///
/// Series: `ipc/<transport>/round_trip`, label `placement`. Facts:
/// `ipc/<transport>/deadline_missed`, the share of calls that took longer than
/// the deadline. The clock is read once before and once after each call and
/// nothing is subtracted.
///
/// # Errors
/// `Invalid` options; a peer that could not be started, or died.
pub fn run(options: &Options, peer: &HelperCommand, monitor: &dyn Monitor) -> Result<Findings> {
    let mut cells = options.cells(&CpuSet::allowed()?)?;
    let mut findings = Findings::default();
    for placement in options.placements.iter().filter(|&p| !cells.iter().any(|c| c.1 == *p)) {
        findings.not_supported(
            format!("ipc, placement {}", placement.name()),
            "this process may use one CPU only",
        );
    }
    for &transport in &options.transports {
        if let Support::No(reason) = transport.support()? {
            findings.not_supported(format!("ipc/{transport}"), reason);
            cells.retain(|cell| cell.0 != transport);
        }
    }
    let share = Nanos(options.duration.get() / cells.len().max(1) as u64);
    for (index, &(transport, placement, cpus)) in cells.iter().enumerate() {
        if monitor.stop_requested() {
            findings.warn("interrupted before every transport was measured");
            break;
        }
        let done = index as f64 / cells.len() as f64;
        monitor.progress(done, &format!("calls over {transport}, {}", placement.name()));
        let (client_cpu, peer_cpu) = cpus.unzip();
        let pinned = client_cpu.map(AffinityGuard::pin_to).transpose()?;
        let route = Route { peer_cpu, ..Route::echo(transport, options.payload) };
        let mut connection = Connection::open(&route, peer)?;
        let placement = match connection.peer_id() {
            Some(_) => placement,
            // The peer has no placement, so it is measured once.
            None if findings.series_named(&series_name(transport)).is_some() => continue,
            None => {
                drop(pinned);
                Placement::Free
            }
        };
        let cell = Cell { transport, placement, share };
        let watch = Watch::new(connection.peer_id());
        let measured = watch.during(monitor, || {
            measure(&cell, options, &mut connection, monitor, &watch, &mut findings)
        })?;
        match measured {
            // The watch may have ended this call because of the request to stop.
            Err(_) if monitor.stop_requested() => {}
            Err(_) if watch.gave_up() => return Err(watch::no_reply(transport)),
            measured => measured?,
        }
    }
    findings.facts.push(Fact::new(
        "ipc/deadline",
        options.deadline.get() as f64,
        Unit::Nanoseconds,
    ));
    Ok(findings)
}

fn series_name(transport: Transport) -> String {
    format!("ipc/{transport}/round_trip")
}

/// One transport in one placement.
struct Cell {
    transport: Transport,
    placement: Placement,
    share: Nanos,
}

/// Calls until the time is over, at least one batch. Notes the finished calls
/// even if one fails.
fn measure(
    cell: &Cell,
    options: &Options,
    connection: &mut Connection,
    monitor: &dyn Monitor,
    watch: &Watch,
    findings: &mut Findings,
) -> Result<()> {
    let mut calls = Calls::new(options);
    for _ in 0..WARM_UP {
        connection.call(&calls.request, &mut calls.reply)?;
    }
    let payload = if connection.call_kind() == "ping" { 0 } else { options.payload };
    let start = Timestamp::now();
    let end = start + cell.share;
    let mut recorder = CellRecorder {
        series: Series::new(series_name(cell.transport))
            .with_label("placement", cell.placement.name())
            .with_label("call", connection.call_kind())
            .with_label("payload", payload.to_string())
            .with_course(start, cell.share),
        late: 0,
        worst: (Nanos::ZERO, start),
    };
    let ended = loop {
        if let Err(error) = calls.batch(connection, options.deadline, &mut recorder) {
            break Err(error);
        }
        // Lets both processes fall asleep, as they are before a rare call.
        let next = Timestamp::now() + options.pause.unwrap_or(Nanos::ZERO);
        let stop = || {
            watch.answered();
            monitor.stop_requested()
        };
        if next >= end || !next.sleep_until_or(stop) {
            break Ok(());
        }
    };
    if recorder.series.n() > 0 {
        recorder.note(cell, start, findings);
    }
    ended
}

/// The buffers of request and reply.
struct Calls {
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Calls {
    fn new(options: &Options) -> Self {
        Self { request: vec![0x5a; options.payload], reply: vec![0; options.payload] }
    }

    fn batch(
        &mut self,
        connection: &mut Connection,
        deadline: Nanos,
        recorder: &mut CellRecorder,
    ) -> Result<()> {
        for _ in 0..BATCH {
            let before = Timestamp::now();
            connection.call(&self.request, &mut self.reply)?;
            let after = Timestamp::now();
            let taken = after.since(before);
            recorder.series.record_at(after, taken);
            recorder.late += u64::from(taken > deadline);
            if taken > recorder.worst.0 {
                recorder.worst = (taken, before);
            }
        }
        Ok(())
    }
}

/// Records the calls of one cell.
struct CellRecorder {
    series: Series,
    late: u64,
    /// Length and start of the slowest call.
    worst: (Nanos, Timestamp),
}

impl CellRecorder {
    fn note(self, cell: &Cell, start: Timestamp, findings: &mut Findings) {
        let series = self.series.finish();
        let n = series.n;
        findings.outliers.push(Outlier {
            series: series.name.clone(),
            labels: series.labels.clone(),
            at: self.worst.1.since(start).get(),
            value: self.worst.0.get(),
            cpu: None,
            cause: None,
        });
        findings.facts.push(
            Fact::new(
                format!("ipc/{}/deadline_missed", cell.transport),
                self.late as f64 / n as f64,
                Unit::Ratio,
            )
            .with_label("placement", cell.placement.name())
            .with_interval(proportion::interval(self.late, n), n)
            .averaged(),
        );
        findings.series.push(series);
    }
}
