//! `FtraceEventBundle`: the events of one CPU.

use super::super::super::event::{Event, EventKind};
use super::super::fault::Fault;
use super::super::limits::{Budget, HIGHEST_CPU};
use super::Reading;
use super::cpu::CpuReading;
use super::events::{Begin, FORK, GENERIC, NEW_TASK, PRINT, kind};
use super::named::Named;
use super::wire::{Fields, Malformed, Small};
use crate::clock::Timestamp;

impl Reading {
    /// `FtraceEventBundle`: events of one CPU.
    pub(super) fn bundle(&mut self, message: &[u8], budget: &mut Budget) -> Result<(), Fault> {
        let Ok(parts) = BundleParts::of(message) else {
            self.malformed += 1;
            return Ok(());
        };
        let cpu = parts.cpu;
        if cpu > HIGHEST_CPU {
            return Err(Fault::of_file(format!("it has a CPU {cpu}, which is impossible")));
        }
        let clock = *self.clock.get_or_insert(parts.clock);
        if clock != parts.clock {
            return Err(Fault::of_file("its bundles of events have different clocks"));
        }
        for &description in &parts.descriptions {
            self.malformed += u64::from(self.descriptions.add(description).is_err());
        }
        let reading = self.cpus.entry(cpu).or_insert_with(|| CpuReading::new(cpu));
        let (last, before) = (reading.trace.events.last_at(), reading.trace.events.len());
        if parts.lost {
            reading.lose();
        }
        if before == 0 && reading.valid_from.is_none() {
            reading.valid_from = parts.valid_from;
        }
        if let Some(compact) = parts.compact {
            if let Ok(events) = self.columns.events(compact, budget)? {
                self.has_switches |= !events.is_empty();
                for event in &events {
                    reading.push_compact(event);
                }
            } else {
                self.malformed += 1;
                reading.lose();
            }
        }
        for event in parts.events {
            if self.event(cpu, event, budget)?.is_none() {
                self.malformed += 1;
            }
        }
        if let Some(reading) = self.cpus.get_mut(&cpu) {
            reading.end_bundle(last, before);
        }
        Ok(())
    }

    /// An `FtraceEvent`; `None` if it is malformed.
    fn event(
        &mut self,
        cpu: usize,
        event: &[u8],
        budget: &mut Budget,
    ) -> Result<Option<()>, Fault> {
        let Ok(begin) = Begin::of(event) else { return Ok(None) };
        if begin.event == PRINT && self.skips_named_times {
            return Ok(Some(()));
        }
        if begin.event == PRINT {
            let Ok(line) = Small::of(begin.message) else { return Ok(None) };
            let line = String::from_utf8_lossy(line.text(2));
            self.slices.line(begin.at, begin.current, &line);
            return Ok(Some(()));
        }
        let kind = match self.kind(&begin) {
            Ok(kind) => kind,
            Err(Malformed) => return Ok(None),
        };
        let Some(reading) = self.cpus.get_mut(&cpu) else { return Ok(None) };
        let Some(kind) = kind else {
            reading.trace.undecoded += 1;
            return Ok(Some(()));
        };
        budget.spend_events(1)?;
        if begin.event == FORK {
            let Begin { at, current, context, .. } = begin;
            self.forks.push((cpu, Event { at, current, context, kind }));
            return Ok(Some(()));
        }
        self.has_new_tasks |= begin.event == NEW_TASK;
        self.has_switches |= matches!(kind, EventKind::Switch { .. });
        reading.push(&begin, kind);
        Ok(Some(()))
    }

    fn kind(&self, begin: &Begin<'_>) -> Result<Option<EventKind>, Malformed> {
        if begin.event == GENERIC {
            return Ok(Named::of_generic(begin.message)?.kind());
        }
        if let Some(named) = self.descriptions.named(begin.event, begin.message)? {
            return Ok(named.kind());
        }
        kind(begin.event, begin.message)
    }
}

/// The parts of an `FtraceEventBundle`.
#[derive(Default)]
struct BundleParts<'a> {
    cpu: usize,
    events: Vec<&'a [u8]>,
    compact: Option<&'a [u8]>,
    descriptions: Vec<&'a [u8]>,
    lost: bool,
    clock: u64,
    /// The time up to which the buffer was read before this bundle.
    valid_from: Option<Timestamp>,
}

impl<'a> BundleParts<'a> {
    fn of(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut parts = Self::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => parts.cpu = value.number()? as usize,
                (2, value) => parts.events.push(value.bytes()?),
                (3, value) => parts.lost = value.number()? != 0,
                (4, value) => parts.compact = Some(value.bytes()?),
                (5, value) => parts.clock = value.number()?,
                (9 | 10, value) => {
                    parts.valid_from = Some(Timestamp::from_nanos(value.number()?));
                }
                (11, value) => parts.descriptions.push(value.bytes()?),
                _ => {}
            }
        }
        Ok(parts)
    }
}
