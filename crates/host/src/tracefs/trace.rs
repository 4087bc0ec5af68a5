//! A trace after reading: the events of each CPU, and the gaps.

use super::decode::Decoder;
use super::events::{Events, Iter};
use super::format::Malformed;
use super::page::{Layout, Page};
use crate::clock::Timestamp;
use crate::sched::ThreadId;

/// The smallest and the largest timestamp.
const BEGINNING: Timestamp = Timestamp::from_nanos(0);
const END: Timestamp = Timestamp::from_nanos(u64::MAX);

/// The events of every CPU.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The CPUs, in ascending order.
    pub cpus: Vec<CpuTrace>,
    /// The events that the kernel lost.
    pub lost: Lost,
    /// Threads of the kernel, as far as the recorder has found out.
    pub kernel_threads: Vec<ThreadId>,
}

/// The events of one CPU.
#[derive(Debug, Clone, Default)]
pub struct CpuTrace {
    /// The CPU's number.
    pub cpu: usize,
    /// Its events, sorted by time.
    pub events: Events,
    /// Spans in which events may be missing, in ascending order.
    pub gaps: Vec<Gap>,
    /// The number of records of events that are not decoded.
    pub undecoded: u64,
}

/// A span in which events may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The last moment before it at which the trace is complete.
    pub from: Timestamp,
    /// The first moment after it.
    pub to: Timestamp,
}

/// The number of events that the kernel lost, by its own count
/// (`per_cpu/cpuN/stats`), of all CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Older events, overwritten by newer ones because the buffer was full.
    pub overwritten: u64,
    /// Events that were never recorded.
    pub dropped: u64,
}

impl Trace {
    /// Adds the events of another trace, of the same time.
    pub fn merge(&mut self, other: Self) {
        for mut cpu in other.cpus {
            match self.cpus.iter_mut().find(|own| own.cpu == cpu.cpu) {
                Some(own) => {
                    own.events.reserve_exact(cpu.events.len());
                    own.events.extend(&cpu.events);
                    own.events.sort();
                    own.undecoded += cpu.undecoded;
                    own.gaps.append(&mut cpu.gaps);
                    own.join_gaps();
                }
                None => self.cpus.push(cpu),
            }
        }
        self.kernel_threads.extend(other.kernel_threads);
        self.lost.overwritten = self.lost.overwritten.saturating_add(other.lost.overwritten);
        self.lost.dropped = self.lost.dropped.saturating_add(other.lost.dropped);
    }

    /// The events of one CPU.
    pub fn cpu(&self, cpu: usize) -> Option<&CpuTrace> {
        self.cpus.iter().find(|trace| trace.cpu == cpu)
    }

    /// Whether any CPU may lack events between the two moments.
    pub fn has_gap(&self, from: Timestamp, to: Timestamp) -> bool {
        self.cpus.iter().any(|trace| trace.gaps.iter().any(|gap| gap.overlaps(from, to)))
    }

