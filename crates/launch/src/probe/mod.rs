//! `unjank launch ramp`: how fast a CPU reaches full speed after an idle gap.

mod chunks;
mod options;
mod ramp;
mod report;

pub use options::Options;

use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Nanos, Result, Root, Timestamp};
use unjank_measure::{Findings, Monitor};

use chunks::{Chunks, Work};
use ramp::Launch;

/// Launches on several CPUs, one after the other: an idle gap, then a loop of
/// integer work whose pieces of about 2 µs are timed. Launches are independent;
/// the caller may do other work between them.
#[derive(Debug)]
pub struct Probe {
    options: Options,
    by_cpu: Vec<Cpu>,
    chunks: Chunks,
}

/// The launches of one CPU.
#[derive(Debug)]
struct Cpu {
    number: usize,
    /// Calibrated before the first launch.
    work: Option<Work>,
    launches: Vec<Launch>,
}

impl Probe {
    /// A probe without launches.
    ///
    /// # Errors
    /// `Invalid` options.
    pub fn new(options: &Options) -> Result<Self> {
        options.check(&CpuSet::allowed()?)?;
        let cpu = |number| Cpu { number, work: None, launches: Vec::new() };
        Ok(Self {
            by_cpu: options.cpus.iter().map(cpu).collect(),
            chunks: Chunks::with_room_for(options.run, options.chunk),
            options: options.clone(),
        })
    }

    /// Approximate time of a launch on each CPU.
    pub fn length(&self) -> Nanos {
        (self.options.gap + self.options.run).times(self.by_cpu.len() as u64)
    }

    /// One launch on each CPU; `turn` decides which CPU is first.
    ///
    /// # Errors
    /// A CPU has gone offline.
    pub fn launch(&mut self, turn: usize, monitor: &dyn Monitor) -> Result<()> {
        let Self { options, by_cpu, chunks } = self;
        let count = by_cpu.len();
        for place in 0..count {
            let cpu = &mut by_cpu[(turn + place) % count];
            let _pinned = AffinityGuard::pin_to(cpu.number)?;
            let work = *cpu.work.get_or_insert_with(|| Work::calibrate(options.chunk));
            monitor
                .progress(place as f64 / count as f64, &format!("a launch on CPU {}", cpu.number));
            // A launch after a shorter gap is not comparable.
            if !(Timestamp::now() + options.gap).sleep_until_or(|| monitor.stop_requested()) {
                break;
            }
            chunks.record(work, options.run);
            let launch = Launch::from_chunks(chunks.durations(), options.slice, options.run);
            cpu.launches.push(launch);
        }
        Ok(())
    }

    /// The findings of the launches so far.
    ///
    /// Series: `launch/ramp/time_to_full` (until 95 % of full speed) and
    /// `launch/ramp/work_lost` (full-speed time lost until then), over all CPUs,
    /// and one per CPU with the label `cpu`. Curve: `launch/ramp/speed`, one per
    /// CPU.
    pub fn findings(&self, root: &Root) -> Findings {
        let ramp = |cpu: &Cpu| {
            report::CpuRamp::new(cpu.number, cpu.work?, &cpu.launches, &self.options, root)
        };
        let mut findings = Findings::default();
        report::note(self.by_cpu.iter().filter_map(ramp).collect(), &self.options, &mut findings);
        findings
    }
}

/// Launches on each CPU in turn, as many as the options say.
///
/// # Errors
/// `Invalid` options.
pub fn run(options: &Options, root: &Root, monitor: &dyn Monitor) -> Result<Findings> {
    let mut probe = Probe::new(options)?;
    for turn in 0..options.launches {
        if monitor.stop_requested() {
            break;
        }
        let done = f64::from(turn) / f64::from(options.launches);
        monitor.progress(done, "launches");
        probe.launch(turn as usize, &Silenced(monitor))?;
    }
    Ok(probe.findings(root))
}

/// A monitor without progress, for requests to stop only.
struct Silenced<'a>(&'a dyn Monitor);

impl Monitor for Silenced<'_> {
    fn progress(&self, _fraction: f64, _doing: &str) {}

    fn stop_requested(&self) -> bool {
        self.0.stop_requested()
    }
}
