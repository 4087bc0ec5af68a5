//! The columns of comma-separated values, as named by the first line or by the user.

use std::str::FromStr;

use serde::Serialize;

/// Limit on columns.
const MAX: usize = 64;

/// The meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Column {
    /// Seconds with a fraction.
    Seconds,
    /// Whole units of this many nanoseconds.
    Time(u64),
    Process,
    Pid,
    Space,
    Page,
    /// An object, which is one page whatever its size: a number or any text.
    Object,
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

impl Column {
    fn named(name: &[u8]) -> Self {
        let name = name.trim_ascii().to_ascii_lowercase();
        let name =
            name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(&name);
        match name {
            b"time" | b"time_s" | b"timestamp" => Self::Seconds,
            b"time_ms" => Self::Time(1_000_000),
            b"time_us" => Self::Time(1_000),
            b"time_ns" => Self::Time(1),
            b"process" | b"app" => Self::Process,
            b"pid" => Self::Pid,
            b"space" | b"device" | b"file" => Self::Space,
            b"page" => Self::Page,
            b"id" | b"obj_id" | b"object" | b"key" => Self::Object,
            b"offset" => Self::Offset,
            b"size" | b"obj_size" => Self::Size,
            b"sector" => Self::Sector,
            b"sectors" => Self::Sectors,
            b"operation" | b"op" => Self::Operation,
            b"backing" => Self::Backing,
            b"cgroup" => Self::Cgroup,
            b"launch_id" => Self::Launch,
            b"command_pid" => Self::Command,
            _ => Self::Other,
        }
    }

    /// Whether it always holds numbers, so that a name cannot be mistaken for a value.
    fn is_number(self) -> bool {
        matches!(
            self,
            Self::Seconds
                | Self::Time(_)
                | Self::Pid
                | Self::Page
                | Self::Offset
                | Self::Size
                | Self::Sector
                | Self::Sectors
        )
    }
}

/// The columns of a table without a header, as named by the user: `time,page,size`, with `-` for
/// columns to ignore; or in libCacheSim's form, `time-col=1,obj-id-col=2`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Columns {
    pub(super) order: Vec<Column>,
    /// The byte between two fields; `None` to detect it from the first line.
    pub(super) delimiter: Option<u8>,
    /// Whether the first line is a header.
    pub(super) has_header: bool,
}

impl Columns {
    /// The same columns, with fields that end in `delimiter`.
    #[must_use]
    pub fn split_by(self, delimiter: u8) -> Self {
        Self { delimiter: Some(delimiter), ..self }
    }

    /// Whether this line is a header rather than an event: it has no digit where numbers belong.
    pub(super) fn are_named_by(&self, line: &[u8], delimiter: u8) -> bool {
        let fields = line.split(|byte| *byte == delimiter);
        let mut numbers =
            self.order.iter().zip(fields).filter(|(column, _)| column.is_number()).peekable();
        numbers.peek().is_some()
            && numbers.all(|(_, field)| !field.iter().any(u8::is_ascii_digit) && !field.is_empty())
    }

    fn check(columns: Vec<Column>) -> Result<Vec<Column>, &'static str> {
        if columns.len() > MAX {
            return Err("there are more than 64 columns");
        }
        let has = |column| columns.contains(&column);
        let twice = |column: &Column| columns.iter().filter(|other| *other == column).count() > 1;
        if columns.iter().any(|column| *column != Column::Other && twice(column)) {
            return Err("the header names a column twice");
        }
        let addressed = has(Column::Page)
            || has(Column::Object)
            || has(Column::Offset) && has(Column::Size)
            || has(Column::Sector) && has(Column::Sectors);
        if addressed {
            Ok(columns)
        } else {
            Err("the header has no column page or id, nor offset and size, nor sector and sectors")
        }
    }

    /// libCacheSim's `--trace-type-params`: columns by number, counted from 1.
    fn by_number(typed: &str) -> Result<Self, String> {
        let mut columns = Vec::new();
        let (mut delimiter, mut has_header) = (None, false);
        // A delimiter may be the comma that separates the parameters.
        let typed = typed.replace("delimiter=,", "delimiter=\\x2c");
        for pair in typed.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| format!("{pair:?} has no ="))?;
            let column = match key {
                "time-col" => Column::Seconds,
                "obj-id-col" => Column::Object,
                "obj-size-col" => Column::Size,
                "op-col" => Column::Operation,
                "delimiter" => {
                    delimiter = Some(one_byte(value)?);
                    continue;
                }
                "has-header" => {
                    has_header = matches!(value, "true" | "1");
                    continue;
                }
                // These follow from the values, or are not used.
                "obj-id-is-num" | "tenant-col" | "ttl-col" | "cnt-col" | "next-access-col" => {
                    continue;
                }
                _ => return Err(format!("unknown parameter {key}")),
            };
            let number = value.parse().ok().filter(|number| (1..=MAX).contains(number));
            let number: usize =
                number.ok_or_else(|| format!("{key} must be a number from 1 to {MAX}"))?;
            if number > columns.len() {
                columns.resize(number, Column::Other);
            }
            columns[number - 1] = column;
        }
        let columns = Self::check(columns).map_err(|_| "obj-id-col is missing".to_owned())?;
        Ok(Self { order: columns, delimiter, has_header })
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        if typed.contains("-col=") {
            return Self::by_number(typed);
        }
        let mut columns = Vec::new();
        for name in typed.split(',').map(str::trim) {
            let column = Column::named(name.as_bytes());
            if column == Column::Other && !matches!(name, "" | "-") {
                return Err(format!(
                    "unknown column {name:?}; use {NAMES}, or - for any other column"
                ));
            }
            columns.push(column);
        }
        let columns = Self::check(columns).map_err(|why| match why {
            "the header names a column twice" => "a column is named twice".to_owned(),
            why => why.replace("the header has", "there is"),
        })?;
        Ok(Self { order: columns, delimiter: None, has_header: false })
    }
}

