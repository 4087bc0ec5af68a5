//! Reads events from a table.

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use ::parquet::column::reader::ColumnReader;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use unjank_host::Nanos;

use super::super::batch::Wrong;
use super::super::event::{Backing, Event, Operation};
use super::super::names::{Member, Names};
use super::super::skipped::{Position, Skipped};
use super::super::source::Whole;
use super::super::stop::Stop;

/// Rows decoded at once.
const CHUNK: usize = 8192;

/// Reads a table, one row group after the other.
pub(in super::super) struct Rows {
    reader: SerializedFileReader<Whole>,
    /// The index in the table of each column in [`COLUMNS`].
    indexes: [Option<usize>; COLUMNS.len()],
    /// Whether a column's numbers are unsigned, so that the sign bit is part of the value.
    unsigned: [bool; COLUMNS.len()],
    next_group: usize,
    columns: Option<[Column; COLUMNS.len()]>,
    /// Rows left in the group.
    left: usize,
    /// Rows read so far.
    done: u64,
}

const COLUMNS: [&str; 10] = [
    "time_ns",
    "process",
    "pid",
    "space",
    "page",
    "operation",
    "backing",
    "cgroup",
    "launch_id",
    "command_pid",
];
/// Indexes of the columns that every table has; the others are optional.
const NEEDED: [usize; 3] = [0, 4, 5];

/// The values of one column in a chunk of rows.
#[derive(Default)]
struct Column {
    reader: Option<ColumnReader>,
    levels: Vec<i16>,
    /// Numbers of 64 bits, signed or unsigned.
    numbers: Vec<i128>,
    texts: Vec<ByteArray>,
}

impl Rows {
    /// Opens the table in `file`, or says why it is not a trace.
    pub(in super::super) fn open(file: Whole) -> Result<Self, String> {
        let reader = guarded(|| SerializedFileReader::new(file)).map_err(|why| why.to_string())?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let mut indexes = [None; COLUMNS.len()];
        let mut unsigned = [false; COLUMNS.len()];
        for (index, column) in schema.columns().iter().enumerate() {
            let known = COLUMNS.iter().position(|name| column.path().string() == *name);
            if let Some(known) = known {
                if column.max_rep_level() > 0 || column.max_def_level() > 1 {
                    return Err(format!("the column {} holds lists", COLUMNS[known]));
                }
                if let Some(LogicalType::Timestamp(time)) = column.logical_type_ref()
                    && !matches!(time.unit, TimeUnit::NANOS)
                {
                    return Err(format!("the column {} is not in nanoseconds", COLUMNS[known]));
                }
                indexes[known] = Some(index);
                unsigned[known] = matches!(
                    column.converted_type(),
                    ConvertedType::UINT_8
                        | ConvertedType::UINT_16
                        | ConvertedType::UINT_32
                        | ConvertedType::UINT_64
                );
            }
        }
        for needed in NEEDED {
            if indexes[needed].is_none() {
                return Err(format!("the table has no column {}", COLUMNS[needed]));
            }
        }
        Ok(Self { reader, indexes, unsigned, next_group: 0, columns: None, left: 0, done: 0 })
    }

    /// Appends `most` events or so; false at the end.
    pub(in super::super) fn read(
        &mut self,
        events: &mut Vec<Event>,
        names: &mut Names,
        skip_bad: bool,
        skipped: &mut Skipped,
        most: usize,
    ) -> Result<bool, Stop> {
        let enough = events.len().saturating_add(most);
        while events.len() < enough {
            if self.left == 0 && !self.open_group()? {
                return Ok(false);
            }
            let rows = self.left.min(CHUNK).min(enough - events.len());
            let position = Position::Row(self.done);
            let Some(columns) = &mut self.columns else { return Ok(false) };
            for (index, column) in columns.iter_mut().enumerate() {
                column.read(rows, self.unsigned[index]).map_err(|why| {
                    Stop::At(position, format!("column {}: {why}", COLUMNS[index]))
                })?;
            }
            let mut bad = |row: u64, wrong: Wrong| match wrong {
                Wrong::Skip(reason) | Wrong::Bad(reason) if skip_bad => {
                    skipped.add(reason, 1, Position::Row(row));
                    Ok(())
                }
                Wrong::Skip(what) | Wrong::Bad(what) | Wrong::LimitReached(what) => {
                    Err(Stop::At(Position::Row(row), what.to_owned()))
                }
            };
            rows_to_events(columns, rows, self.done, events, names, &mut bad)?;
            self.left -= rows;
            self.done += rows as u64;
        }
        Ok(true)
    }

