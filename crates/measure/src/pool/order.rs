//! The order in which several probes are started in turn.

use crate::stats::random;

/// The order of the starts of all probes: `counts` are their numbers of starts, `name`
/// gives their names. The run is divided into as many equal stretches as a probe has
/// starts; one start lies in each stretch, at a random place.
pub fn order<P: Copy>(counts: &[(P, u32)], name: impl Fn(P) -> &'static str, seed: u64) -> Vec<P> {
    const FINE: u64 = 1 << 20;
    let mut places: Vec<(f64, P)> = counts
        .iter()
        .flat_map(|&(probe, count)| {
            let name = name(probe);
            (0..count).map(move |start| {
                let stream = format!("place of {name} {start}");
                let within = random::below(seed, &stream, FINE) as f64 / FINE as f64;
                ((f64::from(start) + within) / f64::from(count), probe)
            })
        })
        .collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    places.into_iter().map(|(_, probe)| probe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_spread_and_shuffled() {
        let name = |name: &'static str| name;
        let counts = [("launch", 3), ("lock", 12), ("ipc", 12)];
        let order = order(&counts, name, 7);
        for (probe, count) in counts {
            let places: Vec<usize> = (0..27).filter(|&place| order[place] == probe).collect();
            assert_eq!(places.len(), count as usize);
            // One in each stretch, so the starts of a probe reach over the whole run.
            assert!(places[0] < 27 / 2 && places[places.len() - 1] > 27 / 2, "{places:?}");
        }
        assert_ne!(order, super::order(&counts, name, 8));
        assert_eq!(order, super::order(&counts, name, 7));
    }
}