/// The columns that a user may name.
const NAMES: &str = "time, time_ms, time_us, time_ns, process, pid, space, page, id, offset, size, \
                     sector, sectors, op, backing, cgroup";

/// Bytes that end fields, the likeliest first.
const DELIMITERS: [u8; 5] = [b',', b'\t', b';', b'|', b' '];

/// The columns that a header names, and its delimiter.
pub(super) fn header(line: &[u8]) -> Result<(Vec<Column>, u8), &'static str> {
    let named = |delimiter: u8| {
        let names = line.split(|byte| *byte == delimiter).take(MAX + 1);
        Columns::check(names.map(Column::named).collect()).map(|columns| (columns, delimiter))
    };
    let comma = named(DELIMITERS[0]);
    let others = || DELIMITERS[1..].iter().find_map(|delimiter| named(*delimiter).ok());
    comma.or_else(|why| others().ok_or(why))
}

/// The delimiter of a line of `columns` columns: the byte that splits it into exactly that many
/// fields, or else into more.
pub(super) fn delimiter(line: &[u8], columns: usize) -> u8 {
    let fields = |delimiter: &u8| line.split(|byte| byte == delimiter).count();
    let exact = DELIMITERS.iter().find(|delimiter| fields(delimiter) == columns);
    let more = || DELIMITERS.iter().find(|delimiter| fields(delimiter) > columns);
    exact.or_else(more).copied().unwrap_or(DELIMITERS[0])
}

fn one_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ if text == "\\t" => Ok(b'\t'),
        _ if text == "\\x2c" => Ok(b','),
        _ => Err(format!("the delimiter must be one character, not {text:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_names_are_parsed_in_order() {
        let columns: Columns = "time, page,size,-".parse().unwrap();
        let expected = [Column::Seconds, Column::Page, Column::Size, Column::Other];
        assert_eq!(columns.order, expected);
        let error = |typed: &str| typed.parse::<Columns>().unwrap_err();
        assert!(error("time,pgae").starts_with("unknown column \"pgae\"; use time,"));
        assert_eq!(error("page,page"), "a column is named twice");
        assert!(error("time,size").starts_with("there is no column page or id, nor offset"));
    }

    #[test]
    fn libcachesim_parameters_are_parsed() {
        use Column::{Object, Other, Seconds, Size};
        let typed = "time-col=2, obj-id-col=5, obj-size-col=4, delimiter=,, has-header=true";
        let columns: Columns = typed.parse().unwrap();
        assert_eq!(columns.order, [Other, Seconds, Other, Size, Object]);
        assert_eq!((columns.delimiter, columns.has_header), (Some(b','), true));
        let tabs: Columns = "obj-id-col=1,delimiter=\\t".parse().unwrap();
        assert_eq!(tabs.delimiter, Some(b'\t'));
        let error = |typed: &str| typed.parse::<Columns>().unwrap_err();
        assert_eq!(error("time-col=1"), "obj-id-col is missing");
        assert_eq!(error("obj-id-col=0"), "obj-id-col must be a number from 1 to 64");
        assert_eq!(
            error("obj-id-col=1,delimiter=ab"),
            "the delimiter must be one character, not \"ab\""
        );
    }

    #[test]
    fn the_delimiter_is_detected_from_the_first_line() {
        assert_eq!(delimiter(b"0,100,4096", 3), b',');
        assert_eq!(delimiter(b"0\t100,5\t4096", 3), b'\t');
        assert_eq!(delimiter(b"0|100|4096|x", 2), b'|');
        assert_eq!(delimiter(b"100", 1), b',');
        assert_eq!(header(b"time;id;size").unwrap().1, b';');
        assert!(header(b"0,100,4096").unwrap_err().starts_with("the header has no column page"));
    }
}
