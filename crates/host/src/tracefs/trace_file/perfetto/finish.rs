//! What the parts of a trace make together, and what was skipped.

use super::super::super::event::{Event, EventKind};
use super::super::super::trace::{CpuTrace, Gap, Lost, Trace};
use super::super::fault::Fault;
use super::super::recorded::Recorded;
use super::stream::End;
use super::{Reading, annex};
use crate::clock::Timestamp;

impl Reading {
    /// What the parts make together.
    pub(super) fn finish(mut self, end: End) -> Result<Recorded, Fault> {
        if self.cpus.is_empty() {
            let what = if self.malformed > 0 {
                "it is malformed"
            } else {
                "it has no events of the kernel"
            };
            return Err(Fault::of_file(format!(
                "{what}; record with the data source linux.ftrace"
            )));
        }
        if !self.has_switches {
            return Err(Fault::of_file(
                "it has no events of sched_switch; record with the data source linux.ftrace and the \
                 events sched/sched_switch and sched/sched_waking",
            ));
        }
        if !self.has_new_tasks {
            for (cpu, event) in self.forks {
                if let Some(reading) = self.cpus.get_mut(&cpu) {
                    reading.trace.events.push(event);
                }
            }
        }
        let mut notes = Vec::new();
        if end == End::WithinPacket {
            notes.push("the file ends within a packet: it was cut off".to_owned());
        }
        if self.malformed > 0 {
            notes.push(format!("skipped parts that are malformed: {}", self.malformed));
        }
        let skipped: u64 = self.cpus.values().map(|reading| reading.skipped).sum();
        let mut trace = Trace::default();
        for reading in self.cpus.into_values() {
            let mut cpu = reading.trace;
            if let Some(from) = reading.valid_from {
                cpu.gaps.push(Gap { from: Timestamp::default(), to: from });
            }
            cpu.undecoded += reading.skipped;
            cpu.events.sort();
            trace.cpus.push(cpu);
        }
        if skipped > 0 {
            notes
                .push(format!("left out wake-ups before the first switch of their CPU: {skipped}"));
        }
        let (from, to) = trace.span().unwrap_or_default();
        trace.cpus.iter_mut().for_each(|cpu| cpu.finish(from, to));
        match (&self.annex, self.lost) {
            (Some(annex), [_, lost]) => {
                trace.lost = lost.unwrap_or_default();
                annex::set_gaps(&mut trace, annex);
            }
            (None, lost) => {
                // The kernel counts from the boot on.
                if let [Some(before), Some(after)] = lost {
                    trace.lost = Lost {
                        overwritten: after.overwritten.saturating_sub(before.overwritten),
                        dropped: after.dropped.saturating_sub(before.dropped),
                    };
                }
                trace.cpus.iter_mut().for_each(drop_mangled);
            }
        }
        trace.kernel_threads = self.kernel_threads.into_iter().collect();
        if self.slices.dropped() > 0 {
            let dropped = self.slices.dropped();
            notes.push(format!("left out names of programs' slices beyond the limit: {dropped}"));
        }
        if self.without_clock > 0 {
            notes.push(format!(
                "left out events of programs whose clock the trace does not compare with that of \
                 the kernel's events: {}",
                self.without_clock
            ));
        }
        Ok(Recorded {
            trace,
            clock: self.clock.and_then(clock_name).map(str::to_owned),
            architecture: self.architecture,
            annex: self.annex,
            processes: self.processes,
            slices: self.slices.finish(),
            frames: self.frames.finish(),
            notes,
        })
    }
}

/// Removes what Perfetto's recorder makes of addresses of the kernel: numbers that begin anew with
/// each read of the buffers (`CpuReader::ReadSymbolAddr`), so that equal ones may be of different
/// timers, work items and packets.
fn drop_mangled(cpu: &mut CpuTrace) {
    let is_mangled = |kind: &EventKind| {
        matches!(
            kind,
            EventKind::TimerArmed { .. }
                | EventKind::TimerExpires { .. }
                | EventKind::WorkQueued { .. }
                | EventKind::WorkBegins { .. }
                | EventKind::PacketQueued { .. }
                | EventKind::PacketTaken { .. }
        )
    };
    if !cpu.events.iter().any(|event| is_mangled(&event.kind)) {
        return;
    }
    let kept = cpu.events.iter().filter_map(|event| {
        let kind = match event.kind {
            // That a timer or a packet was the cause is known all the same.
            EventKind::TimerExpires { .. } => EventKind::TimerExpires { timer: 0 },
            EventKind::PacketTaken { .. } => EventKind::PacketTaken { packet: 0 },
            kind if is_mangled(&kind) => return None,
            kind => kind,
        };
        Some(Event { kind, ..event })
    });
    cpu.events = kept.collect();
}

/// The name of a clock by its number in `FtraceClock`; 0 is the default.
fn clock_name(number: u64) -> Option<&'static str> {
    match number {
        0 => Some("boot"),
        2 => Some("global"),
        3 => Some("local"),
        4 => Some("mono_raw"),
        _ => None,
    }
}
