//! A trace after reading: the events of each CPU, and the gaps.

use std::collections::BTreeMap;

use super::decode::Decoder;
use super::event::EventKind;
use super::events::{Events, Iter};
use super::format::Malformed;
use super::name::Comm;
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
    /// The kernel threads that the recorder knows; there may be others.
    pub kernel_threads: Vec<ThreadId>,
    /// Names of threads that the recorder noted beside the events. Events of the scheduler have names
    /// of their own.
    pub names: BTreeMap<ThreadId, Comm>,
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
    /// The moment from which on all switches are there, if it is before the end of the first gap:
    /// until that end, only the thread that had the CPU is not known.
    pub switches_from: Option<Timestamp>,
    /// Spans in which only requests of threads to the kernel may be missing: system calls,
    /// page faults, armed timers, pages of files. They come from a joined trace that
    /// recorded nothing else.
    pub call_gaps: Vec<Gap>,
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
    /// Events that were never recorded: `commit overrun` and `dropped events`.
    pub dropped: u64,
}

impl Trace {
    /// Joins traces that were recorded at the same time. Events with equal times keep the
    /// order of their traces. Gaps of a trace that has only requests to the kernel become
    /// [`call_gaps`](CpuTrace::call_gaps).
    pub fn joined(traces: impl IntoIterator<Item = Self>) -> Self {
        let mut joined = Self::default();
        let mut cpus: BTreeMap<usize, Vec<CpuTrace>> = BTreeMap::new();
        for trace in traces {
            let has_calls_only = trace.has_calls_only();
            for mut cpu in trace.cpus {
                if has_calls_only {
                    cpu.call_gaps.append(&mut cpu.gaps);
                }
                cpus.entry(cpu.cpu).or_default().push(cpu);
            }
            joined.kernel_threads.extend(trace.kernel_threads);
            joined.names.extend(trace.names);
            let Lost { overwritten, dropped } = &mut joined.lost;
            *overwritten = overwritten.saturating_add(trace.lost.overwritten);
            *dropped = dropped.saturating_add(trace.lost.dropped);
        }
        joined.cpus = cpus.into_iter().map(|(cpu, traces)| CpuTrace::joined(cpu, traces)).collect();
        joined
    }

    /// This trace and the next one of the same events, which began before this one ended: events
    /// that are in both are taken once.
    #[must_use]
    pub fn followed_by(mut self, mut next: Self) -> Self {
        for cpu in &mut next.cpus {
            let before = self.cpu(cpu.cpu).and_then(|before| before.events.last_at());
            if let Some(last) = before {
                cpu.events.retain(|event| event.at > last);
            }
            cpu.gaps.retain(|gap| gap.from > BEGINNING);
            cpu.call_gaps.retain(|gap| gap.from > BEGINNING);
        }
        for cpu in &mut self.cpus {
            cpu.gaps.retain(|gap| gap.to < END);
            cpu.call_gaps.retain(|gap| gap.to < END);
        }
        Self::joined([self, next])
    }

    /// Whether it has events, and all of them are requests of threads to the kernel.
    fn has_calls_only(&self) -> bool {
        let mut events = self.cpus.iter().flat_map(|cpu| &cpu.events);
        !self.is_empty() && events.all(|event| event.kind.is_call())
    }

    /// Whether it has an event of a wanted kind.
    pub fn has(&self, is_wanted: impl Fn(&EventKind) -> bool) -> bool {
        let mut events = self.cpus.iter().flat_map(|cpu| &cpu.events);
        events.any(|event| is_wanted(&event.kind))
    }

    /// The trace of the CPU with this number, by binary search.
    pub fn cpu(&self, cpu: usize) -> Option<&CpuTrace> {
        self.cpus.get(self.cpus.binary_search_by_key(&cpu, |trace| trace.cpu).ok()?)
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

    /// Adds a gap after the last event: more events may follow that were not read.
    pub(super) fn cut_off(&mut self) {
        self.gaps.push(Gap { from: self.last_known(), to: END });
    }

    /// Sorts the events, once all pages are read, and adds gaps before `started`
    /// and after `stopped`.
    pub fn finish(&mut self, started: Timestamp, stopped: Timestamp) {
        self.events.sort();
        self.events.shrink();
        self.gaps.push(Gap { from: BEGINNING, to: started });
        self.gaps.push(Gap { from: stopped, to: END });
        join(&mut self.gaps);
    }

    /// Joins traces of this CPU.
    fn joined(cpu: usize, traces: Vec<Self>) -> Self {
        let events: usize = traces.iter().map(|trace| trace.events.len()).sum();
        let mut traces = traces.into_iter();
        let mut joined = traces.next().unwrap_or_else(|| Self::new(cpu));
        let more = traces.len() > 0;
        joined.events.reserve_exact(events - joined.events.len());
        for mut trace in traces {
            joined.events.extend(&trace.events);
            joined.gaps.append(&mut trace.gaps);
            joined.call_gaps.append(&mut trace.call_gaps);
            joined.undecoded = joined.undecoded.saturating_add(trace.undecoded);
        }
        if more {
            joined.events.sort();
            join(&mut joined.gaps);
            join(&mut joined.call_gaps);
        }
        joined
    }

    /// Whether a gap, of all events or of requests only, begins at `from` or between the two
    /// moments. The time before the start and after the stop of the recording does not count.
    pub fn gap_begins(&self, from: Timestamp, to: Timestamp) -> bool {
        [&self.gaps, &self.call_gaps].into_iter().any(|gaps| {
            let after = gaps.partition_point(|gap| gap.from < from || gap.from == BEGINNING);
            gaps.get(after).is_some_and(|gap| gap.from < to && gap.to < END)
        })
    }

    /// The events from the first moment to the second, both inclusive.
    pub fn events_in(&self, from: Timestamp, to: Timestamp) -> Iter<'_> {
        self.events.range(self.events.places(from, to))
    }

