//! `unjank ipc probe`: request/reply round trips between two processes.

mod options;

pub use options::{Options, Placement};

use std::time::Duration;

use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Nanos, Result, Support, Timestamp};
use unjank_measure::stats::proportion;
use unjank_measure::{Fact, Findings, Monitor, Outlier, Series, Unit};

use crate::transport::{Connection, PeerCommand, Transport};

/// Calls before the first one that counts.
const WARM_UP: u32 = 100;

/// Calls between two looks at the clock's end and the stop flag.
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
pub fn run(options: &Options, peer: &PeerCommand, monitor: &dyn Monitor) -> Result<Findings> {
    let cells = options.cells(&CpuSet::allowed()?)?;
    let mut findings = Findings::default();
    for placement in options.placements.iter().filter(|&p| !cells.iter().any(|c| c.1 == *p)) {
        findings.not_supported(
            format!("ipc, placement {}", placement.name()),
            "this process may use one CPU only",
        );
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
        let _pinned = client_cpu.map(AffinityGuard::pin_to).transpose()?;
        let connection = Connection::open(transport, options.payload, peer_cpu, peer)?;
        let mut connection = match connection {
            Support::Yes(connection) => connection,
            Support::No(reason) => {
                let what = format!("ipc/{transport}, {}", placement.name());
                findings.not_supported(what, reason);
                continue;
            }
        };
        let cell = Cell { transport, placement, share };
        measure(&cell, options, &mut connection, monitor, &mut findings)?;
    }
    findings.facts.push(Fact::new(
        "ipc/deadline",
        options.deadline.get() as f64,
        Unit::Nanoseconds,
    ));
    Ok(findings)
}

/// One transport in one placement.
struct Cell {
    transport: Transport,
    placement: Placement,
    share: Nanos,
}

fn measure(
    cell: &Cell,
    options: &Options,
    connection: &mut Connection,
    monitor: &dyn Monitor,
    findings: &mut Findings,
) -> Result<()> {
    let name = format!("ipc/{}/round_trip", cell.transport);
    let request = vec![0x5a; options.payload];
    let mut reply = vec![0; options.payload];
    for _ in 0..WARM_UP {
        connection.call(&request, &mut reply)?;
    }
    let start = Timestamp::now();
    let end = start + cell.share;
    let mut series = Series::new(name.clone())
        .with_label("placement", cell.placement.name())
        .with_label("call", connection.call_kind())
        .with_label("payload", options.payload.to_string())
        .with_course(start, cell.share);
    let (mut late, mut worst) = (0_u64, (Nanos::ZERO, start));
    while Timestamp::now() < end && !monitor.stop_requested() {
        for _ in 0..BATCH {
            let before = Timestamp::now();
            connection.call(&request, &mut reply)?;
            let after = Timestamp::now();
            let taken = after.since(before);
            series.record_at(after, taken);
            late += u64::from(taken > options.deadline);
            if taken > worst.0 {
                worst = (taken, before);
            }
        }
        if let Some(pause) = options.pause {
            // Lets both processes fall asleep, as they are before a rare call.
            std::thread::sleep(Duration::from(pause));
        }
    }
    let n = series.n();
    findings.outliers.push(Outlier {
        series: name.clone(),
        at: worst.1.since(start).get(),
        value: worst.0.get(),
        cpu: None,
        cause: None,
    });
    findings.facts.push(
        Fact::new(
            format!("ipc/{}/deadline_missed", cell.transport),
            late as f64 / n.max(1) as f64,
            Unit::Ratio,
        )
        .with_label("placement", cell.placement.name())
        .with_interval(proportion::interval(late, n), n),
    );
    findings.series.push(series.finish());
    Ok(())
}
