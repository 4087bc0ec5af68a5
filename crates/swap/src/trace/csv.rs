//! Comma-separated values whose first line names the columns.
//!
//! | column | what |
//! |---|---|
//! | `time`, `time_s`, `timestamp` / `time_ms` / `time_us` / `time_ns` | when, in that unit |
//! | `process`, `app` | who |
//! | `pid` | its number |
//! | `space`, `device`, `file` | which device or file |
//! | `page` | number of a page of 4 KiB; `id`, `obj_id` are the same |
//! | `offset`, `size` | bytes, instead of a page |
//! | `sector`, `sectors` | 512 bytes each, instead of a page |
//! | `operation`, `op` | `read`, `write`, `page-in` …; all are reads where there is none |
//! | `backing` | `anonymous`, `file`, `unknown` |
//! | `cgroup` | the control group of the process |
//! | `launch_id` | the number of the launch that the process is part of |
//! | `command_pid` | the number of the command that was recorded, if the process is part of it |

use unjank_host::Nanos;

use super::batch::{Batch, Request, Wrong, sectors};
use super::event::{Backing, Event, Operation, Space, Who};
use super::names::Member;
use super::number::{decimal, seconds};

/// More columns have no meaning here.
const MOST_COLUMNS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    /// Seconds with a fraction.
    Seconds,
    /// Whole units of so many nanoseconds.
    Time(u64),
    Process,
    Pid,
    Space,
    Page,
    Offset,
    Size,
    Sector,
    Sectors,
    Operation,
    Backing,
    Cgroup,
    Launch,
    Command,
    Other,
}

/// Reads lines, of which the first one is the header.
#[derive(Debug, Default)]
pub(super) struct Lines {
    columns: Vec<Column>,
    /// A line's fields without their quotes, where there are any.
    unquoted: Vec<u8>,
}

/// The byte that ends a field, once its quotes are gone.
const END: u8 = 0;

/// What a line says, as far as it was read.
#[derive(Default)]
struct Row<'a> {
    at: Nanos,
    process: &'a [u8],
    pid: Option<u32>,
    space: &'a [u8],
    page: Option<u64>,
    offset: Option<u64>,
    length: Option<u64>,
    operation: Option<Operation>,
    backing: Backing,
    cgroup: &'a [u8],
    launch: Option<u32>,
    command: Option<u32>,
}

impl Lines {
    pub(super) fn line(&mut self, line: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
        if self.columns.is_empty() {
            self.columns = header(line)?;
            return Ok(());
        }
        if line.is_empty() {
            return Err(Wrong::Skip("an empty line"));
        }
        if !line.contains(&b'"') {
            return row(&self.columns, line.split(|byte| *byte == b','))
                .and_then(|row| tell(&row, batch));
        }
        // Quotes are gone through once more; fields end in a byte that no text has.
        unquote(line, &mut self.unquoted, END)?;
        row(&self.columns, self.unquoted.split(|byte| *byte == END))
            .and_then(|row| tell(&row, batch))
    }
}

fn header(line: &[u8]) -> Result<Vec<Column>, Wrong> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let names: Vec<_> = line.split(|byte| *byte == b',').take(MOST_COLUMNS + 1).collect();
    if names.len() > MOST_COLUMNS {
        return Err(Wrong::Bad("it has more than 64 columns"));
    }
    let columns: Vec<_> = names.into_iter().map(column).collect();
    let has = |column| columns.contains(&column);
    let twice = |column: &Column| columns.iter().filter(|other| *other == column).count() > 1;
    if columns.iter().any(|column| *column != Column::Other && twice(column)) {
        return Err(Wrong::Bad("a column stands in the header twice"));
    }
    let addressed = has(Column::Page)
        || has(Column::Offset) && has(Column::Size)
        || has(Column::Sector) && has(Column::Sectors);
    if !addressed {
        return Err(Wrong::Bad(
            "the first line names no columns page, offset and size, or sector and sectors",
        ));
    }
    Ok(columns)
}

fn column(name: &[u8]) -> Column {
    let name = name.trim_ascii().to_ascii_lowercase();
    let name = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(&name);
    match name {
        b"time" | b"time_s" | b"timestamp" => Column::Seconds,
        b"time_ms" => Column::Time(1_000_000),
        b"time_us" => Column::Time(1_000),
        b"time_ns" => Column::Time(1),
        b"process" | b"app" => Column::Process,
        b"pid" => Column::Pid,
        b"space" | b"device" | b"file" => Column::Space,
        b"page" | b"id" | b"obj_id" => Column::Page,
        b"offset" => Column::Offset,
        b"size" => Column::Size,
        b"sector" => Column::Sector,
        b"sectors" => Column::Sectors,
        b"operation" | b"op" => Column::Operation,
        b"backing" => Column::Backing,
        b"cgroup" => Column::Cgroup,
        b"launch_id" => Column::Launch,
        b"command_pid" => Column::Command,
        _ => Column::Other,
    }
}