    fn last_known(&self) -> Timestamp {
        self.events.last_at().unwrap_or(BEGINNING)
    }
}

/// Sorts gaps, drops empty ones, and merges those that touch.
fn join(gaps: &mut Vec<Gap>) {
    gaps.retain(|gap| gap.from < gap.to);
    gaps.sort_by_key(|gap| gap.from);
    gaps.dedup_by(|later, earlier| {
        let touch = later.from <= earlier.to;
        if touch {
            earlier.to = earlier.to.max(later.to);
        }
        touch
    });
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
    /// The line that lacks its number.
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
    fn a_trace_that_follows_another_leaves_no_gap_and_no_event_twice() {
        let recorded = |from: u64, to: u64, times: &[u64]| {
            let events = times.iter().map(|nanos| event(*nanos)).collect();
            let mut cpu = CpuTrace { events, gaps: vec![gap(0, from)], ..CpuTrace::new(0) };
            cpu.finish(at(from), at(to));
            Trace { cpus: vec![cpu], ..Trace::default() }
        };
        let both = recorded(10, 50, &[20, 45]).followed_by(recorded(40, 90, &[45, 70]));
        let [cpu] = both.cpus.as_slice() else { panic!("{both:?}") };
        let times: Vec<u64> = cpu.events.iter().map(|event| event.at.as_nanos()).collect();
        assert_eq!(times, [20, 45, 70]);
        assert_eq!(cpu.gaps, [gap(0, 10), gap(90, u64::MAX)]);
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
    fn traces_are_joined_by_cpu_and_time() {
        let trace = |cpu: usize, events: &[u64], gaps: &[Gap], overwritten| Trace {
            cpus: vec![CpuTrace {
                events: events.iter().copied().map(event).collect(),
                gaps: gaps.to_vec(),
                undecoded: 1,
                ..CpuTrace::new(cpu)
            }],
            lost: Lost { overwritten, dropped: 1 },
            kernel_threads: vec![ThreadId(cpu as u32)],
            names: BTreeMap::new(),
        };
        let joined = Trace::joined([
            trace(7, &[10, 40], &[gap(0, 10)], 5),
            trace(2, &[20], &[], 0),
            trace(7, &[5, 40, 50], &[gap(5, 20), gap(30, 40)], u64::MAX),
        ]);
        assert_eq!(joined.lost, Lost { overwritten: u64::MAX, dropped: 3 });
        assert_eq!(joined.kernel_threads, [7, 2, 7].map(ThreadId));
        let cpus = joined.cpus.iter().map(|cpu| (cpu.cpu, cpu.undecoded)).collect::<Vec<_>>();
        assert_eq!(cpus, [(2, 1), (7, 2)]);
        let seven = joined.cpu(7).unwrap();
        let times: Vec<u64> = seven.events.iter().map(|event| event.at.as_nanos()).collect();
        assert_eq!(times, [5, 10, 40, 40, 50]);
        assert_eq!(seven.gaps, [gap(0, 20), gap(30, 40)]);
        assert!(joined.cpu(3).is_none());
    }

    #[test]
    fn gaps_of_calls_are_apart() {
        let trace = |kinds: &[EventKind], missing: Gap| {
            let events = kinds.iter().map(|&kind| Event { kind, ..event(5) }).collect();
            let cpu = CpuTrace { events, gaps: vec![missing], ..CpuTrace::new(0) };
            Trace { cpus: vec![cpu], ..Trace::default() }
        };
        let fault = EventKind::PageFault { address: 0 };
        let armed = EventKind::TimerArmed { timer: 0 };
        let machine = || trace(&[EventKind::TimerEnds], gap(10, 20));
        let joined = Trace::joined([machine(), trace(&[fault, armed], gap(15, 30))]);
        let gaps = |trace: &Trace| (trace.cpus[0].gaps.clone(), trace.cpus[0].call_gaps.clone());
        assert_eq!(gaps(&joined), (vec![gap(10, 20)], vec![gap(15, 30)]));
        for (from, to, begins) in [(0, 10, false), (10, 11, true), (11, 16, true), (16, 40, false)]
        {
            assert_eq!(joined.cpus[0].gap_begins(at(from), at(to)), begins, "{from}");
        }
        let mixed = Trace::joined([machine(), trace(&[fault, EventKind::TimerEnds], gap(15, 30))]);
        assert_eq!(gaps(&mixed), (vec![gap(10, 30)], vec![]));
        let empty = Trace::joined([machine(), trace(&[], gap(15, 30))]);
        assert_eq!(gaps(&empty), (vec![gap(10, 30)], vec![]));
    }

    /// A linear search for each CPU would take minutes here.
    #[test]
    fn traces_of_any_number_of_cpus_are_joined() {
        const CPUS: usize = 200_000;
        let all = |nanos: u64| {
            let cpu = |cpu| CpuTrace {
                events: [event(nanos)].into_iter().collect(),
                ..CpuTrace::new(cpu)
            };
            Trace { cpus: (0..CPUS).rev().map(cpu).collect(), ..Trace::default() }
        };
        let joined = Trace::joined([all(2), all(1)]);
        assert_eq!((joined.cpus.len(), joined.len()), (CPUS, 2 * CPUS));
        assert!(joined.cpus.is_sorted_by_key(|cpu| cpu.cpu));
        assert!((0..CPUS).all(|cpu| joined.cpu(cpu).is_some_and(|trace| trace.cpu == cpu)));
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
