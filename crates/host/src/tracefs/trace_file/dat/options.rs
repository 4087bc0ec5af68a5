//! The options of a `trace.dat`: how it was recorded, and where its parts are.

use std::collections::{BTreeMap, BTreeSet};

use super::super::super::trace::Lost;
use super::super::annex::Annex;
use super::super::fault::Fault;
use super::super::limits::HIGHEST_CPU;
use super::bytes::Cursor;
use super::header::page_size;

/// Options that are read (`tracecmd_option` of trace-cmd).
const DONE: u16 = 0;
const CPU_STATISTICS: u16 = 2;
const BUFFER: u16 = 3;
const TRACE_CLOCK: u16 = 4;
const UNAME: u16 = 5;
const CPU_COUNT: u16 = 8;
const VERSION: u16 = 9;
/// Options with the place of a section; the section has the same number.
const SECTIONS: std::ops::RangeInclusive<u16> = 16..=21;
const BUFFER_TEXT: u16 = 22;
/// The largest number of buffers (trace instances) that are read.
const MOST_BUFFERS: usize = 64;

/// The content of the options.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) buffers: Vec<Buffer>,
    /// The places of sections, by their numbers.
    pub(super) sections: BTreeMap<u16, u64>,
    pub(super) cpus: Option<u32>,
    pub(super) clock: Option<String>,
    pub(super) architecture: Option<String>,
    pub(super) lost: Lost,
    pub(super) annex: Option<Annex>,
}

/// The trace of one instance.
#[derive(Debug)]
pub(super) struct Buffer {
    /// Its place in the file.
    pub(super) offset: u64,
    pub(super) page_size: Option<usize>,
    /// The places of each CPU's pages. Empty in version 6, which has them at
    /// `offset`.
    pub(super) cpus: Vec<CpuPages>,
}

