//! Times in which events of a CPU may be missing.

use unjank_host::Timestamp;
use unjank_host::tracefs::{CpuTrace, Gap, Trace};

use super::span::{Span, State};
use super::spans::Spans;
use super::wait::Wait;

/// The gaps of each CPU within a recording, in order of time; the CPUs in order
/// of their numbers.
#[derive(Debug, Default)]
pub(super) struct Gaps(Vec<(usize, Vec<Gap>)>);

impl Gaps {
    /// The gaps of one `kind` in a trace, clipped to its beginning and end. Gaps of a CPU that
    /// touch are merged.
    pub(super) fn of(
        trace: &Trace,
        (begin, end): (Timestamp, Timestamp),
        kind: impl Fn(&CpuTrace) -> &Vec<Gap>,
    ) -> Self {
        let within = |gap: &Gap| {
            let gap = Gap { from: gap.from.max(begin), to: gap.to.min(end) };
            (gap.from < gap.to).then_some(gap)
        };
        let mut gaps = Vec::new();
        for cpu in &trace.cpus {
            let mut of_cpu: Vec<Gap> = kind(cpu).iter().filter_map(within).collect();
            of_cpu.sort_unstable_by_key(|gap| (gap.from, gap.to));
            of_cpu.dedup_by(|later, earlier| {
                let touch = later.from <= earlier.to;
                earlier.to = if touch { earlier.to.max(later.to) } else { earlier.to };
                touch
            });
            if !of_cpu.is_empty() {
                gaps.push((cpu.cpu, of_cpu));
            }
        }
        gaps.sort_by_key(|(cpu, _)| *cpu);
        Self(gaps)
    }

    fn of_cpu(&self, cpu: usize) -> Option<&[Gap]> {
        let found = self.0.binary_search_by_key(&cpu, |(of, _)| *of).ok()?;
        Some(&self.0.get(found)?.1)
    }

    /// The end of the last gap of a CPU that ended later than `after` and not later than `by`.
    pub(super) fn ended(&self, cpu: usize, after: Timestamp, by: Timestamp) -> Option<Timestamp> {
        let gaps = self.of_cpu(cpu)?;
        let ended = gaps.partition_point(|gap| gap.to <= by);
        gaps.get(ended.checked_sub(1)?).map(|gap| gap.to).filter(|end| *end > after)
    }

    /// Whether a gap of a CPU overlaps the time between two moments.
    pub(super) fn are_between(&self, cpu: usize, from: Timestamp, to: Timestamp) -> bool {
        self.of_cpu(cpu).is_some_and(|gaps| {
            let next = gaps.partition_point(|gap| gap.to <= from);
            gaps.get(next).is_some_and(|gap| gap.overlaps(from, to))
        })
    }

    /// The spans of a thread, with [`Wait::Lost`] where events of its CPU may be missing. In each
    /// span, that is from the beginning of the CPU's first gap to the end of its last one.
    pub(super) fn cut(&self, spans: Spans) -> Spans {
        let lost = State::Asleep { wait: Wait::Lost, wake: None };
        let covered = |span: &Span| match span.state {
            State::Running { cpu } | State::Woken { cpu } | State::Ready { cpu } => {
                self.covered(cpu, span.from, span.to).filter(|[from, to]| from < to)
            }
            State::Asleep { .. } => None,
        };
        if !spans.iter().any(|span| covered(&span).is_some()) {
            return spans;
        }
        let mut cut = Spans::default();
        for span in spans.iter() {
            let [from, to] = covered(&span).unwrap_or([span.to; 2]);
            for (from, to, state) in
                [(span.from, from, span.state), (from, to, lost), (to, span.to, span.state)]
            {
                if from < to {
                    cut.push(from, to, &state);
                }
            }
        }
        cut.shrink();
        cut
    }

    /// The part of a time from the beginning of the first gap of a CPU in it to the end of the
    /// last.
    fn covered(&self, cpu: usize, from: Timestamp, to: Timestamp) -> Option<[Timestamp; 2]> {
        let gaps = self.of_cpu(cpu)?;
        let first = gaps.get(gaps.partition_point(|gap| gap.to <= from))?;
        let end = gaps.partition_point(|gap| gap.from < to);
        let last = gaps.get(end.checked_sub(1)?)?;
        (first.from <= last.from).then(|| [first.from.max(from), last.to.min(to)])
    }
}
