//! What the machine does to the whole process: pure.

use super::words::percent;

/// More runnable threads than this many times the CPUs is a crowd.
const CROWDED: f64 = 1.5;
/// A share of stolen time that matters: the hypervisor ran others while this
/// machine had work.
const STOLEN: f64 = 0.05;

/// What was seen of the process as a whole, and of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Whole {
    /// Periods in which its control group was throttled meanwhile, where it
    /// has a quota, and the quota in CPUs.
    pub throttled: Option<(u64, f64)>,
    /// The share of the machine's CPU time that was stolen.
    pub stolen: Option<f64>,
    /// Threads of the process that ran or were ready, on average.
    pub runnable: f64,
    /// CPUs that it may run on.
    pub cpus: usize,
    /// The share of a CPU that its threads waste, all together.
    pub wasted: f64,
}

/// What makes waiting dearer than its threads' own doing, as sentences without
/// a full stop.
pub fn surroundings(whole: &Whole) -> Vec<String> {
    let throttled = whole.throttled.filter(|(periods, _)| *periods > 0).map(|(periods, cpus)| {
        format!(
            "its control group used up its quota of {cpus:.2} CPUs in {periods} periods and stood still: \
             time spent spinning or yielding is charged like work, so park sooner, or raise the quota"
        )
    });
    let stolen = whole.stolen.filter(|stolen| *stolen >= STOLEN).map(|stolen| {
        format!(
            "the hypervisor took {} of the machine's CPU time: a lock's holder may stand still \
             while others spin for it",
            percent(stolen)
        )
    });
    let crowded = whole.cpus > 0 && whole.runnable > CROWDED * whole.cpus as f64;
    let crowded = (crowded && whole.wasted > 0.0).then(|| {
        format!(
            "{:.1} of its threads want to run at a time, on {} CPUs: who spins or yields keeps \
             those from running that it waits for",
            whole.runnable, whole.cpus
        )
    });
    [throttled, stolen, crowded].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_burden_is_named_and_only_where_it_is_one() {
        let fine = Whole {
            throttled: Some((0, 2.0)),
            stolen: Some(0.01),
            runnable: 2.0,
            cpus: 2,
            wasted: 1.0,
        };
        assert!(surroundings(&fine).is_empty());
        assert!(surroundings(&Whole::default()).is_empty());
        let told = |whole: Whole| surroundings(&whole).join("|");
        assert!(
            told(Whole { throttled: Some((7, 0.5)), ..fine }).contains("0.50 CPUs in 7 periods")
        );
        assert!(told(Whole { stolen: Some(0.07), ..fine }).contains("took 7.0 % of"));
        assert!(told(Whole { runnable: 3.1, ..fine }).starts_with("3.1 of its threads"));
        assert!(told(Whole { runnable: 3.1, wasted: 0.0, ..fine }).is_empty());
        assert!(told(Whole { runnable: 3.1, cpus: 0, ..fine }).is_empty());
    }
}