/// Ends every field with `end`, without the quotes around it, and with single quotes within.
fn unquote(line: &[u8], out: &mut Vec<u8>, end: u8) -> Result<(), Wrong> {
    out.clear();
    let mut quoted = false;
    let mut bytes = line.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if quoted && bytes.peek() == Some(&b'"') => {
                bytes.next();
                out.push(byte);
            }
            b'"' => quoted = !quoted,
            b',' if !quoted => out.push(end),
            _ if byte == end => return Err(Wrong::Bad("it has a byte 0")),
            _ => out.push(byte),
        }
    }
    if quoted { Err(Wrong::Bad("a quote has no end on its line")) } else { Ok(()) }
}

fn row<'a>(columns: &[Column], fields: impl Iterator<Item = &'a [u8]>) -> Result<Row<'a>, Wrong> {
    let mut row = Row::default();
    let mut count = 0;
    for field in fields {
        let column = columns.get(count).ok_or(Wrong::Bad("it has more fields than the header"))?;
        count += 1;
        let number = |why| decimal(field.trim_ascii()).ok_or(Wrong::Bad(why));
        match column {
            Column::Other => {}
            Column::Seconds => {
                row.at = seconds(field.trim_ascii()).ok_or(Wrong::Bad("the time is no number"))?;
            }
            Column::Time(unit) => {
                let time = number("the time is no number")?.checked_mul(*unit);
                row.at = Nanos(time.ok_or(Wrong::Bad("the time is too large"))?);
            }
            Column::Process => row.process = field,
            Column::Pid | Column::Launch | Column::Command if field.trim_ascii().is_empty() => {}
            Column::Pid => {
                row.pid = Some(small(number("the pid is no number")?, "the pid is too large")?);
            }
            Column::Launch => {
                let launch = number("the launch is no number")?;
                row.launch = Some(small(launch, "the launch is too large")?);
            }
            Column::Command => {
                let command = number("the command is no number")?;
                row.command = Some(small(command, "the command is too large")?);
            }
            Column::Space => row.space = field,
            Column::Page => {
                let empty = field.trim_ascii().is_empty();
                row.page = if empty { None } else { Some(number("the page is no number")?) };
            }
            Column::Offset => row.offset = Some(number("the offset is no number")?),
            Column::Size => row.length = Some(number("the size is no number")?),
            Column::Sector => row.offset = Some(sectors(number("the sector is no number")?)?),
            Column::Sectors => row.length = Some(sectors(number("the sectors are no number")?)?),
            Column::Cgroup => row.cgroup = field,
            Column::Operation => {
                let operation = Operation::from_name(field.trim_ascii());
                row.operation = Some(operation.ok_or(Wrong::Bad("there is no such operation"))?);
            }
            Column::Backing => {
                let backing = Backing::from_name(field.trim_ascii());
                row.backing = backing.ok_or(Wrong::Bad("there is no such backing"))?;
            }
        }
    }
    if count < columns.len() {
        return Err(Wrong::Bad("it has fewer fields than the header"));
    }
    Ok(row)
}

fn small(number: u64, why: &'static str) -> Result<u32, Wrong> {
    u32::try_from(number).map_err(|_| Wrong::Bad(why))
}

fn tell(row: &Row<'_>, batch: &mut Batch<'_>) -> Result<(), Wrong> {
    let who = batch.names.member(Member {
        name: row.process,
        pid: row.pid,
        cgroup: row.cgroup,
        launch: row.launch,
        command: row.command,
    })?;
    let space = batch.names.space_number(row.space)?;
    let operation = row.operation.unwrap_or(Operation::Read);
    let mut event = |who: Who, space: Space, page: u64| {
        batch.events.push(Event { at: row.at, page, who, space, operation, backing: row.backing });
    };
    if !operation.is_of_page() {
        event(who, space, row.page.unwrap_or(0));
        return Ok(());
    }
    if let Some(page) = row.page {
        event(who, space, page);
        return Ok(());
    }
    let (Some(offset), Some(length)) = (row.offset, row.length) else {
        return Err(Wrong::Bad("the page is no number"));
    };
    let begin = batch.events.len();
    let is_write = operation == Operation::Write;
    batch.request(Request { at: row.at, who, space, offset, length, is_write })?;
    // A column that says more than read or write has the last word.
    for event in &mut batch.events[begin..] {
        if !matches!(operation, Operation::Read | Operation::Write) {
            event.operation = operation;
        }
        if row.backing != Backing::Unknown {
            event.backing = row.backing;
        }
    }
    Ok(())
}