    fn open_group(&mut self) -> Result<bool, Stop> {
        let stop = |why: ParquetError| Stop::At(Position::Row(self.done), why.to_string());
        if self.next_group >= self.reader.num_row_groups() {
            return Ok(false);
        }
        let columns = guarded(|| {
            let group = self.reader.get_row_group(self.next_group)?;
            begin_somewhere(group.metadata())?;
            let mut columns: [Column; COLUMNS.len()] = Default::default();
            for (column, index) in columns.iter_mut().zip(self.indexes) {
                column.reader = index.map(|index| group.get_column_reader(index)).transpose()?;
            }
            Ok((columns, group.metadata().num_rows()))
        });
        let (columns, rows) = columns.map_err(stop)?;
        self.left = usize::try_from(rows).map_err(|_| {
            Stop::At(Position::Row(self.done), "a row group has a negative row count".to_owned())
        })?;
        self.columns = Some(columns);
        self.next_group += 1;
        // If the group is empty, open the next one.
        if self.left == 0 { self.open_group() } else { Ok(true) }
    }
}

impl Column {
    /// Decodes `rows` rows: one level for each, and one value for each that is not null.
    fn read(&mut self, rows: usize, unsigned: bool) -> Result<(), ParquetError> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        self.levels.clear();
        self.numbers.clear();
        self.texts.clear();
        let (levels, texts) = (&mut self.levels, &mut self.texts);
        let (numbers, mut longs) = (&mut self.numbers, Vec::new());
        let mut read = 0;
        while read < rows {
            let wanted = rows - read;
            let (records, ..) = guarded(|| match reader {
                ColumnReader::Int64ColumnReader(reader) => {
                    let result = reader.read_records(wanted, Some(levels), None, &mut longs);
                    let longs = longs.drain(..);
                    numbers.extend(longs.map(|number| {
                        if unsigned { i128::from(number as u64) } else { i128::from(number) }
                    }));
                    result
                }
                ColumnReader::Int32ColumnReader(reader) => {
                    let mut small = Vec::new();
                    let result = reader.read_records(wanted, Some(levels), None, &mut small);
                    numbers.extend(small.into_iter().map(|number| {
                        if unsigned { i128::from(number as u32) } else { i128::from(number) }
                    }));
                    result
                }
                ColumnReader::ByteArrayColumnReader(reader) => {
                    reader.read_records(wanted, Some(levels), None, texts)
                }
                // pandas writes these for integer columns with missing values.
                ColumnReader::DoubleColumnReader(reader) => {
                    let mut doubles = Vec::new();
                    let result = reader.read_records(wanted, Some(levels), None, &mut doubles);
                    for number in doubles {
                        numbers.push(i128::from(whole(number)?));
                    }
                    result
                }
                _ => Err(wrong("its type is neither integer nor text")),
            })?;
            if records == 0 {
                return Err(wrong("it has fewer rows than its group"));
            }
            read += records;
        }
        // A required column has no levels.
        if self.levels.is_empty() {
            self.levels.resize(rows, 1);
        }
        let values = self.levels.iter().filter(|level| **level == 1).count();
        if self.levels.len() != rows || values != self.numbers.len().max(self.texts.len()) {
            return Err(wrong("the number of values differs from that of rows"));
        }
        Ok(())
    }
}

