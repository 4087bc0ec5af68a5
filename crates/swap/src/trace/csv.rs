//! Comma-separated values with a header, or with columns named by the user.
//!
//! | column | meaning |
//! |---|---|
//! | `time`, `time_s`, `timestamp` / `time_ms` / `time_us` / `time_ns` | time in that unit |
//! | `process`, `app` | name of the process or app |
//! | `pid` | its process ID |
//! | `space`, `device`, `file` | device or file |
//! | `page` | number of a page of 4 KiB |
//! | `id`, `obj_id`, `object`, `key` | object, taken as one page: a number or any text |
//! | `offset`, `size` | bytes, instead of a page |
//! | `sector`, `sectors` | 512 bytes each, instead of a page |
//! | `operation`, `op` | `read` (default), `write`, `page-in` …; in cache traces `get`, `set` …; in volume traces 0 for a read, 1 for a write |
//! | `backing` | `anonymous`, `file`, `unknown` |
//! | `cgroup` | control group of the process |
//! | `launch_id` | number of the launch that the process is part of |
//! | `command_pid` | process ID of the recorded command, if the process is part of it |

use unjank_host::Nanos;

use super::batch::{Batch, NAMES_OF_COLUMNS, Request, Wrong, sectors};
use super::columns::{self, Column, Columns};
use super::event::{Backing, Event, Operation, ProcessIndex, Space};
use super::names::Member;
use super::number::{decimal, hexadecimal, seconds};

/// Reads lines.
#[derive(Debug)]
pub(super) struct Lines {
    /// Empty before the first line.
    columns: Vec<Column>,
    delimiter: u8,
    /// The columns that the user named, until the first line is read.
    named: Option<Columns>,
    /// Whether lines may have more fields than there are columns.
    is_open: bool,
    /// The fields of a line with quotes, after the quotes are removed.
    unquoted: Vec<u8>,
}

/// The byte that ends a field once its quotes are removed.
const END: u8 = 0;

/// The values of a line.
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
    pub(super) fn new(columns: Option<&Columns>) -> Self {
        Self {
            columns: Vec::new(),
            delimiter: b',',
            named: columns.cloned(),
            is_open: columns.is_some(),
            unquoted: Vec::new(),
        }
    }

    pub(super) fn line(&mut self, line: &[u8], batch: &mut Batch<'_>) -> Result<(), Wrong> {
        let is_first = self.columns.is_empty();
        // A UTF-8 byte order mark.
        let line = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| is_first).unwrap_or(line);
        if is_first && self.first(line)? {
            return Ok(());
        }
        if line.is_empty() {
            return Err(Wrong::Skip("an empty line"));
        }
        let (columns, delimiter, is_open) = (&self.columns, self.delimiter, self.is_open);
        if !line.contains(&b'"') {
            return row(columns, line.split(|byte| *byte == delimiter), is_open)
                .and_then(|row| push_event(&row, batch));
        }
        // Quotes need another pass; fields then end in a byte that text does not contain.
        unquote(line, &mut self.unquoted, delimiter, END)?;
        row(columns, self.unquoted.split(|byte| *byte == END), is_open)
            .and_then(|row| push_event(&row, batch))
    }

    /// Takes the columns from the first line or from the user. True if the line is a header.
    fn first(&mut self, line: &[u8]) -> Result<bool, Wrong> {
        let Some(named) = self.named.take() else {
            (self.columns, self.delimiter) = columns::header(line).map_err(Wrong::Bad)?;
            return Ok(true);
        };
        self.delimiter =
            named.delimiter.unwrap_or_else(|| columns::delimiter(line, named.order.len()));
        let is_header = named.has_header || named.are_named_by(line, self.delimiter);
        self.columns = named.order;
        if is_header { Err(Wrong::Skip(NAMES_OF_COLUMNS)) } else { Ok(false) }
    }
}

/// Ends every field with `end`, removes the quotes around it, and turns doubled quotes into one.
fn unquote(line: &[u8], out: &mut Vec<u8>, delimiter: u8, end: u8) -> Result<(), Wrong> {
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
            _ if byte == delimiter && !quoted => out.push(end),
            _ if byte == end => return Err(Wrong::Bad("the line has a NUL byte")),
            _ => out.push(byte),
        }
    }
    if quoted { Err(Wrong::Bad("a quote is not closed on its line")) } else { Ok(()) }
}

