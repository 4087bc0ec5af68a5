//! The pages of the ring buffers.

use std::collections::BTreeMap;

use super::super::super::decode::Decoder;
use super::super::super::trace::{CpuTrace, Trace};
use super::super::fault::Fault;
use super::super::limits::Budget;
use super::bytes::Cursor;
use super::formats::Births;
use super::options::CpuPages;
use super::parts::{Pages, Parts};
use crate::clock::Timestamp;
use crate::input::Stop;

/// Decodes the pages of all buffers.
pub(super) fn trace(
    file: &[u8],
    parts: &Parts,
    births: Births,
    stop: &Stop,
) -> Result<Trace, Fault> {
    let decoder = parts.formats.decoder(births);
    let (budget, taken) = (Budget::default(), BTreeMap::new());
    let mut reading = Reading { file, parts, decoder, budget, taken, stop };
    let annex = parts.options.annex.as_ref();
    let recorded = annex.map(|annex| annex.recorded.as_slice()).unwrap_or_default();
    let buffers = parts.buffers.iter().map(|pages| reading.buffer(pages));
    let mut traces = buffers.collect::<Result<Vec<_>, Fault>>()?;
    // Without an annex, the times of the recordings are unknown. They are taken to last from
    // the first to the last event of all buffers, because one buffer may have no events for
    // a long time.
    let spans = || traces.iter().filter_map(Trace::span);
    let first = spans().map(|(first, _)| first).min().unwrap_or_default();
    let last = spans().map(|(_, last)| last).max().unwrap_or_default();
    for (index, trace) in traces.iter_mut().enumerate() {
        if stop.is_requested() {
            return Err(Fault::stopped());
        }
        let recorded = recorded.get(index).map(|moments| moments.map(Timestamp::from_nanos));
        let [from, to] = recorded.unwrap_or([first, last]);
        for cpu in &mut trace.cpus {
            cpu.finish(from, to);
        }
    }
    Ok(Trace::joined(traces))
}

struct Reading<'a> {
    file: &'a [u8],
    parts: &'a Parts,
    decoder: Decoder,
    budget: Budget,
    /// The ranges of the file whose pages were read: their ends, by their starts.
    taken: BTreeMap<usize, usize>,
    stop: &'a Stop,
}

impl Reading<'_> {
    /// The events of one buffer, in order of time.
    fn buffer(&mut self, pages: &Pages) -> Result<Trace, Fault> {
        let mut cpus = Vec::new();
        for place in &pages.cpus {
            let mut cpu = self.cpu(pages, place)?;
            cpu.events.sort();
            cpus.push(cpu);
        }
        cpus.sort_by_key(|cpu: &CpuTrace| cpu.cpu);
        Ok(Trace { cpus, ..Trace::default() })
    }

    fn cpu(&mut self, pages: &Pages, place: &CpuPages) -> Result<CpuTrace, Fault> {
        let mut cursor = Cursor::at(self.file, place.offset, "pages of a CPU")?;
        let mut trace = CpuTrace::new(place.cpu);
        if pages.compressed && place.size > 0 {
            let begin = cursor.place();
            for _ in 0..cursor.u32("number of parts")? {
                if self.stop.is_requested() {
                    return Err(Fault::stopped());
                }
                let at = cursor.place();
                let part = self.parts.algorithm.part(&mut cursor, &mut self.budget)?;
                self.add(&mut trace, pages, &part, at)?;
            }
            // One range for all parts: a file may have a hundred million empty ones.
            self.take(begin, cursor.place())?;
        } else {
            let at = cursor.place();
            let content = cursor.bytes(place.size, "pages of a CPU")?;
            self.take(at, cursor.place())?;
            self.add(&mut trace, pages, content, at)?;
        }
        Ok(trace)
    }

    /// Notes that the pages in this range were read, and refuses pages that were read before.
    /// Otherwise a small file that refers to the same pages again and again would take
    /// unlimited time and memory.
    fn take(&mut self, from: usize, to: usize) -> Result<(), Fault> {
        if from == to {
            return Ok(());
        }
        let before = self.taken.range(..to).next_back();
        if before.is_some_and(|(_, &end)| end > from) {
            return Err(Fault::at_byte(from, "these pages were named before"));
        }
        self.taken.insert(from, to);
        Ok(())
    }

    fn add(
        &mut self,
        trace: &mut CpuTrace,
        pages: &Pages,
        content: &[u8],
        at: usize,
    ) -> Result<(), Fault> {
        for (page, index) in content.chunks(pages.page_size).zip(0..) {
            if self.stop.is_requested() {
                return Err(Fault::stopped());
            }
            let before = trace.events.len();
            trace.push_page(&self.parts.layout, &self.decoder, page).map_err(|why| {
                let at = at + index * pages.page_size;
                Fault::at_byte(at, format!("a page of CPU {} is malformed {why}", trace.cpu))
            })?;
            self.budget.spend_events(trace.events.len() - before)?;
        }
        Ok(())
    }
}