/// Appends an event for each row. Passes malformed rows to `bad`, which counts them or stops.
fn rows_to_events(
    columns: &[Column; COLUMNS.len()],
    rows: usize,
    done: u64,
    events: &mut Vec<Event>,
    names: &mut Names,
    bad: &mut impl FnMut(u64, Wrong) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut at = [0; COLUMNS.len()];
    // The index of a row's value, if it is not null.
    let mut index = |column: usize, row: usize| {
        let has = columns[column].levels.get(row) == Some(&1);
        at[column] += usize::from(has);
        has.then(|| at[column] - 1)
    };
    for row in 0..rows {
        let values = Values { columns, at: std::array::from_fn(|column| index(column, row)) };
        match values.event(names) {
            Ok(event) => events.push(event),
            Err(wrong) => bad(done + row as u64, wrong)?,
        }
    }
    Ok(())
}

/// The values of a row.
struct Values<'a> {
    columns: &'a [Column; COLUMNS.len()],
    /// The index of the row's value in each column.
    at: [Option<usize>; COLUMNS.len()],
}

impl Values<'_> {
    fn number(&self, column: usize) -> Option<i128> {
        self.at[column].and_then(|index| self.columns[column].numbers.get(index)).copied()
    }

    fn text(&self, column: usize) -> Option<&[u8]> {
        let text = self.at[column].and_then(|index| self.columns[column].texts.get(index));
        text.map(ByteArray::data)
    }

    /// A required number.
    fn needed(
        &self,
        column: usize,
        missing: &'static str,
        negative: &'static str,
    ) -> Result<u64, Wrong> {
        let number = self.number(column).ok_or(Wrong::Bad(missing))?;
        u64::try_from(number).map_err(|_| Wrong::Bad(negative))
    }

    /// An optional number of 32 bits.
    fn small(&self, column: usize, wrong: &'static str) -> Result<Option<u32>, Wrong> {
        let number = self.number(column).map(u32::try_from).transpose();
        number.map_err(|_| Wrong::Bad(wrong))
    }

    fn event(&self, names: &mut Names) -> Result<Event, Wrong> {
        let operation = self.text(5).and_then(Operation::from_name);
        let backing = match self.text(6) {
            Some(name) => Backing::from_name(name).ok_or(Wrong::Bad("the backing is unknown"))?,
            None => Backing::Unknown,
        };
        let member = Member {
            name: self.text(1).unwrap_or_default(),
            pid: self.small(2, "the pid is not a process ID")?,
            cgroup: self.text(7).unwrap_or_default(),
            launch: self.small(8, "the launch is not a launch number")?,
            command: self.small(9, "the command is not a process ID")?,
        };
        Ok(Event {
            at: Nanos(self.needed(0, "missing time", "the time is negative")?),
            page: self.needed(4, "missing page", "the page is negative")?,
            who: names.member(member)?,
            space: names.space_number(self.text(3).unwrap_or_default())?,
            operation: operation.ok_or(Wrong::Bad("the operation is unknown"))?,
            backing,
        })
    }
}

/// Converts a floating-point number that is exactly an integer.
fn whole(number: f64) -> Result<i64, ParquetError> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && (-EXACT..=EXACT).contains(&number) {
        Ok(number as i64)
    } else {
        Err(wrong("it has a number that is not an integer"))
    }
}

fn wrong(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

/// Checks that no column begins before the file, which the decoder takes for granted.
fn begin_somewhere(group: &RowGroupMetaData) -> Result<(), ParquetError> {
    for column in group.columns() {
        let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        if begin < 0 || column.compressed_size() < 0 {
            return Err(wrong("a column begins before the file or has a negative size"));
        }
    }
    Ok(())
}

/// Turns a panic of the decoder, which a damaged file may cause, into an error. What was decoded
/// so far is not used again.
fn guarded<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(wrong("the file is damaged")))
}
