//! The Pareto front: combinations that no other beats in both respects.

use super::sweep::Tried;

/// Those of `tried` of which none is both as fast and as thrifty, the fastest
/// first. Of equals, the first.
pub(super) fn front(tried: &[Tried]) -> Vec<&Tried> {
    let mut by_launch: Vec<&Tried> = tried.iter().collect();
    by_launch.sort_by(|a, b| {
        let by_energy = || a.mean.cpu.0.total_cmp(&b.mean.cpu.0);
        a.mean.launch.total_cmp(&b.mean.launch).then_with(by_energy)
    });
    let mut least = f64::INFINITY;
    by_launch.retain(|tried| {
        let better = tried.mean.cpu.0 < least;
        least = least.min(tried.mean.cpu.0);
        better
    });
    by_launch
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unjank_host::Joules;

    use super::super::Mean;
    use super::*;

    fn tried(launch: f64, energy: f64) -> Tried {
        let mean = Mean { launch, cpu: Joules(energy), device: Joules(energy) };
        Tried { values: Vec::new(), mean }
    }

    proptest! {
        #[test]
        fn nothing_beats_the_front_and_it_beats_the_rest(
            points in proptest::collection::vec((0_u32..20, 0_u32..20), 1..40)
        ) {
            let all: Vec<Tried> =
                points.iter().map(|(x, y)| tried(f64::from(*x), f64::from(*y))).collect();
            let best = front(&all);
            prop_assert!(!best.is_empty());
            for one in &all {
                let beaten = |by: &Tried| by.mean.launch <= one.mean.launch && by.mean.cpu.0 <= one.mean.cpu.0;
                prop_assert!(best.iter().any(|by| beaten(by)));
            }
            for pair in best.windows(2) {
                prop_assert!(pair[0].mean.launch < pair[1].mean.launch);
                prop_assert!(pair[0].mean.cpu.0 > pair[1].mean.cpu.0);
            }
        }
    }
}
