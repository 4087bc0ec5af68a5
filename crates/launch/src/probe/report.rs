//! From ramps to findings.

use unjank_host::{Nanos, Root};
use unjank_measure::record::Axis;
use unjank_measure::{Curve, Fact, Findings, Point, Series, Unit};

use super::chunks::Work;
use super::options::Options;
use super::ramp::{Launch, full_speed, median_curve};

/// The launches of one CPU, judged by its own full speed.
pub(crate) struct CpuRamp {
    cpu: usize,
    governor: Option<String>,
    times: Vec<Nanos>,
    losses: Vec<Nanos>,
    never_full: u64,
    /// Per launch.
    lost_to_others: f64,
    /// Steps of work per second.
    full_speed: f64,
    curve: Curve,
}

impl CpuRamp {
    /// `None` without a launch.
    pub(crate) fn new(
        cpu: usize,
        work: Work,
        launches: &[Launch],
        options: &Options,
        root: &Root,
    ) -> Option<Self> {
        let slice = options.slice;
        let full = full_speed(launches)?;
        let reached: Vec<Option<Nanos>> =
            launches.iter().map(|launch| launch.time_to_full(full, slice)).collect();
        // Launches that never reach full speed count with the length of the work:
        // without them, the rest would look fast.
        let times: Vec<Nanos> = reached.iter().map(|time| time.unwrap_or(options.run)).collect();
        let losses = launches
            .iter()
            .zip(&times)
            .map(|(launch, &time)| launch.work_lost(full, slice, time))
            .collect();
        let lost = launches.iter().fold(Nanos::ZERO, |sum, launch| sum + launch.lost_to_others);
        let governor = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        Some(Self {
            cpu,
            // A governor that cannot be read is unknown, not an error.
            governor: root.read_if_there(governor).ok().flatten(),
            never_full: reached.iter().filter(|time| time.is_none()).count() as u64,
            times,
            losses,
            lost_to_others: lost.get() as f64 / launches.len().max(1) as f64,
            full_speed: full * f64::from(work.steps()) * 1e9,
            curve: speed_curve(cpu, launches, full, slice),
        })
    }
}

/// Speed as a share of full speed: each slice for the first 5 ms, then groups
/// of ten slices, then of fifty.
fn speed_curve(cpu: usize, launches: &[Launch], full: f64, slice: Nanos) -> Curve {
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

/// Adds series, curves and facts of all CPUs.
pub(crate) fn note(ramps: Vec<CpuRamp>, options: &Options, findings: &mut Findings) {
    if ramps.is_empty() {
        // Interrupted before the first launch.
        return;
    }
    let names = ["launch/ramp/time_to_full", "launch/ramp/work_lost"];
    let mut all = names.map(Series::new);
    let mut singles = Vec::new();
    for ramp in &ramps {
        let governor = ramp.governor.as_deref().unwrap_or("none");
        let label = |series: Series| {
            series.with_label("cpu", ramp.cpu.to_string()).with_label("governor", governor)
        };
        for (index, values) in [&ramp.times, &ramp.losses].into_iter().enumerate() {
            let mut single = label(Series::new(names[index]));
            for &value in values {
                single.record(value);
            }
            all[index].absorb(&single);
            singles.push(single.finish());
        }
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
    findings.series.extend(all.map(Series::finish));
    if ramps.len() > 1 {
        findings.series.extend(singles);
    }
    findings.curves.extend(ramps.into_iter().map(|ramp| ramp.curve));
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::CpuSet;

    use super::*;

    #[test]
    fn a_launch_that_never_reaches_full_speed_counts_with_all_its_work() {
        let options =
            Options { run: Nanos::from_millis(10), ..Options::usual(CpuSet::new([0]), 3) };
        let launch = |fast_from: usize| Launch {
            speeds: (0..100).map(|slice| Some(if slice < fast_from { 0.5 } else { 1.0 })).collect(),
            lost_to_others: Nanos(300),
        };
        let launches = [launch(0), launch(50), launch(100)];
        let work = Work::calibrate(options.chunk);
        let root = Root::at("/nowhere");
        let ramp = CpuRamp::new(0, work, &launches, &options, &root).unwrap();
        assert_eq!((ramp.never_full, ramp.times.len()), (1, 3));
        assert_eq!(ramp.times[2], options.run);
        assert!(ramp.losses[2] > ramp.losses[1]);
        assert!((ramp.lost_to_others - 300.0).abs() < 1e-9);
        let mut findings = Findings::default();
        note(vec![ramp], &options, &mut findings);
        assert_eq!(findings.series_named("launch/ramp/time_to_full").unwrap().n, 3);
        assert_eq!(findings.warnings.len(), 1);
    }

    #[test]
    fn no_launch_finds_nothing() {
        let mut findings = Findings::default();
        note(Vec::new(), &Options::usual(CpuSet::new([0]), 3), &mut findings);
        assert_eq!(findings, Findings::default());
    }
}
