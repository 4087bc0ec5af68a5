//! Warnings about the whole process: quota, stolen time, too few CPUs. Pure.

use super::words::percent;

/// With more runnable threads per CPU than this, CPUs are short.
const CROWDED: f64 = 1.5;
/// The share of stolen time from which it is reported.
const STOLEN: f64 = 0.05;

/// Sums over all threads of the process, and the state of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// If its control group has a quota: the periods in which it was throttled
    /// during the watch, and the quota in CPUs.
    pub throttled: Option<(u64, f64)>,
    /// The share of the machine's CPU time that the hypervisor took.
    pub stolen: Option<f64>,
    /// Mean number of threads that ran or were ready.
    pub runnable: f64,
    /// How many CPUs it may run on.
    pub cpus: usize,
    /// The sum over its threads of the wasted share of a CPU.
    pub wasted: f64,
}

/// Circumstances that make waiting more expensive, as sentences without a full
/// stop.
pub fn surroundings(totals: &Totals) -> Vec<String> {
    let throttled = totals.throttled.filter(|(periods, _)| *periods > 0).map(|(periods, cpus)| {
        format!(
            "its control group used up its quota of {cpus:.2} CPUs in {periods} periods and was \
             throttled: time spent spinning or yielding is charged like work, so park sooner, or \
             raise the quota"
        )
    });
    let stolen = totals.stolen.filter(|stolen| *stolen >= STOLEN).map(|stolen| {
        format!(
            "the hypervisor took {} of the machine's CPU time: a lock's holder may lose its CPU \
             while others spin",
            percent(stolen)
        )
    });
    let crowded = totals.cpus > 0 && totals.runnable > CROWDED * totals.cpus as f64;
    let crowded = (crowded && totals.wasted > 0.0).then(|| {
        format!(
            "{:.1} of its threads want to run at a time, on {} CPUs: a thread that spins or yields \
             delays the threads that it waits for",
            totals.runnable, totals.cpus
        )
    });
    [throttled, stolen, crowded].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_circumstance_is_reported_from_its_limit_on() {
        let fine = Totals {
            throttled: Some((0, 2.0)),
            stolen: Some(0.01),
            runnable: 2.0,
            cpus: 2,
            wasted: 1.0,
        };
        assert!(surroundings(&fine).is_empty());
        assert!(surroundings(&Totals::default()).is_empty());
        let warnings = |totals: Totals| surroundings(&totals).join("|");
        assert!(
            warnings(Totals { throttled: Some((7, 0.5)), ..fine })
                .contains("0.50 CPUs in 7 periods")
        );
        assert!(warnings(Totals { stolen: Some(0.07), ..fine }).contains("took 7.0 % of"));
        assert!(warnings(Totals { runnable: 3.1, ..fine }).starts_with("3.1 of its threads"));
        assert!(warnings(Totals { runnable: 3.1, wasted: 0.0, ..fine }).is_empty());
        assert!(warnings(Totals { runnable: 3.1, cpus: 0, ..fine }).is_empty());
    }
}