    /// The times of the first and the last event.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        let first = self.cpus.iter().filter_map(|cpu| cpu.events.first_at()).min()?;
        let last = self.cpus.iter().filter_map(|cpu| cpu.events.last_at()).max()?;
        Some((first, last))
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.cpus.iter().map(|trace| trace.events.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl CpuTrace {
    /// The empty trace of a CPU.
    pub fn new(cpu: usize) -> Self {
        Self { cpu, ..Self::default() }
    }

    /// Appends the events of one ring-buffer page. Pages must come in the
    /// kernel's order.
    ///
    /// # Errors
    /// If a page contradicts `layout`. The events before the fault are kept.
    pub fn push_page(
        &mut self,
        layout: &Layout,
        decoder: &Decoder,
        bytes: &[u8],
    ) -> Result<(), Malformed> {
        let page = Page::parse(layout, bytes)?;
        if page.missed.is_some() {
            let from = self.last_known();
            self.gaps.push(Gap { from, to: page.at.max(from) });
        }
        for record in page.records() {
            match decoder.decode(&record?) {
                Some(event) => self.events.push(event),
                None => self.undecoded += 1,
            }
        }
        Ok(())
    }

    /// Records that more events may follow those that were read.
    pub(super) fn cut_off(&mut self) {
        self.gaps.push(Gap { from: self.last_known(), to: END });
    }

    /// Sorts the trace, once all pages are read. Outside `started` and
    /// `stopped` nothing was recorded.
    pub fn finish(&mut self, started: Timestamp, stopped: Timestamp) {
        self.events.sort();
        self.events.shrink();
        self.gaps.push(Gap { from: BEGINNING, to: started });
        self.gaps.push(Gap { from: stopped, to: END });
        self.join_gaps();
    }

    /// Orders the gaps, and joins those that touch.
    fn join_gaps(&mut self) {
        self.gaps.retain(|gap| gap.from < gap.to);
        self.gaps.sort_by_key(|gap| gap.from);
        self.gaps.dedup_by(|later, earlier| {
            let touch = later.from <= earlier.to;
            if touch {
                earlier.to = earlier.to.max(later.to);
            }
            touch
        });
    }

    /// The events from the first moment to the second, both inclusive.
    pub fn events_in(&self, from: Timestamp, to: Timestamp) -> Iter<'_> {
        self.events.range(self.events.places(from, to))
    }

    fn last_known(&self) -> Timestamp {
        self.events.last_at().unwrap_or(BEGINNING)
    }
}

impl Gap {
    /// Whether it overlaps the span between the two moments.
    pub fn overlaps(&self, from: Timestamp, to: Timestamp) -> bool {
        self.from < to && self.to > from
    }
}

impl Lost {
    /// Adds the counts of one CPU, from the text of its `stats` file.
    ///
    /// # Errors
    /// If a line does not hold its number.
    pub fn add_stats(&mut self, text: &str) -> Result<(), Malformed> {
        for (line, number) in text.lines().zip(1..) {
            let Some((name, value)) = line.split_once(':') else { continue };
            let count = match name.trim() {
                "overrun" => &mut self.overwritten,
                "commit overrun" | "dropped events" => &mut self.dropped,
                _ => continue,
            };
            let value: u64 = value
                .trim()
                .parse()
                .map_err(|_| Malformed::new(number, "expected a number of events"))?;
            *count = count.saturating_add(value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Context, Event, EventKind};
    use super::super::page::tests::{layout, page};
    use super::*;
    use crate::sched::ThreadId;

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    fn gap(from: u64, to: u64) -> Gap {
        Gap { from: at(from), to: at(to) }
    }

    fn event(nanos: u64) -> Event {
        let (current, context) = (ThreadId(1), Context::Thread);
        Event { at: at(nanos), current, context, kind: EventKind::Idle(None) }
    }

    #[test]
    fn a_page_after_overwritten_ones_leaves_a_gap() {
        let mut trace = CpuTrace::new(1);
        trace.events.push(event(50));
        let bytes = page(100, true, &[(120, vec![9; 8])]);
        trace.push_page(&layout(), &Decoder::default(), &bytes).unwrap();
        assert_eq!(trace.gaps, [gap(50, 100)]);
        assert_eq!(trace.undecoded, 1, "counted, not silently skipped");
    }

    #[test]
    fn nothing_is_known_before_the_start_and_after_the_stop() {
        let mut trace = CpuTrace::new(0);
        trace.gaps = vec![gap(0, 30), gap(50, 60)];
        trace.events = [70, 40, 55].map(event).into_iter().collect();
        trace.finish(at(20), at(90));
        assert_eq!(trace.gaps, [gap(0, 30), gap(50, 60), gap(90, u64::MAX)]);
        let times = |events: Iter<'_>| events.map(|e| e.at.as_nanos()).collect::<Vec<_>>();
        assert_eq!(times(trace.events.iter()), [40, 55, 70]);
        assert_eq!(times(trace.events_in(at(40), at(55))), [40, 55]);
        assert_eq!(trace.events_in(at(60), at(41)).len(), 0);
        let trace = Trace { cpus: vec![trace], ..Trace::default() };
        assert!(trace.has_gap(at(55), at(56)));
        assert!(trace.has_gap(at(10), at(100)));
        assert!(!trace.has_gap(at(60), at(90)), "it ends where the span begins");
    }

    #[test]
    fn losses_are_summed_over_the_cpus() {
        let stats = "entries: 5\noverrun: 3\ncommit overrun: 1\nbytes: 300\n\
            oldest event ts:  1671.5\nnow ts:  1672.0\ndropped events: 2\nread events: 0\n";
        let mut lost = Lost::default();
        lost.add_stats(stats).unwrap();
        lost.add_stats(stats).unwrap();
        assert_eq!(lost, Lost { overwritten: 6, dropped: 6 });
        let error = lost.add_stats("entries: 1\noverrun: many\n").unwrap_err();
        assert_eq!(error.to_string(), "at 2: expected a number of events");
    }
}