/// The place of one CPU's pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuPages {
    pub(super) cpu: usize,
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl Options {
    /// Reads a section of options. Returns the place of the next section, if there
    /// is one.
    pub(super) fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        has_sections: bool,
    ) -> Result<Option<u64>, Fault> {
        loop {
            let option = cursor.u16("an option")?;
            if option == DONE && !has_sections {
                return Ok(None);
            }
            let size = cursor.u32("size of an option")?;
            let at = cursor.place();
            let content = cursor.bytes(u64::from(size), "an option")?;
            let mut inner = Cursor::of_part(content, at);
            if option == DONE {
                let next = inner.u64("place of the next options")?;
                return Ok((next != 0).then_some(next));
            }
            self.apply(option, content, &mut inner, has_sections)?;
        }
    }

    fn apply(
        &mut self,
        option: u16,
        content: &[u8],
        inner: &mut Cursor<'_>,
        has_sections: bool,
    ) -> Result<(), Fault> {
        let at = inner.place();
        match option {
            CPU_STATISTICS => {
                let added = self.lost.add_stats(&text(content));
                added.map_err(|why| Fault::at_byte(at, format!("statistics of a CPU, {why}")))?;
            }
            BUFFER => {
                if self.buffers.len() == MOST_BUFFERS {
                    let what = format!("more than {MOST_BUFFERS} buffers");
                    return Err(Fault::at_byte(at, what));
                }
                self.buffers.push(Buffer::read(inner, has_sections, &mut self.clock)?);
            }
            BUFFER_TEXT => return Err(latency_text(at)),
            TRACE_CLOCK => {
                self.clock = chosen_clock(&text(content)).or(self.clock.take());
            }
            UNAME => {
                let name = text(content);
                self.architecture = name.split_whitespace().last().map(str::to_owned);
            }
            CPU_COUNT => self.cpus = Some(cpu_count(inner)?),
            VERSION => {
                if let Some(annex) = Annex::of_version(content) {
                    let annex = annex.map_err(|why| {
                        Fault::at_byte(at, format!("unjank's part is damaged: {why}"))
                    })?;
                    self.annex = Some(annex);
                }
            }
            option if SECTIONS.contains(&option) => {
                self.sections.insert(option, inner.u64("place of a section")?);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Buffer {
    fn read(
        cursor: &mut Cursor<'_>,
        has_sections: bool,
        clock: &mut Option<String>,
    ) -> Result<Self, Fault> {
        let offset = cursor.u64("place of a buffer")?;
        let _name = cursor.text("name of a buffer")?;
        let mut buffer = Self { offset, page_size: None, cpus: Vec::new() };
        if !has_sections {
            return Ok(buffer);
        }
        let clock_at = cursor.place();
        let own = cursor.text("clock of a buffer")?;
        buffer.page_size = Some(page_size(cursor)?);
        let mut known = BTreeSet::new();
        for _ in 0..cpu_count(cursor)? {
            let at = cursor.place();
            let cpu = cursor.u32("number of a CPU")? as usize;
            if !known.insert(cpu) {
                return Err(Fault::at_byte(at, format!("CPU {cpu} occurs twice in a buffer")));
            }
            if cpu > HIGHEST_CPU {
                let what = format!("expected a CPU from 0 to {HIGHEST_CPU}, found {cpu}");
                return Err(Fault::at_byte(at, what));
            }
            buffer.cpus.push(CpuPages::read(cursor, cpu)?);
        }
        // trace-cmd record -B names the machine's own buffer, too, which may have no events.
        if buffer.cpus.iter().all(|pages| pages.size == 0) {
            return Ok(buffer);
        }
        match clock {
            Some(clock) if *clock != own => {
                let what = format!("its buffers have different clocks, {clock:?} and {own:?}");
                return Err(Fault::at_byte(clock_at, what));
            }
            _ => *clock = Some(own),
        }
        Ok(buffer)
    }
}

impl CpuPages {
    pub(super) fn read(cursor: &mut Cursor<'_>, cpu: usize) -> Result<Self, Fault> {
        let offset = cursor.u64("place of a CPU's pages")?;
        let size = cursor.u64("size of a CPU's pages")?;
        Ok(Self { cpu, offset, size })
    }
}

/// The number of CPUs.
pub(super) fn cpu_count(cursor: &mut Cursor<'_>) -> Result<u32, Fault> {
    let at = cursor.place();
    let number = cursor.u32("number of CPUs")?;
    if number as usize <= HIGHEST_CPU + 1 {
        return Ok(number);
    }
    let most = HIGHEST_CPU + 1;
    Err(Fault::at_byte(at, format!("expected at most {most} CPUs, found {number}")))
}

/// The error for a file with the text of a latency tracer.
pub(super) fn latency_text(at: usize) -> Fault {
    Fault::at_byte(at, "it holds the text of a latency tracer instead of events")
}

/// `mono` of `local global [mono]`.
fn chosen_clock(clocks: &str) -> Option<String> {
    let (_, rest) = clocks.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// The text up to a zero.
fn text(content: &[u8]) -> String {
    let end = content.iter().position(|byte| *byte == 0).unwrap_or(content.len());
    String::from_utf8_lossy(&content[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_clock_stands_in_brackets() {
        assert_eq!(chosen_clock("local [mono] boot\n"), Some("mono".to_owned()));
        assert_eq!(chosen_clock("local mono"), None);
        assert_eq!(chosen_clock("local [mono"), None);
    }

    /// Reads a buffer with this clock, and one CPU with pages of this size.
    fn read_buffer(own: &str, size: u64, clock: &mut Option<String>) -> Result<Buffer, Fault> {
        let mut bytes = 4096_u64.to_le_bytes().to_vec();
        bytes.extend(b"name\0");
        bytes.extend(own.as_bytes());
        bytes.push(0);
        bytes.extend([4096_u32, 1, 0].map(u32::to_le_bytes).concat());
        bytes.extend([8192, size].map(u64::to_le_bytes).concat());
        Buffer::read(&mut Cursor::of_part(&bytes, 0), true, clock)
    }

    #[test]
    fn only_buffers_with_events_must_have_one_clock() {
        let mut clock = Some("mono".to_owned());
        assert!(read_buffer("local", 0, &mut clock).is_ok());
        assert!(read_buffer("mono", 4096, &mut clock).is_ok());
        assert_eq!(clock.as_deref(), Some("mono"));
        let fault = read_buffer("local", 4096, &mut clock).unwrap_err().to_string();
        assert!(fault.contains("different clocks, \"mono\" and \"local\""), "{fault}");
    }
}
