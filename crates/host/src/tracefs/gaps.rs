//! The times in which events of any CPU may be missing.

use super::trace::{CpuTrace, Gap, Trace};
use crate::clock::Timestamp;

/// The times in which wake-ups and switches of any CPU may be missing, in order, none of which
/// overlap.
#[derive(Debug, Default)]
pub struct Gaps(Vec<Gap>);

impl Gaps {
    /// The gaps of all CPUs of a trace. A time in which only the thread that had a CPU is not known
    /// does not count.
    pub fn of(trace: &Trace) -> Self {
        let of_cpu = |cpu: &CpuTrace| -> Vec<Gap> {
            let mut gaps = cpu.gaps.clone();
            if let (Some(first), Some(from)) = (gaps.first_mut(), cpu.switches_from) {
                first.to = first.to.min(from.max(first.from));
            }
            gaps
        };
        let all = trace.cpus.iter().flat_map(of_cpu);
        let mut gaps: Vec<Gap> = all.filter(|gap| gap.from < gap.to).collect();
        gaps.sort_unstable_by_key(|gap| (gap.from, gap.to));
        gaps.dedup_by(|later, earlier| {
            let touch = later.from <= earlier.to;
            if touch {
                earlier.to = earlier.to.max(later.to);
            }
            touch
        });
        Self(gaps)
    }

    /// Whether wake-ups or switches between the two moments may be missing.
    pub fn overlap(&self, from: Timestamp, to: Timestamp) -> bool {
        let next = self.0.partition_point(|gap| gap.to <= from);
        self.0.get(next).is_some_and(|gap| gap.overlaps(from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Script, at};
    use super::*;

    #[test]
    fn gaps_of_all_cpus_count() {
        let script = Script::new().runs(0, 5, 0, 7).loses(0, 100, 200).loses(1, 150, 300);
        let mut trace = script.loses(2, 400, 450).trace();
        let gaps = Gaps::of(&trace);
        assert_eq!(gaps.0.len(), 2);
        for from in (0..500).step_by(25) {
            for to in (from..500).step_by(25) {
                let (from, to) = (at(from), at(to));
                assert_eq!(gaps.overlap(from, to), trace.has_gap(from, to), "{from:?} {to:?}");
            }
        }
        trace.cpus[2].switches_from = Some(at(0));
        assert_eq!(Gaps::of(&trace).0.len(), 1, "only the thread is not known");
        trace.cpus[2].switches_from = Some(at(420));
        let gaps = Gaps::of(&trace);
        assert!(gaps.overlap(at(410), at(415)) && !gaps.overlap(at(430), at(440)));
    }
}
