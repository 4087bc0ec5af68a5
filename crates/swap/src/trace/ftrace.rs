//! Text of the kernel's tracer, as printed by `trace`, `trace_pipe`, `trace-cmd report` and
//! `perf script`: `  comm-pid  [cpu] flags seconds: event: what`.
//!
//! | event | read as |
//! |---|---|
//! | `block_rq_issue`, `block_bio_queue`, `block_rq_complete` | requests, by stage |
//! | `mm_filemap_add_to_page_cache` | page-ins of files |
//! | `mm_filemap_delete_from_page_cache` | clean drops of files' pages |
//! | `mm_filemap_fault`, `mm_filemap_get_pages` | reads of files' pages |
//! | `mm_vmscan_write_folio`, `mm_vmscan_writepage` | page-outs, by page frame |
//! | `sched_process_exit` | exits |
//! | `tracing_mark_write` with Android's `launching: APP` | launches |
//!
//! Source: include/trace/events/{block,filemap,vmscan,sched}.h of Linux.

use unjank_host::Nanos;

use super::batch::{Batch, OTHER_STAGE, Request, Wrong, ZERO_SIZE, is_write, sectors};
use super::blkparse::is_device;
use super::event::{Backing, Event, Operation, PAGE, ProcessIndex, Space};
use super::fields::word;
use super::number::{decimal, hexadecimal, seconds};
use super::options::Stage;

/// Page frames. They do not identify a page: a frame is reused for other pages.
const FRAMES: &[u8] = b"page frames";
const LOST: &str = "an event that the kernel's buffer lost";
/// Order of the largest folio, 1 GiB.
const LARGEST_ORDER: u64 = 18;

/// Reads lines, and of requests to block devices those of one stage.
#[derive(Debug)]
pub(super) struct Lines {
    stage: &'static [u8],
    /// How many events the last skipped line stands for.
    weight: u64,
    space: Vec<u8>,
}

/// The part of a line that all events have.
struct Prefix<'a> {
    name: &'a [u8],
    pid: u32,
    at: Nanos,
    event: &'a [u8],
    what: &'a [u8],
}

impl Lines {
    pub(super) fn new(stage: Stage) -> Self {
        let stage: &[u8] = match stage {
            Stage::Queued => b"block_bio_queue",
            Stage::Issued | Stage::Auto => b"block_rq_issue",
            Stage::Completed => b"block_rq_complete",
        };
        Self { stage, weight: 1, space: Vec::new() }
    }

    /// How many events the last skipped line stands for.
    pub(super) fn weight(&mut self) -> u64 {
        std::mem::replace(&mut self.weight, 1)
    }

    pub(super) fn line(&mut self, line: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
        let text = line.trim_ascii();
        if text.is_empty() {
            return Err(Wrong::Skip("an empty line"));
        }
        if let Some(lost) = lost(text) {
            self.weight = lost;
            return Err(Wrong::Skip(LOST));
        }
        if text.starts_with(b"#") {
            return Err(Wrong::Skip("a comment"));
        }
        // trace-cmd prints these before the events.
        if text.starts_with(b"cpus=") || text.starts_with(b"version =") {
            return Err(Wrong::Skip("a comment"));
        }
        let prefix = prefix(text)?;
        match prefix.event {
            event if event == self.stage => self.block(&prefix, batch),
            event if event.starts_with(b"block_") => Err(OTHER_STAGE),
            b"mm_filemap_add_to_page_cache" => self.file(&prefix, Operation::PageIn, batch),
            b"mm_filemap_delete_from_page_cache" => self.file(&prefix, Operation::CleanDrop, batch),
            b"mm_filemap_fault" | b"mm_filemap_get_pages" => {
                self.file(&prefix, Operation::Read, batch)
            }
            b"mm_vmscan_write_folio" | b"mm_vmscan_writepage" => write_folio(&prefix, batch),
            b"sched_process_exit" => exit(&prefix, batch),
            b"tracing_mark_write" | b"print" => launch(&prefix, batch),
            _ => Err(Wrong::Skip("an event of another kind")),
        }
    }

