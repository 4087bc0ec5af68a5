//! The text of ftrace: files `trace` and `trace_pipe`, and the output of
//! `trace-cmd report -l`.
//!
//! | module | subject |
//! |---|---|
//! | `line` | the beginning of a line: thread, CPU and time |
//! | `events` | the rest of a line: the event |
//! | `fields` | values in the rest |
//!
//! Text is less exact than pages: times are mostly rounded to microseconds, and a
//! thread's name may look like a field.

mod events;
mod fields;
mod line;

use std::collections::BTreeMap;

use super::super::event::Event;
use super::super::name::Comm;
use super::super::trace::{CpuTrace, Gap, Trace};
use super::fault::Fault;
use super::limits::Budget;
use super::recorded::Recorded;
use crate::clock::Timestamp;
use crate::input::Stop;
use crate::sched::ThreadId;
use line::Line;

/// The longest line in bytes.
const LONGEST_LINE: usize = 1 << 16;
/// A thread's name that is not known (`trace_find_cmdline` of `kernel/trace/trace_sched_switch.c`).
const UNKNOWN_NAME: &str = "<...>";
/// The error for a header that nothing follows.
const NO_EVENTS: &str =
    "it is text of ftrace without events; record with trace-cmd record -e sched";
/// The error for a file of another form.
const NO_RECORDING: &str = "it is no recording that unjank reads: a trace of Perfetto, trace-cmd's \
                            trace.dat, or ftrace's text with flags; sudo unjank record makes one";
/// A thread's name of 15 bytes may break the line of an event this often.
const MOST_BREAKS: usize = 15;

/// Reads a text.
pub(super) fn read(bytes: &[u8], stop: &Stop) -> Result<Recorded, Fault> {
    let mut reading = Reading::default();
    for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
        if stop.is_requested() {
            return Err(Fault::stopped());
        }
        if line.len() > LONGEST_LINE && reading.cpus.is_empty() {
            return Err(Fault::of_file(NO_RECORDING));
        }
        if line.len() > LONGEST_LINE {
            let what = format!("a line of more than {LONGEST_LINE} bytes is not ftrace's");
            return Err(Fault::at_line(number, what));
        }
        reading.line(&String::from_utf8_lossy(line), number)?;
    }
    reading.finish(bytes.last() != Some(&b'\n'))
}

#[derive(Default)]
struct Reading {
    cpus: BTreeMap<usize, CpuTrace>,
    /// The last name of each thread that has events.
    names: BTreeMap<ThreadId, Comm>,
    budget: Budget,
    lost: u64,
    /// The CPUs that have lost events since their last event, with its time.
    losing: BTreeMap<usize, Timestamp>,
    /// Whether a header of ftrace was seen.
    has_header: bool,
    /// Lines that are not events.
    others: usize,
    /// An event that is incomplete, or wrong.
    broken: Option<Broken>,
    has_switches: bool,
    /// `task_newtask` was seen. It precedes `sched_process_fork`, and shows
    /// whether the new thread belongs to the same process.
    has_new_tasks: bool,
}

/// An event that could not be read, because a thread's name in it contains a newline, or because it
/// is wrong: the next lines show which.
struct Broken {
    text: String,
    /// The number of its first line.
    number: usize,
    breaks: usize,
    fault: Fault,
}

impl Reading {
    /// Takes the next line.
    fn line(&mut self, text: &str, number: usize) -> Result<(), Fault> {
        let Some(broken) = self.broken.take() else { return self.event(text, number, 0) };
        let may_continue = matches!(line::parse(text.trim_end()), Line::Other | Line::Head);
        if broken.breaks == MOST_BREAKS || !may_continue {
            return Err(broken.fault);
        }
        self.event(&format!("{}\n{text}", broken.text), broken.number, broken.breaks + 1)
    }

    /// Takes the text of an event, or of what else is in a trace.
    fn event(&mut self, text: &str, number: usize, breaks: usize) -> Result<(), Fault> {
        match line::parse(text.trim_end()) {
            Line::Event(begin) => {
                if begin.current != ThreadId(0) && begin.name != UNKNOWN_NAME {
                    self.names.insert(begin.current, Comm::new(begin.name.as_bytes()));
                }
                let trace = self.cpus.entry(begin.cpu).or_insert_with(|| CpuTrace::new(begin.cpu));
                if let Some(from) = self.losing.remove(&begin.cpu) {
                    trace.gaps.push(Gap { from, to: begin.at.max(from) });
                }
                if self.has_new_tasks && begin.event == "sched_process_fork" {
                    return Ok(());
                }
                let kind = match events::kind(begin.event, begin.what) {
                    Ok(kind) => kind,
                    Err(what) => {
                        let fault = Fault::at_line(number, format!("{}: {what}", begin.event));
                        let text = text.to_owned();
                        self.broken = Some(Broken { text, number, breaks, fault });
                        return Ok(());
                    }
                };
                self.has_switches |= begin.event == "sched_switch";
                self.has_new_tasks |= begin.event == "task_newtask";
                match kind {
                    Some(kind) => {
                        self.budget.spend_events(1)?;
                        let (at, current, context) = (begin.at, begin.current, begin.context);
                        trace.events.push(Event { at, current, context, kind });
                    }
                    None => trace.undecoded += 1,
                }
            }
            Line::WithoutFlags => {
                return Err(Fault::at_line(
                    number,
                    "there is no column of flags (irqs-off, need-resched, hardirq/softirq, \
                     preempt-depth), so a wake-up from an interrupt would be taken for one by the \
                     interrupted thread; use trace-cmd report -l, or the option irq-info of \
                     tracefs",
                ));
            }
            Line::OfPerfScript => {
                return Err(Fault::of_file(
                    "perf script printed it, and its text is not read; record with unjank record, \
                     or with trace-cmd record -e sched",
                ));
            }
            Line::Lost { cpu, events } => {
                self.lost = self.lost.saturating_add(events);
                self.loses(cpu);
            }
            Line::Started { cpu } => self.loses(cpu),
            Line::Overwritten { events } => {
                self.has_header = true;
                self.lost = self.lost.saturating_add(events);
            }
            Line::Head => self.has_header |= !text.trim_end().is_empty(),
            Line::Other => self.others += 1,
        }
        Ok(())
    }