/// Parses the fields. More fields than columns are allowed if `is_open`.
fn row<'a>(
    columns: &[Column],
    fields: impl Iterator<Item = &'a [u8]>,
    is_open: bool,
) -> Result<Row<'a>, Wrong> {
    let mut row = Row::default();
    let mut count = 0;
    for field in fields {
        let Some(column) = columns.get(count) else {
            if is_open {
                break;
            }
            return Err(Wrong::Bad("the line has more fields than the header"));
        };
        count += 1;
        let number = |why| decimal(field.trim_ascii()).ok_or(Wrong::Bad(why));
        match column {
            Column::Other => {}
            Column::Seconds => {
                row.at =
                    seconds(field.trim_ascii()).ok_or(Wrong::Bad("the time is not a number"))?;
            }
            Column::Time(unit) => {
                let time = number("the time is not a number")?.checked_mul(*unit);
                row.at = Nanos(time.ok_or(Wrong::Bad("the time is too large"))?);
            }
            Column::Process => row.process = field,
            Column::Pid | Column::Launch | Column::Command if field.trim_ascii().is_empty() => {}
            Column::Pid => {
                row.pid = Some(small(number("the pid is not a number")?, "the pid is too large")?);
            }
            Column::Launch => {
                let launch = number("the launch is not a number")?;
                row.launch = Some(small(launch, "the launch is too large")?);
            }
            Column::Command => {
                let command = number("the command is not a number")?;
                row.command = Some(small(command, "the command is too large")?);
            }
            Column::Space => row.space = field,
            Column::Page => {
                let empty = field.trim_ascii().is_empty();
                row.page = if empty { None } else { Some(number("the page is not a number")?) };
            }
            Column::Object => row.page = Some(object(field.trim_ascii())),
            Column::Offset => row.offset = Some(number("the offset is not a number")?),
            Column::Size => row.length = Some(number("the size is not a number")?),
            Column::Sector => row.offset = Some(sectors(number("the sector is not a number")?)?),
            Column::Sectors => row.length = Some(sectors(number("the sectors are not a number")?)?),
            Column::Cgroup => row.cgroup = field,
            Column::Operation => {
                row.operation = Some(operation(field.trim_ascii())?);
            }
            Column::Backing => {
                let backing = Backing::from_name(field.trim_ascii());
                row.backing = backing.ok_or(Wrong::Bad("the backing is unknown"))?;
            }
        }
    }
    if count < columns.len() {
        return Err(Wrong::Bad("the line has fewer fields than the header"));
    }
    Ok(row)
}

/// The operation with this name; also the verbs of cache traces, and 0 and 1 of volume traces.
fn operation(name: &[u8]) -> Result<Operation, Wrong> {
    if let Some(operation) = Operation::from_name(name) {
        return Ok(operation);
    }
    match name.to_ascii_lowercase().as_slice() {
        b"0" | b"get" | b"gets" => Ok(Operation::Read),
        b"1" | b"set" | b"add" | b"replace" | b"cas" | b"append" | b"prepend" | b"incr"
        | b"decr" | b"update" => Ok(Operation::Write),
        b"delete" => Err(Wrong::Skip("a deletion")),
        _ => Err(Wrong::Bad("the operation is unknown")),
    }
}

/// The page that stands for an object: its number, or a hash of its name.
pub(super) fn object(name: &[u8]) -> u64 {
    let hexadecimal = || name.strip_prefix(b"0x").and_then(hexadecimal);
    decimal(name).or_else(hexadecimal).unwrap_or_else(|| {
        // FNV-1a of 64 bits: Fowler, Noll and Vo.
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        name.iter().fold(0xcbf2_9ce4_8422_2325, mix)
    })
}

fn small(number: u64, why: &'static str) -> Result<u32, Wrong> {
    u32::try_from(number).map_err(|_| Wrong::Bad(why))
}

fn push_event(row: &Row<'_>, batch: &mut Batch<'_>) -> Result<(), Wrong> {
    let who = batch.names.member(Member {
        name: row.process,
        pid: row.pid,
        cgroup: row.cgroup,
        launch: row.launch,
        command: row.command,
    })?;
    let space = batch.names.space_number(row.space)?;
    let operation = row.operation.unwrap_or(Operation::Read);
    let mut event = |who: ProcessIndex, space: Space, page: u64| {
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
        return Err(Wrong::Bad("the page is not a number"));
    };
    let begin = batch.events.len();
    let is_write = operation == Operation::Write;
    batch.request(Request { at: row.at, who, space, offset, length, is_write })?;
    // A column that says more than read or write overrides what the request implies.
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
