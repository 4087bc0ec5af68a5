//! Turns ramps into findings.

use unjank_host::{Nanos, Root, Timestamp};
use unjank_measure::record::Axis;
use unjank_measure::{Curve, Fact, Findings, Point, Result, Series, StartFindings, Unit, pool};

use super::options::Options;
use super::ramp::{Launch, full_speed, median_curve};

/// The launches of one CPU, judged by its own full speed.
pub(crate) struct CpuRamp {
    cpu: usize,
    governor: Option<String>,
    /// The judged launches, in order.
    launches: Vec<Ramp>,
    never_full: u64,
    /// Per launch.
    lost_to_others: f64,
    /// Steps of work per second.
    full_speed: f64,
    curve: Curve,
}

/// One launch, judged.
struct Ramp {
    at: Timestamp,
    time_to_full: Nanos,
    work_lost: Nanos,
}

impl CpuRamp {
    /// `None` without a launch.
    pub(crate) fn new(
        cpu: usize,
        launches: &[(Timestamp, &Launch)],
        options: &Options,
        root: &Root,
    ) -> Option<Self> {
        let slice = options.slice;
        let speeds: Vec<&Launch> = launches.iter().map(|(_, launch)| *launch).collect();
        let full = full_speed(&speeds)?;
        let mut never_full = 0;
        let judge = |&(at, launch): &(Timestamp, &Launch)| {
            // Launches that never reach full speed count with the length of the
            // work: without them, the rest would look fast.
            let time_to_full = launch.time_to_full(full, slice).unwrap_or_else(|| {
                never_full += 1;
                options.run
            });
            let work_lost = launch.work_lost(full, slice, time_to_full);
            Ramp { at, time_to_full, work_lost }
        };
        let judged = launches.iter().map(judge).collect();
        let lost = speeds.iter().fold(Nanos::ZERO, |sum, launch| sum + launch.lost_to_others);
        let governor = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        Some(Self {
            cpu,
            // A governor that cannot be read is unknown, not an error.
            governor: root.read_if_there(governor).ok().flatten(),
            launches: judged,
            never_full,
            lost_to_others: lost.get() as f64 / launches.len().max(1) as f64,
            full_speed: full * 1e9,
            curve: speed_curve(cpu, &speeds, full, slice),
        })
    }
}

/// Speed as a share of full speed: each slice for the first 5 ms, then groups
/// of ten slices, then of fifty.
fn speed_curve(cpu: usize, launches: &[&Launch], full: f64, slice: Nanos) -> Curve {
    let medians = median_curve(launches);
    let mut points = Vec::new();
    let mut index = 0;
    while index < medians.len() {
        let group = match index {
            0..50 => 1,
            50..500 => 10,
            _ => 50,
        };
        let members = &medians[index..(index + group).min(medians.len())];
        let there: Vec<_> = members.iter().flatten().collect();
        // The median speed represents its group, with its interval.
        let mut by_speed = there.clone();
        by_speed.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((speed, interval)) = by_speed.get(by_speed.len() / 2) {
            points.push(Point {
                x: slice.times(index as u64).get() as f64,
                y: speed / full,
                interval: interval.map(|bounds| bounds.map(|bound| bound / full)),
            });
        }
        index += group;
    }
    Curve {
        name: "launch/ramp/speed".to_owned(),
        x: Axis::new("time since wake", Unit::Nanoseconds),
        y: Axis::new("speed, of full", Unit::Ratio),
        labels: [("cpu".to_owned(), cpu.to_string())].into(),
        points,
    }
}

/// Series, curves and facts of all CPUs. Each launch is an independent start.
pub(crate) fn findings(ramps: Vec<CpuRamp>, options: &Options) -> Result<Findings> {
    if ramps.is_empty() {
        // Interrupted before the first launch.
        return Ok(Findings::default());
    }
    let by_cpu = |ramp| CpuRamp::starts(ramp, ramps.len() > 1);
    let mut starts: Vec<StartFindings> = ramps.iter().flat_map(by_cpu).collect();
    starts.sort_by_key(|start| start.at);
    let mut findings = pool(starts)?;
    for ramp in &ramps {
        findings.facts.push(
            Fact::new("launch/ramp/full_speed", ramp.full_speed, Unit::PerSecond)
                .with_label("cpu", ramp.cpu.to_string()),
        );
        findings.facts.push(
            Fact::new("launch/ramp/lost_to_others", ramp.lost_to_others, Unit::Nanoseconds)
                .with_label("cpu", ramp.cpu.to_string()),
        );
        if ramp.never_full > 0 {
            findings.warn(format!(
                "CPU {}: {} launches did not reach 95 % of full speed within {}; they count with \
                 this time",
                ramp.cpu, ramp.never_full, options.run
            ));
        }
    }
    if ramps.iter().all(|ramp| ramp.governor.is_none()) {
        findings.not_supported(
            "launch/ramp governor",
            "the kernel has no cpufreq files here (as in most virtual machines); the ramp is \
             measured anyway",
        );
    }
    findings.curves.extend(ramps.into_iter().map(|ramp| ramp.curve));
    Ok(findings)
}

