//! `unjank launch ramp`: how fast a CPU reaches full speed after an idle gap.
//!
//! Each launch is an independent start: the caller runs [`launch`] in a fresh
//! process, and [`findings`] puts the launches of all processes together.

mod chunks;
mod options;
mod ramp;
mod report;
mod representatives;

pub use options::Options;
pub use representatives::representatives;

use serde::{Deserialize, Serialize};
use unjank_host::sched::AffinityGuard;
use unjank_host::{Result, Root, Timestamp};
use unjank_measure::{Findings, Monitor};

use chunks::{Chunks, Work};
use ramp::Launch;

/// One launch: an idle gap, then a loop of integer work whose pieces of about
/// 2 µs are timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launched {
    cpu: usize,
    launch: Launch,
}

/// Measures launch number `start`, which decides its CPU, on the calling thread.
/// `None` if a stop is requested during the idle gap: a launch after a shorter gap
/// is not comparable.
///
/// # Errors
/// `Invalid` options; the CPU has gone offline.
pub fn launch(options: &Options, start: u32, monitor: &dyn Monitor) -> Result<Option<Launched>> {
    options.check_here()?;
    let cpu = options.cpu_of_start(start);
    let _pinned = AffinityGuard::pin_to(cpu)?;
    let mut chunks = Chunks::with_room_for(options.run, options.chunk);
    let work = Work::calibrate(options.chunk, options.calibration);
    monitor.progress(0.0, &format!("a launch on CPU {cpu}"));
    if !(Timestamp::now() + options.gap).sleep_until_or(|| monitor.stop_requested()) {
        return Ok(None);
    }
    chunks.record(work, options.run);
    let launch = Launch::from_chunks(chunks.durations(), work.steps(), options.slice, options.run);
    Ok(Some(Launched { cpu, launch }))
}

/// The findings of launches, each with the moment it began, in their order.
///
/// Series: `launch/ramp/time_to_full` (until 95 % of full speed) and
/// `launch/ramp/work_lost` (full-speed time lost until then), over all CPUs, and
/// one per CPU with the label `cpu`; each launch is a repetition. Curve:
/// `launch/ramp/speed`, one per CPU.
///
/// # Errors
/// None for launches that [`launch`] measured.
pub fn findings(
    launches: &[(Timestamp, Launched)],
    options: &Options,
    root: &Root,
) -> unjank_measure::Result<Findings> {
    let ramps = options.cpus.iter().filter_map(|cpu| {
        let of_cpu: Vec<(Timestamp, &Launch)> = launches
            .iter()
            .filter(|(_, launched)| launched.cpu == cpu)
            .map(|(at, launched)| (*at, &launched.launch))
            .collect();
        report::CpuRamp::new(cpu, &of_cpu, options, root)
    });
    report::findings(ramps.collect(), options)
}
