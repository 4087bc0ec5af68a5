//! `unjank launch ramp`: how fast a CPU gets up to speed after an idle gap.

mod chunks;
mod options;
mod ramp;
mod report;

pub use options::Options;

use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Result, Root, Timestamp};
use unjank_measure::{Findings, Monitor};

use chunks::{Chunks, Work};
use ramp::Launch;

/// Measures launches on each CPU in turn: an idle gap, then a loop of integer
/// work whose pieces of about 2 µs are timed one by one.
///
/// Series: `launch/ramp/time_to_full` (until 95 % of full speed) and
/// `launch/ramp/work_lost` (full-speed time lost until then), over all CPUs,
/// and one per CPU with the label `cpu`. Curve: `launch/ramp/speed`, one per
/// CPU.
///
/// # Errors
/// `Invalid` options.
pub fn run(options: &Options, root: &Root, monitor: &dyn Monitor) -> Result<Findings> {
    options.check(&CpuSet::allowed()?)?;
    let mut findings = Findings::default();
    let mut ramps = Vec::new();
    for (index, cpu) in options.cpus.iter().enumerate() {
        if monitor.stop_requested() {
            break;
        }
        let done = |launch: u32| {
            let share = f64::from(launch) / f64::from(options.launches);
            (index as f64 + share) / options.cpus.len() as f64
        };
        let _pinned = AffinityGuard::pin_to(cpu)?;
        let work = Work::calibrate(options.chunk);
        let mut chunks = Chunks::with_room_for(options.run, options.chunk);
        let mut launches = Vec::new();
        for launch in 0..options.launches {
            if monitor.stop_requested() {
                break;
            }
            monitor.progress(done(launch), &format!("launches on CPU {cpu}"));
            // A launch after half a gap would be another launch.
            if !(Timestamp::now() + options.gap).sleep_until_or(|| monitor.stop_requested()) {
                break;
            }
            chunks.record(work, options.run);
            launches.push(Launch::from_chunks(chunks.durations(), options.slice, options.run));
        }
        ramps.extend(report::CpuRamp::new(cpu, work, &launches, options, root));
    }
    report::note(ramps, options, &mut findings);
    Ok(findings)
}
