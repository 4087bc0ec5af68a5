//! Writes `trace.dat`, version 6, which every version of trace-cmd and
//! `KernelShark` reads.
//!
//! The first capture is the top-level buffer. Further captures are instances, as
//! with the option `-B` of `trace-cmd record`. Pages are written as the kernel
//! recorded them.
//!
//! Source: `trace-cmd.dat.v6(5)`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use super::super::capture::Capture;
use super::super::event::{EventKind, Task};
use super::super::raw_pages::CutPage;
use super::super::trace::Trace;
use super::annex::Annex;
use crate::sched::ThreadId;

/// Numbers of options.
const CPU_STATISTICS: u16 = 2;
const BUFFER: u16 = 3;
const TRACE_CLOCK: u16 = 4;
const UNAME: u16 = 5;
const VERSION: u16 = 9;

/// A capture with the name of its buffer; the first one has none.
#[derive(Debug, Clone, Copy)]
pub struct Buffer<'a> {
    /// The name of the instance.
    pub name: &'a str,
    /// The recording of the instance, as the kernel's own bytes.
    pub capture: &'a Capture,
}

/// Writes captures of the same time. The names of threads come from `trace`,
/// which holds the events of all of them.
///
/// # Errors
/// A failed write.
pub fn write(
    out: &mut impl Write,
    buffers: &[Buffer<'_>],
    trace: &Trace,
    annex: &Annex,
) -> io::Result<()> {
    let Some((top, instances)) = buffers.split_first() else { return Ok(()) };
    let page_size = top.capture.layout.page_size();
    // All buffers have the same number of CPUs. A CPU that a capture lacks has no pages.
    let cpus = buffers.iter().flat_map(|buffer| &buffer.capture.cpus);
    let cpus = cpus.map(|(cpu, _)| cpu + 1).max().unwrap_or(0);
    let mut head = Head { bytes: Vec::new(), cpus, pages: Vec::new(), page_size };
    head.begin();
    head.layouts(buffers);
    head.names(trace);
    head.number32(cpus);
    let places = head.options(top, instances, annex);
    head.places_of_pages(top.capture);
    for (instance, place) in instances.iter().zip(places) {
        head.patch(place, head.bytes.len() as u64);
        head.places_of_pages(instance.capture);
    }
    head.put_pages();
    out.write_all(&head.bytes)?;
    // Pages are padded only here: in memory, they have no unused bytes.
    let filling = vec![0; page_size];
    for page in head.pages.iter().flat_map(|(_, pages)| *pages) {
        out.write_all(page)?;
        out.write_all(filling.get(page.len()..).unwrap_or_default())?;
    }
    Ok(())
}

/// The file up to its pages.
struct Head<'a> {
    bytes: Vec<u8>,
    cpus: usize,
    /// The pages in their order, and the places of their offsets in the head.
    pages: Vec<(usize, &'a [CutPage])>,
    page_size: usize,
}

impl<'a> Head<'a> {
    fn begin(&mut self) {
        self.bytes.extend_from_slice(b"\x17\x08\x44tracing6\0");
        // Little-endian.
        self.bytes.push(0);
        self.bytes.push(size_of::<libc::c_long>() as u8);
        self.number32(self.page_size);
    }

    fn layouts(&mut self, buffers: &[Buffer<'_>]) {
        let Some(first) = buffers.first() else { return };
        for (name, text) in
            [&b"header_page\0"[..], b"header_event\0"].iter().zip(&first.capture.headers)
        {
            self.bytes.extend_from_slice(name);
            self.text64(text);
        }
        let mut systems: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (system, format) in buffers.iter().flat_map(|buffer| &buffer.capture.formats) {
            systems.entry(system).or_default().insert(format);
        }
        let of_tracer = systems.remove("ftrace").unwrap_or_default();
        self.number32(of_tracer.len());
        for format in of_tracer {
            self.text64(format);
        }
        self.number32(systems.len());
        for (system, formats) in &systems {
            self.bytes.extend_from_slice(system.as_bytes());
            self.bytes.push(0);
            self.number32(formats.len());
            for format in formats {
                self.text64(format);
            }
        }
        // No addresses of symbols, and no formats of printk.
        self.number32(0);
        self.number32(0);
    }

    /// The names of threads, as in `saved_cmdlines`.
    fn names(&mut self, trace: &Trace) {
        let mut names: BTreeMap<ThreadId, Task> = BTreeMap::new();
        for event in trace.cpus.iter().flat_map(|cpu| &cpu.events) {
            if let EventKind::Switch { prev, next, .. } = event.kind {
                names.insert(prev.tid, prev);
                names.insert(next.tid, next);
            }
        }
        let lines = names.values().filter(|task| !task.is_idle());
        // An escaped name has no line feed.
        let lines = lines.map(|task| format!("{} {}\n", task.tid.0, task.comm));
        self.text64(&lines.collect::<String>());
    }

    /// Writes the options. Returns the positions at which the places of the instances must be
    /// written later.
    fn options(&mut self, top: &Buffer<'_>, instances: &[Buffer<'_>], annex: &Annex) -> Vec<usize> {
        self.bytes.extend_from_slice(b"options  \0");
        self.option(TRACE_CLOCK, &terminated(&top.capture.clock));
        let machine = rustix::system::uname();
        let words = [machine.sysname(), machine.nodename(), machine.release(), machine.machine()];
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        self.option(UNAME, &terminated(&words.join(" ")));
        self.option(VERSION, &annex.to_version(env!("CARGO_PKG_VERSION")));
        for (cpu, text) in [top].into_iter().chain(instances).flat_map(|of| &of.capture.statistics)
        {
            self.option(CPU_STATISTICS, &terminated(&format!("CPU: {cpu}\n{text}")));
        }
        let places = instances.iter().map(|instance| {
            let name = terminated(instance.name);
            self.option(BUFFER, &[&[0; 8], name.as_slice()].concat());
            self.bytes.len() - name.len() - 8
        });
        let places = places.collect();
        // The option DONE ends the list.
        self.bytes.extend_from_slice(&[0, 0]);
        places
    }

    /// Writes the places of each CPU's pages, which `put_pages` fills in, and the clock.
    fn places_of_pages(&mut self, capture: &'a Capture) {
        self.bytes.extend_from_slice(b"flyrecord\0");
        for cpu in 0..self.cpus {
            let pages = capture.cpus.iter().find(|(of, _)| *of == cpu);
            let pages: &[CutPage] = pages.map(|(_, pages)| pages.as_slice()).unwrap_or_default();
            self.pages.push((self.bytes.len(), pages));
            self.number64(0);
            self.number64((pages.len() * self.page_size) as u64);
        }
        self.text64(&capture.clock);
    }

    /// Pads the head to a whole page, and fills in the places of the pages.
    fn put_pages(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(self.page_size), 0);
        let mut place = self.bytes.len() as u64;
        for (at, pages) in std::mem::take(&mut self.pages) {
            self.patch(at, place);
            place += (pages.len() * self.page_size) as u64;
            self.pages.push((at, pages));
        }
    }

    fn option(&mut self, number: u16, content: &[u8]) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self.number32(content.len());
        self.bytes.extend_from_slice(content);
    }

    fn text64(&mut self, text: &str) {
        self.number64(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn number32(&mut self, number: usize) {
        self.bytes.extend_from_slice(&(number as u32).to_le_bytes());
    }

    fn number64(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn patch(&mut self, at: usize, number: u64) {
        if let Some(place) = self.bytes.get_mut(at..at + 8) {
            place.copy_from_slice(&number.to_le_bytes());
        }
    }
}

fn terminated(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}