    /// `8,0 WS 4096 () 1234 + 8 none,0,0 [comm]`; queued ones have neither bytes nor command.
    fn block(&mut self, prefix: &Prefix<'_>, batch: &mut Batch<'_>) -> Result<(), Wrong> {
        let mut rest = prefix.what;
        let device = word(&mut rest);
        if !is_device(device) {
            return Err(Wrong::Bad("the device is not two numbers"));
        }
        let is_write = is_write(word(&mut rest))?;
        let plus = memchr::memchr(b'+', rest).ok_or(Wrong::Bad("missing size"))?;
        if let Some(end) = memchr::memrchr(b')', &rest[..plus]) {
            rest = &rest[end + 1..];
        }
        let sector = decimal(word(&mut rest)).ok_or(Wrong::Bad("the sector is not a number"))?;
        let _plus = word(&mut rest);
        let count = decimal(word(&mut rest)).ok_or(Wrong::Bad("the size is not a number"))?;
        if count == 0 {
            return Err(ZERO_SIZE);
        }
        let is_completion = self.stage == b"block_rq_complete";
        let who = if is_completion { ProcessIndex::UNKNOWN } else { prefix.who(batch)? };
        let space = batch.names.space_number(device)?;
        let (offset, length) = (sectors(sector)?, sectors(count)?);
        batch.request(Request { at: prefix.at, who, space, offset, length, is_write })
    }

    /// `dev 8:1 ino 1a2b pfn=0x12 ofs=4096 order=0`, or `dev=8:1 ino=1a2b ofs=4096-12287`.
    fn file(
        &mut self,
        prefix: &Prefix<'_>,
        operation: Operation,
        batch: &mut Batch<'_>,
    ) -> Result<(), Wrong> {
        let value = |name: &[u8]| value(prefix.what, name);
        let device = value(b"dev").ok_or(Wrong::Bad("missing dev"))?;
        let inode = value(b"ino").ok_or(Wrong::Bad("missing ino"))?;
        hexadecimal(inode).ok_or(Wrong::Bad("the inode is not a number"))?;
        let range = value(b"ofs").ok_or(Wrong::Bad("missing ofs"))?;
        let number = |text| decimal(text).ok_or(Wrong::Bad("the offset is not a number"));
        let mut ends = range.split(|byte| *byte == b'-');
        let first = number(ends.next().unwrap_or_default())? / PAGE;
        let last = if let Some(end) = ends.next() {
            // A range includes its last byte.
            number(end)? / PAGE
        } else {
            let order = value(b"order").map_or(Some(0), decimal);
            let order = order.filter(|order| *order <= LARGEST_ORDER);
            first + (1 << order.ok_or(Wrong::Bad("the order of the folio is impossible"))?) - 1
        };
        if last < first || last - first >= 1 << LARGEST_ORDER {
            return Err(Wrong::Bad("the range of pages is impossible"));
        }
        self.space.clear();
        for part in [&b"inode "[..], inode, b" on ", device] {
            self.space.extend_from_slice(part);
        }
        let who = prefix.who(batch)?;
        let space = batch.names.space_number(&self.space)?;
        let (at, backing) = (prefix.at, Backing::File);
        batch.events.extend((first..=last).map(|page| Event {
            at,
            page,
            who,
            space,
            operation,
            backing,
        }));
        Ok(())
    }
}

impl Prefix<'_> {
    fn who(&self, batch: &mut Batch<'_>) -> Result<ProcessIndex, Wrong> {
        // The tracer prints this when it no longer knows the name.
        let name = if self.name == b"<...>" { b"" } else { self.name };
        Ok(batch.names.process_index(name, Some(self.pid))?)
    }

    fn event(&self, who: ProcessIndex, operation: Operation) -> Event {
        let (at, space, backing) = (self.at, Space::NONE, Backing::Unknown);
        Event { at, page: 0, who, space, operation, backing }
    }
}

/// `page=… pfn=0x1a2b flags=RECLAIM_WB_ANON|RECLAIM_WB_ASYNC`
fn write_folio(prefix: &Prefix<'_>, batch: &mut Batch<'_>) -> Result<(), Wrong> {
    let frame = value(prefix.what, b"pfn").ok_or(Wrong::Bad("missing pfn"))?;
    let number = if frame.starts_with(b"0x") { hexadecimal(frame) } else { decimal(frame) };
    let page = number.ok_or(Wrong::Bad("the page frame is not a number"))?;
    let flags = value(prefix.what, b"flags").unwrap_or_default();
    let has = |flag: &[u8]| flags.split(|byte| *byte == b'|').any(|part| part == flag);
    let backing = match (has(b"RECLAIM_WB_ANON"), has(b"RECLAIM_WB_FILE")) {
        (true, false) => Backing::Anonymous,
        (false, true) => Backing::File,
        _ => Backing::Unknown,
    };
    let who = prefix.who(batch)?;
    let space = batch.names.space_number(FRAMES)?;
    let (at, operation) = (prefix.at, Operation::PageOut);
    batch.events.push(Event { at, page, who, space, operation, backing });
    Ok(())
}

