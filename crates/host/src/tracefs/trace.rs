//! A trace that was read: the events of each CPU, and where some are missing.

use super::decode::Decoder;
use super::event::Event;
use super::format::Malformed;
use super::page::{Layout, Page};
use crate::clock::Timestamp;

/// The start and the end of everything.
const BEGINNING: Timestamp = Timestamp::from_nanos(0);
const END: Timestamp = Timestamp::from_nanos(u64::MAX);

/// The events of every CPU.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The CPUs, in ascending order.
    pub cpus: Vec<CpuTrace>,
    /// What the kernel could not keep.
    pub lost: Lost,
}

/// The events of one CPU.
#[derive(Debug, Clone, Default)]
pub struct CpuTrace {
    /// The CPU's number.
    pub cpu: usize,
    /// Its events in the order of their times.
    pub events: Vec<Event>,
    /// Spans of which the trace does not know everything, in ascending order.
    pub gaps: Vec<Gap>,
    /// Records of events that are not decoded.
    pub undecoded: u64,
}

/// A span in which events may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The last moment before it of which everything is known.
    pub from: Timestamp,
    /// The first moment after it.
    pub to: Timestamp,
}

/// How many events the kernel could not keep, by its own count
/// (`per_cpu/cpuN/stats`), all CPUs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Older events, overwritten by newer ones because the buffer was full.
    pub overwritten: u64,
    /// Events that were not recorded at all.
    pub dropped: u64,
}

impl Trace {
    /// The events of one CPU.
    pub fn cpu(&self, cpu: usize) -> Option<&CpuTrace> {
        self.cpus.iter().find(|trace| trace.cpu == cpu)
    }

    /// Whether any CPU may lack events between the two moments.
    pub fn has_gap(&self, from: Timestamp, to: Timestamp) -> bool {
        self.cpus.iter().any(|trace| trace.gaps.iter().any(|gap| gap.overlaps(from, to)))
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.cpus.iter().map(|trace| trace.events.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl CpuTrace {
    /// The empty trace of a CPU.
    pub fn new(cpu: usize) -> Self {
        Self { cpu, ..Self::default() }
    }

    /// Appends the events of one ring-buffer page, in the order in which the
    /// kernel gave the pages out.
    ///
    /// # Errors
    /// A page that is not as `layout` has it. The events before the bad place
    /// are kept.
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

    /// Notes that there may be more events behind those that were read.
    pub(super) fn cut_off(&mut self) {
        self.gaps.push(Gap { from: self.last_known(), to: END });
    }

    /// Brings the trace into the order that its readers rely on, once all
    /// pages are there. Outside `started` and `stopped` nothing was recorded.
    pub fn finish(&mut self, started: Timestamp, stopped: Timestamp) {
        // The clock may step back by a little when the kernel adjusts it.
        if !self.events.is_sorted_by_key(|event| event.at) {
            self.events.sort_by_key(|event| event.at);
        }
        self.gaps.push(Gap { from: BEGINNING, to: started });
        self.gaps.push(Gap { from: stopped, to: END });
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

    /// The events from the first moment to the second, both included.
    pub fn events_in(&self, from: Timestamp, to: Timestamp) -> &[Event] {
        let first = self.events.partition_point(|event| event.at < from);
        let end = self.events.partition_point(|event| event.at <= to);
        self.events.get(first..end).unwrap_or_default()
    }

    fn last_known(&self) -> Timestamp {
        self.events.last().map_or(BEGINNING, |event| event.at)
    }
}

impl Gap {
    /// Whether it reaches into the span between the two moments.
    pub fn overlaps(&self, from: Timestamp, to: Timestamp) -> bool {
        self.from < to && self.to > from
    }
}

impl Lost {
    /// Adds the counts of one CPU, from the text of its `stats` file.
    ///
    /// # Errors
    /// A line that should hold a number and does not.
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
    use super::super::event::EventKind;
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
        Event { at: at(nanos), current: ThreadId(1), kind: EventKind::Idle(None) }
    }

    #[test]
    fn a_page_after_overwritten_ones_leaves_a_gap() {
        let mut trace = CpuTrace::new(1);
        trace.events.push(event(50));
        let bytes = page(100, true, &[(120, vec![9; 8])]);
        trace.push_page(&layout(), &Decoder::default(), &bytes).unwrap();
        assert_eq!(trace.gaps, [gap(50, 100)]);
        assert_eq!(trace.undecoded, 1, "counted, not silently left out");
    }

    #[test]
    fn nothing_is_known_before_the_start_and_after_the_stop() {
        let mut trace = CpuTrace::new(0);
        trace.gaps = vec![gap(0, 30), gap(50, 60)];
        trace.events = [70, 40, 55].map(event).to_vec();
        trace.finish(at(20), at(90));
        assert_eq!(trace.gaps, [gap(0, 30), gap(50, 60), gap(90, u64::MAX)]);
        let times = |events: &[Event]| events.iter().map(|e| e.at.as_nanos()).collect::<Vec<_>>();
        assert_eq!(times(&trace.events), [40, 55, 70]);
        assert_eq!(times(trace.events_in(at(40), at(55))), [40, 55]);
        assert!(trace.events_in(at(60), at(41)).is_empty());
        let trace = Trace { cpus: vec![trace], lost: Lost::default() };
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
