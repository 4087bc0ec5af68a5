//! The parts of a `trace.dat` before its pages.

use super::super::super::page::Layout;
use super::super::fault::Fault;
use super::super::limits::Budget;
use super::bytes::Cursor;
use super::formats::{self, Formats};
use super::header::{Header, Version};
use super::options::{Buffer, CpuPages, Options, cpu_count, latency_text};
use super::unpack::Algorithm;
use crate::input::Stop;

/// Numbers of sections.
const HEADER_INFO: u16 = 16;
const FTRACE_EVENTS: u16 = 17;
const EVENT_FORMATS: u16 = 18;
const OPTIONS: u16 = 0;
/// Flag of a section: its content is compressed.
const COMPRESSED: u16 = 1;
/// The largest number of option sections that are read. Each one holds the place
/// of the next.
const MOST_OPTION_SECTIONS: usize = 64;

/// A file's description of its pages.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) options: Options,
    pub(super) layout: Layout,
    pub(super) formats: Formats,
    pub(super) buffers: Vec<Pages>,
    /// How the pages of version 7 are compressed.
    pub(super) algorithm: Algorithm,
}

/// The pages of one buffer.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) page_size: usize,
    pub(super) compressed: bool,
    pub(super) cpus: Vec<CpuPages>,
}

/// Reads all parts but the pages.
pub(super) fn read(file: &[u8], stop: &Stop) -> Result<Parts, Fault> {
    let mut cursor = Cursor::at(file, 0, "begin")?;
    let header = Header::read(&mut cursor)?;
    match header.version {
        Version::Six => six(file, &mut cursor, header.page_size, stop),
        Version::Seven { algorithm, options } => Sections { file, algorithm, stop }.read(options),
    }
}

/// Version 6: the parts follow one another.
fn six(
    file: &[u8],
    cursor: &mut Cursor<'_>,
    page_size: usize,
    stop: &Stop,
) -> Result<Parts, Fault> {
    let layout = formats::layout(cursor)?;
    let mut formats = Formats::default();
    formats.read_ftrace(cursor, stop)?;
    formats.read_systems(cursor, stop)?;
    let symbols = cursor.u32("size of the symbols")?;
    cursor.bytes(u64::from(symbols), "symbols")?;
    let printk = cursor.u32("size of the formats of printk")?;
    cursor.bytes(u64::from(printk), "formats of printk")?;
    let names = cursor.u64("size of the names of threads")?;
    cursor.bytes(names, "names of threads")?;
    let mut options = Options { cpus: Some(cpu_count(cursor)?), ..Options::default() };
    let top = six_buffer(cursor, &mut options)?;
    let mut buffers = vec![Pages { page_size, compressed: false, cpus: top }];
    for buffer in std::mem::take(&mut options.buffers) {
        let mut cursor = Cursor::at(file, buffer.offset, "buffer of an instance")?;
        let mut own = Options { cpus: options.cpus, ..Options::default() };
        let cpus = six_buffer(&mut cursor, &mut own)?;
        buffers.push(Pages { page_size, compressed: false, cpus });
    }
    Ok(Parts { options, layout, formats, buffers, algorithm: Algorithm::None })
}

/// The places of a buffer's pages in version 6, perhaps behind options.
fn six_buffer(cursor: &mut Cursor<'_>, options: &mut Options) -> Result<Vec<CpuPages>, Fault> {
    let mut at = cursor.place();
    let mut kind = cursor.bytes(10, "a kind of part")?;
    if kind == b"options  \0" {
        options.read(cursor, false)?;
        at = cursor.place();
        kind = cursor.bytes(10, "a kind of part")?;
    }
    match kind {
        b"flyrecord\0" => {
            let cpus = 0..options.cpus.unwrap_or(0) as usize;
            cpus.map(|cpu| CpuPages::read(cursor, cpu)).collect()
        }
        b"latency  \0" => Err(latency_text(at)),
        _ => Err(Fault::at_byte(at, "expected options or the places of pages")),
    }
}

/// A file of version 7.
struct Sections<'a> {
    file: &'a [u8],
    algorithm: Algorithm,
    stop: &'a Stop,
}

impl Sections<'_> {
    fn read(&self, first: u64) -> Result<Parts, Fault> {
        let mut options = Options::default();
        let mut next = Some(first);
        for _ in 0..MOST_OPTION_SECTIONS {
            let Some(offset) = next.take() else { break };
            next = self.with(OPTIONS, offset, |cursor| options.read(cursor, true))?;
        }
        if next.is_some() {
            let what = format!("it has more than {MOST_OPTION_SECTIONS} sections of options");
            return Err(Fault::of_file(what));
        }
        let place = |section: u16, what: &str| {
            let found = options.sections.get(&section).copied();
            found.ok_or_else(|| Fault::of_file(format!("it has no {what}")))
        };
        let header = place(HEADER_INFO, "layout of pages")?;
        let layout = self.with(HEADER_INFO, header, formats::layout)?;
        let mut formats = Formats::default();
        if let Ok(offset) = place(FTRACE_EVENTS, "ftrace events") {
            self.with(FTRACE_EVENTS, offset, |cursor| formats.read_ftrace(cursor, self.stop))?;
        }
        let events = place(EVENT_FORMATS, "layouts of events")?;
        self.with(EVENT_FORMATS, events, |cursor| formats.read_systems(cursor, self.stop))?;
        let buffers = std::mem::take(&mut options.buffers);
        let buffers = buffers.into_iter().map(|buffer| self.buffer(buffer));
        let buffers = buffers.collect::<Result<Vec<_>, Fault>>()?;
        Ok(Parts { options, layout, formats, buffers, algorithm: self.algorithm })
    }

    fn buffer(&self, buffer: Buffer) -> Result<Pages, Fault> {
        const BUFFER: u16 = 3;
        let mut cursor = Cursor::at(self.file, buffer.offset, "buffer")?;
        let section = Section::read(&mut cursor, BUFFER)?;
        let page_size = buffer.page_size.unwrap_or(1 << 12);
        Ok(Pages { page_size, compressed: section.compressed, cpus: buffer.cpus })
    }

    /// Calls `read` with the content of a section, decompressed if necessary.
    fn with<T>(
        &self,
        id: u16,
        offset: u64,
        read: impl FnOnce(&mut Cursor<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut cursor = Cursor::at(self.file, offset, "section")?;
        let section = Section::read(&mut cursor, id)?;
        let at = cursor.place();
        if section.compressed {
            let part = self.algorithm.part(&mut cursor, &mut Budget::default())?;
            return read(&mut Cursor::of_part(&part, at));
        }
        let content = cursor.bytes(section.size, "a section")?;
        read(&mut Cursor::of_part(content, at))
    }
}

/// The header of a section.
struct Section {
    compressed: bool,
    size: u64,
}

impl Section {
    fn read(cursor: &mut Cursor<'_>, id: u16) -> Result<Self, Fault> {
        let at = cursor.place();
        let found = cursor.u16("a section")?;
        if found != id {
            let what = format!("expected section {id}, found {found}");
            return Err(Fault::at_byte(at, what));
        }
        let compressed = cursor.u16("flags of a section")? & COMPRESSED != 0;
        let _description = cursor.u32("name of a section")?;
        let size = cursor.u64("size of a section")?;
        Ok(Self { compressed, size })
    }
}