impl CpuRamp {
    /// Its launches as starts of one sample each, for the series of all CPUs and,
    /// if there are `several`, for its own.
    fn starts(&self, several: bool) -> Vec<StartFindings> {
        let governor = self.governor.as_deref().unwrap_or("none");
        let start = |ramp: &Ramp| {
            let values = [
                ("launch/ramp/time_to_full", ramp.time_to_full),
                ("launch/ramp/work_lost", ramp.work_lost),
            ];
            let record = |own: bool| {
                values.map(|(name, value)| {
                    let mut series = Series::new(name);
                    if own {
                        series = series
                            .with_label("cpu", self.cpu.to_string())
                            .with_label("governor", governor);
                    }
                    series.record(value);
                    series.finish()
                })
            };
            let mut series = Vec::from(record(false));
            if several {
                series.extend(record(true));
            }
            StartFindings { at: ramp.at, findings: Findings { series, ..Findings::default() } }
        };
        self.launches.iter().map(start).collect()
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::CpuSet;

    use super::*;

    const RUN: Nanos = Nanos::from_millis(10);

    fn options(cpus: CpuSet) -> Options {
        Options { run: RUN, ..Options::usual(cpus) }
    }

    /// A launch that is at half speed until this slice.
    fn launch(fast_from: usize) -> Launch {
        let speed = |slice| Some(if slice < fast_from { 0.5 } else { 1.0 });
        Launch { speeds: (0..100).map(speed).collect(), lost_to_others: Nanos(300) }
    }

    fn ramp(cpu: usize, launches: &[Launch], options: &Options) -> CpuRamp {
        let begun = |(number, launch)| (Timestamp::from_nanos(1_000 * number as u64), launch);
        let launches: Vec<_> = launches.iter().enumerate().map(begun).collect();
        CpuRamp::new(cpu, &launches, options, &Root::at("/nowhere")).unwrap()
    }

    #[test]
    fn a_launch_that_never_reaches_full_speed_counts_with_all_its_work() {
        let options = options(CpuSet::new([0]));
        let ramp = ramp(0, &[launch(0), launch(50), launch(100)], &options);
        assert_eq!((ramp.never_full, ramp.launches.len()), (1, 3));
        assert_eq!(ramp.launches[2].time_to_full, RUN);
        assert!(ramp.launches[2].work_lost > ramp.launches[1].work_lost);
        assert!((ramp.lost_to_others - 300.0).abs() < 1e-9);
        let findings = findings(vec![ramp], &options).unwrap();
        assert_eq!(findings.series_named("launch/ramp/time_to_full").unwrap().n, 3);
        assert_eq!(findings.warnings.len(), 1);
    }

    #[test]
    fn each_launch_is_a_start_and_two_slow_ones_of_twelve_decide_nothing() {
        let options = options(CpuSet::new([0, 1]));
        let mostly_fast = [0, 0, 0, 0, 0, 80].map(launch);
        let ramps = vec![ramp(0, &mostly_fast, &options), ramp(1, &mostly_fast, &options)];
        let findings = findings(ramps, &options).unwrap();
        assert_eq!(findings.series.len(), 2 + 4);
        let all = findings.series_named("launch/ramp/time_to_full").unwrap();
        assert_eq!((all.n, all.repetitions.len()), (12, 12));
        // Of 12 values, the third and the tenth bound the median.
        let [low, high] = all.summary.unwrap().intervals[0].unwrap();
        assert!(low <= high && high < 200_000, "{low} {high}");
    }

    #[test]
    fn no_launch_finds_nothing() {
        let options = options(CpuSet::new([0]));
        assert_eq!(findings(Vec::new(), &options).unwrap(), Findings::default());
    }
}
