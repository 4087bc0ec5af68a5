//! Times in which events of a CPU may be missing.

use std::collections::HashMap;

use unjank_host::Timestamp;
use unjank_host::tracefs::{Gap, Trace};

use super::life::{Span, State};
use super::wait::Wait;

/// The gaps of each CPU within a recording, in order of time.
#[derive(Debug, Default)]
pub(super) struct Gaps(HashMap<usize, Vec<Gap>>);

impl Gaps {
    /// The gaps of a trace between its begin and its end.
    pub(super) fn of(trace: &Trace, (begin, end): (Timestamp, Timestamp)) -> Self {
        let within = |gap: &Gap| {
            let gap = Gap { from: gap.from.max(begin), to: gap.to.min(end) };
            (gap.from < gap.to).then_some(gap)
        };
        let mut gaps = HashMap::new();
        for cpu in &trace.cpus {
            let mut of_cpu: Vec<Gap> = cpu.gaps.iter().filter_map(within).collect();
            of_cpu.sort_unstable_by_key(|gap| (gap.from, gap.to));
            of_cpu.dedup_by(|later, earlier| {
                let touch = later.from <= earlier.to;
                earlier.to = if touch { earlier.to.max(later.to) } else { earlier.to };
                touch
            });
            if !of_cpu.is_empty() {
                gaps.insert(cpu.cpu, of_cpu);
            }
        }
        Self(gaps)
    }

    /// The end of the last gap of a CPU that ended after one moment, and not
    /// after another.
    pub(super) fn ended(&self, cpu: usize, after: Timestamp, by: Timestamp) -> Option<Timestamp> {
        let gaps = self.0.get(&cpu)?;
        let ended = gaps.partition_point(|gap| gap.to <= by);
        gaps.get(ended.checked_sub(1)?).map(|gap| gap.to).filter(|end| *end > after)
    }

    /// The spans of a thread, but for what is not known of it: it is lost from
    /// the begin of the first gap of its CPU in a span to the end of the last.
    pub(super) fn cut(&self, spans: Vec<Span>) -> Vec<Span> {
        if self.0.is_empty() {
            return spans;
        }
        let lost = State::Asleep { wait: Wait::Lost, wake: None };
        let cut = |span: Span| {
            let [from, to] = match span.state {
                State::Running { cpu } | State::Woken { cpu } | State::Ready { cpu } => {
                    self.covered(cpu, span.from, span.to).unwrap_or([span.to; 2])
                }
                State::Asleep { .. } => [span.to; 2],
            };
            [Span { to: from, ..span }, Span { from, to, state: lost }, Span { from: to, ..span }]
        };
        spans.into_iter().flat_map(cut).filter(|span| span.from < span.to).collect()
    }

    /// The part of a time from the first gap of a CPU to the last.
    fn covered(&self, cpu: usize, from: Timestamp, to: Timestamp) -> Option<[Timestamp; 2]> {
        let gaps = self.0.get(&cpu)?;
        let first = gaps.get(gaps.partition_point(|gap| gap.to <= from))?;
        let end = gaps.partition_point(|gap| gap.from < to);
        let last = gaps.get(end.checked_sub(1)?)?;
        (first.from <= last.from).then(|| [first.from.max(from), last.to.min(to)])
    }
}