/// `comm=bash pid=1977 prio=120`
fn exit(prefix: &Prefix<'_>, batch: &mut Batch<'_>) -> Result<(), Wrong> {
    let who = prefix.who(batch)?;
    batch.events.push(prefix.event(who, Operation::Exit));
    Ok(())
}

/// Android's activity manager marks a launch as `S|pid|launching: PACKAGE|cookie` (or `B|…`).
fn launch(prefix: &Prefix<'_>, batch: &mut Batch<'_>) -> Result<(), Wrong> {
    const NONE: Wrong = Wrong::Skip("a mark other than a launch");
    let mut parts = prefix.what.trim_ascii().split(|byte| *byte == b'|');
    let (Some(b"S" | b"B"), Some(_pid), Some(mark)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err(NONE);
    };
    let app = mark.strip_prefix(b"launching:").ok_or(NONE)?.trim_ascii();
    if app.is_empty() {
        return Err(NONE);
    }
    let who = batch.names.process_index(app, None)?;
    batch.events.push(prefix.event(who, Operation::Launch));
    Ok(())
}

/// How many events were lost, if the line reports it: `CPU:1 [LOST 12 EVENTS]`, or
/// `# entries-in-buffer/entries-written: 40/50   #P:2`.
fn lost(text: &[u8]) -> Option<u64> {
    if text.starts_with(b"CPU:") {
        let begin = memchr::memmem::find(text, b"[LOST ")? + 6;
        let mut rest = &text[begin..];
        // A kernel that does not know the number prints words instead.
        return Some(decimal(word(&mut rest)).unwrap_or(1));
    }
    let counts = text.strip_prefix(b"# entries-in-buffer/entries-written:")?;
    let mut rest = counts;
    let counts = word(&mut rest);
    let slash = memchr::memchr(b'/', counts)?;
    let lost = decimal(&counts[slash + 1..])?.checked_sub(decimal(&counts[..slash])?)?;
    (lost > 0).then_some(lost)
}

/// Splits a line. Process names may contain anything, so this takes the first CPU in brackets
/// that follows a process ID.
fn prefix(text: &[u8]) -> Result<Prefix<'_>, Wrong> {
    const NO_LINE: Wrong = Wrong::Bad("this is not a line of the kernel's tracer");
    let (task, rest) = memchr::memchr_iter(b'[', text)
        .find_map(|open| {
            let close = open + memchr::memchr(b']', &text[open..])?;
            decimal(&text[open + 1..close])?;
            Some((task(&text[..open])?, &text[close + 1..]))
        })
        .ok_or(NO_LINE)?;
    let (name, pid) = task;
    let mut rest = rest;
    let mut time = word(&mut rest);
    if !time.ends_with(b":") {
        // The word was the state of interrupts and preemption.
        time = word(&mut rest);
    }
    let time = time.strip_suffix(b":").ok_or(NO_LINE)?;
    if !time.contains(&b'.') {
        return Err(Wrong::Bad("the time is not in seconds; set trace_clock to mono"));
    }
    let at = seconds(time).ok_or(Wrong::Bad("the time is not a number"))?;
    let event = word(&mut rest).strip_suffix(b":").ok_or(NO_LINE)?;
    // perf prefixes the event with its subsystem.
    let event = event.rsplit(|byte| *byte == b':').next().unwrap_or(event);
    Ok(Prefix { name, pid, at, event, what: rest })
}

/// Name and process ID before the CPU: `comm-12`, `comm-12 ( 10)`, `comm 12`, `comm 12/13`.
fn task(text: &[u8]) -> Option<(&[u8], u32)> {
    let mut text = text.trim_ascii();
    if text.ends_with(b")") {
        text = text[..memchr::memrchr(b'(', text)?].trim_ascii();
    }
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, number) = text.split_at(text.len() - digits);
    let pid = u32::try_from(decimal(number)?).ok()?;
    let (mark, name) = before.split_last()?;
    match mark {
        b'-' => Some((name.trim_ascii(), pid)),
        b'/' => {
            let end = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            Some((name[..name.len() - end].trim_ascii(), pid))
        }
        mark if mark.is_ascii_whitespace() => Some((name.trim_ascii(), pid)),
        _ => None,
    }
}

/// The value after `name=` or `name `.
fn value<'a>(what: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut rest = what;
    loop {
        let part = word(&mut rest);
        if part.is_empty() {
            return None;
        }
        match part.strip_prefix(name) {
            Some([]) => return Some(word(&mut rest)),
            Some([b'=', value @ ..]) => return Some(value),
            _ => {}
        }
    }
}