    /// The CPU lacks events between its last one and the next.
    fn loses(&mut self, cpu: usize) {
        let last = self.cpus.get(&cpu).and_then(|trace| trace.events.last_at());
        self.losing.entry(cpu).or_insert(last.unwrap_or_default());
    }

    /// What was read; `is_cut`: the last line has no end.
    fn finish(self, is_cut: bool) -> Result<Recorded, Fault> {
        let mut notes = Vec::new();
        match self.broken {
            Some(_) if is_cut => {
                notes.push("the last event is cut off, and left out".to_owned());
            }
            Some(broken) => return Err(broken.fault),
            None => {}
        }
        let cpus: Vec<CpuTrace> = self.cpus.into_values().collect();
        if cpus.is_empty() {
            return Err(Fault::of_file(if self.has_header { NO_EVENTS } else { NO_RECORDING }));
        }
        if !self.has_switches {
            return Err(Fault::of_file(
                "it has no events of sched_switch; record with trace-cmd record -e sched",
            ));
        }
        let mut trace = Trace { cpus, names: self.names, ..Trace::default() };
        trace.cpus.iter_mut().for_each(|cpu| cpu.events.sort());
        let (from, to) = trace.span().unwrap_or_default();
        for cpu in &mut trace.cpus {
            if let Some(since) = self.losing.get(&cpu.cpu) {
                cpu.gaps.push(Gap { from: *since, to });
            }
            cpu.finish(from, to);
        }
        trace.lost.overwritten = self.lost;
        if self.others > 0 {
            notes.push(format!("skipped lines that are not events: {}", self.others));
        }
        Ok(Recorded { trace, notes, ..Recorded::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracefs::event::EventKind;

    fn read(text: &str) -> Result<Recorded, Fault> {
        super::read(text.as_bytes(), &Stop::default())
    }

    const SWITCH: &str = "  <idle>-0  0d..2. 1.000000200: sched_switch: swapper/0:0 [120] R ==> \n\n\
                          evil:77 [120]\n";

    #[test]
    fn a_name_may_break_the_line_of_an_event() {
        let woken = "  <idle>-0  0d.h3. 1.000000100: sched_wakeup:    \n\nevil:77 [120] CPU:000\n";
        let recorded = read(&format!("{woken}{SWITCH}")).unwrap();
        let events: Vec<_> = recorded.trace.cpus[0].events.iter().map(|event| event.kind).collect();
        let [EventKind::Wakeup { task, .. }, EventKind::Switch { next, .. }] = events.as_slice()
        else {
            panic!("{events:?}")
        };
        assert_eq!((task.comm, next.comm), ("\n\nevil".into(), "\n\nevil".into()));
        assert_eq!(recorded.notes, [""; 0]);
    }

    #[test]
    fn an_event_that_is_cut_off_at_the_end_of_the_text_is_left_out() {
        let next =
            "  <idle>-0  0d..2. 1.000000300: sched_switch: swapper/0:0 [120] R ==> a:7 [120]";
        for length in 0..next.len() {
            let recorded = read(&format!("{SWITCH}{}", &next[..length])).unwrap();
            let events = recorded.trace.cpus[0].events.len();
            assert_eq!(events, 1, "{length}");
            let is_noted = recorded.notes.iter().any(|note| {
                note == "the last event is cut off, and left out"
                    || note.starts_with("skipped lines")
            });
            assert_eq!(is_noted, !next[..length].trim().is_empty(), "{length}");
        }
        assert_eq!(read(&format!("{SWITCH}{next}")).unwrap().trace.cpus[0].events.len(), 2);
    }

    #[test]
    fn the_name_of_a_thread_is_known_from_its_lines() {
        let wakes =
            "server-400 0d..2. 1.000000100: sched_waking: comm=a pid=5 prio=120 target_cpu=0\n";
        let unknown = wakes.replace("server-400", "<...>-401");
        let recorded = read(&format!("{wakes}{unknown}{SWITCH}")).unwrap();
        assert_eq!(recorded.trace.names, [(ThreadId(400), "server".into())].into());
    }

    #[test]
    fn an_event_that_no_further_line_completes_is_a_fault() {
        let wrong = "  <idle>-0  0d.h3. 1.000000300: sched_wakeup: nobody\n";
        let others = "x\n".repeat(20);
        for (before, after) in [(SWITCH, ""), ("", SWITCH), (SWITCH, &others)] {
            let fault = read(&format!("{before}{wrong}{after}")).unwrap_err();
            assert!(format!("{fault:?}").contains("expected a priority"), "{fault:?}");
        }
    }
}
