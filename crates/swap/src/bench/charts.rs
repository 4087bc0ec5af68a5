//! The paper's Figs. 1, 2 and 5, measured.

use unjank_cachesim::tier::TierPolicy;
use unjank_measure::record::{Axis, Point};
use unjank_measure::{Curve, Fact, Unit};

use super::arm::Arm;
use super::runs::{Runs, io, median, middle};

/// Fig. 1: touches that waited for a page, those for the hottest tenth of the pages apart.
pub(super) fn waits(measured: &[Runs]) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (arm, runs) in measured {
        let hottest = median(runs, |run| run.hottest.0 as f64);
        let others = median(runs, |run| (run.hottest.1 - run.hottest.0) as f64);
        for (part, waits) in [("hottest 10 %", hottest), ("all others", others)] {
            let Some(waits) = waits else { continue };
            let fact = Fact::new("swap/bench/waits", waits, Unit::Count);
            facts.push(fact.with_label("arm", arm.to_string()).with_label("part", part.to_owned()));
        }
    }
    facts
}

/// Fig. 2: the median wait of a launch by its number among those of its app.
pub(super) fn rounds(measured: &[Runs]) -> Vec<Curve> {
    let curve = |(arm, runs): &Runs| {
        let launches = || runs.iter().flat_map(|run| &run.launches);
        let count = launches().map(|launch| launch.round + 1).max().unwrap_or_default();
        let of = |round: usize| {
            let times = launches().filter(|launch| launch.round == round);
            middle(times.map(|launch| launch.time.get() as f64).collect())
        };
        let points = (0..count).filter_map(|round| Some(point((round + 1) as f64, of(round)?)));
        Curve {
            name: "swap/bench/round".to_owned(),
            x: Axis::new("launch of an app", Unit::Count),
            y: Axis::new("median wait", Unit::Nanoseconds),
            labels: [("arm".to_owned(), arm.to_string())].into(),
            points: points.collect(),
        }
    };
    measured.iter().map(curve).collect()
}

/// Fig. 5: storage I/O over the size of the tier, a curve for each policy with several sizes.
pub(super) fn tiers(measured: &[Runs]) -> Vec<Curve> {
    let without = measured.iter().find(|(arm, _)| *arm == Arm::NoSwap);
    let Some(without) = without.and_then(|(_, runs)| median(runs, io)) else { return Vec::new() };
    let mut curves: Vec<(TierPolicy, Vec<Point>)> = Vec::new();
    for (arm, runs) in measured {
        let Arm::Tier(size, policy) = arm else { continue };
        let Some(all) = median(runs, io) else { continue };
        let point = point(size.get() as f64, all / without.max(1.0));
        match curves.iter_mut().find(|(known, _)| known == policy) {
            Some((_, points)) => points.push(point),
            None => curves.push((*policy, vec![point])),
        }
    }
    let several = curves.into_iter().filter(|(_, points)| points.len() > 1);
    let curve = |(policy, mut points): (TierPolicy, Vec<Point>)| {
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        Curve {
            name: "swap/bench/tier".to_owned(),
            x: Axis::new("size of the tier", Unit::Bytes),
            y: Axis::new("storage I/O against that without swap", Unit::Ratio),
            labels: [("policy".to_owned(), policy.to_string())].into(),
            points,
        }
    };
    several.map(curve).collect()
}

fn point(x: f64, y: f64) -> Point {
    Point { x, y, interval: None }
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;

    use super::super::run::{Launched, Measured};
    use super::super::surroundings::Traffic;
    use super::*;

    fn run(time: u64, reads: u64) -> Measured {
        let launch =
            |round| Launched { actor: 1, round, starts: false, time: Nanos(time + round as u64) };
        Measured {
            launches: (0..3).map(launch).collect(),
            traffic: Traffic { reads, ..Traffic::default() },
            hottest: (30, 100),
            ..Measured::default()
        }
    }

    #[test]
    fn each_figure_has_a_line_or_a_bar_for_each_arm() {
        let arm = |typed: &str| typed.parse::<Arm>().unwrap();
        let all = [
            (Arm::NoSwap, vec![run(10, 100)]),
            (arm("tier:8MiB"), vec![run(20, 300), run(22, 300)]),
            (arm("tier:4MiB"), vec![run(30, 400)]),
            (arm("tier:4MiB:refault"), vec![run(30, 400)]),
        ];
        let rounds = rounds(&all);
        let first: Vec<f64> = rounds.iter().map(|curve| curve.points[0].y).collect();
        assert_eq!((first, rounds[0].points.len()), (vec![10.0, 20.0, 30.0, 30.0], 3));
        let [tiers] = &*tiers(&all) else { panic!("refault has one size only") };
        let points: Vec<_> = tiers.points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(points, [(4_194_304.0, 4.0), (8_388_608.0, 3.0)]);
        let waits: Vec<f64> = waits(&all).iter().map(|fact| fact.value).collect();
        assert_eq!(waits[..2], [30.0, 70.0]);
        assert!(super::tiers(&all[1..]).is_empty(), "there is nothing to compare with");
    }
}
