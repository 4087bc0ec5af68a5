//! Reading events out of a table.

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
use super::super::skipped::{Place, Skipped};
use super::super::source::Whole;
use super::super::stop::Stop;

/// Rows decoded at once.
const CHUNK: usize = 8192;

/// Reads a table, one group of rows after the other.
pub(in super::super) struct Rows {
    reader: SerializedFileReader<Whole>,
    /// Where the table has the columns that are known; [`COLUMNS`] says which is which.
    places: [Option<usize>; COLUMNS.len()],
    /// Whether a column's numbers are unsigned, and a sign bit is a part of them.
    unsigned: [bool; COLUMNS.len()],
    next_group: usize,
    columns: Option<[Column; COLUMNS.len()]>,
    /// Rows that are left in the group.
    left: usize,
    /// Rows that were read.
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
/// A table lacks the others where nothing is known.
const NEEDED: [usize; 3] = [0, 4, 5];

/// The values of a column's chunk of rows.
#[derive(Default)]
struct Column {
    reader: Option<ColumnReader>,
    levels: Vec<i16>,
    /// Of 64 bits, with a sign or without.
    numbers: Vec<i128>,
    texts: Vec<ByteArray>,
}

impl Rows {
    /// The table in `file`, or why it is none of a trace.
    pub(in super::super) fn open(file: Whole) -> Result<Self, String> {
        let reader = guarded(|| SerializedFileReader::new(file)).map_err(|why| why.to_string())?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let mut places = [None; COLUMNS.len()];
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
                places[known] = Some(index);
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
            if places[needed].is_none() {
                return Err(format!("the table has no column {}", COLUMNS[needed]));
            }
        }
        Ok(Self { reader, places, unsigned, next_group: 0, columns: None, left: 0, done: 0 })
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
            let place = Place::Row(self.done);
            let Some(columns) = &mut self.columns else { return Ok(false) };
            for (index, column) in columns.iter_mut().enumerate() {
                column
                    .read(rows, self.unsigned[index])
                    .map_err(|why| Stop::At(place, format!("column {}: {why}", COLUMNS[index])))?;
            }
            let mut bad = |row: u64, wrong: Wrong| match wrong {
                Wrong::Skip(reason) | Wrong::Bad(reason) if skip_bad => {
                    skipped.add(reason, 1, Place::Row(row));
                    Ok(())
                }
                Wrong::Skip(what) | Wrong::Bad(what) | Wrong::Full(what) => {
                    Err(Stop::At(Place::Row(row), what.to_owned()))
                }
            };
            rows_to_events(columns, rows, self.done, events, names, &mut bad)?;
            self.left -= rows;
            self.done += rows as u64;
        }
        Ok(true)
    }

    fn open_group(&mut self) -> Result<bool, Stop> {
        let stop = |why: ParquetError| Stop::At(Place::Row(self.done), why.to_string());
        if self.next_group >= self.reader.num_row_groups() {
            return Ok(false);
        }
        let columns = guarded(|| {
            let group = self.reader.get_row_group(self.next_group)?;
            begin_somewhere(group.metadata())?;
            let mut columns: [Column; COLUMNS.len()] = Default::default();
            for (column, place) in columns.iter_mut().zip(self.places) {
                column.reader = place.map(|place| group.get_column_reader(place)).transpose()?;
            }
            Ok((columns, group.metadata().num_rows()))
        });
        let (columns, rows) = columns.map_err(stop)?;
        self.left = usize::try_from(rows).map_err(|_| {
            Stop::At(Place::Row(self.done), "a group has less than no rows".to_owned())
        })?;
        self.columns = Some(columns);
        self.next_group += 1;
        // A group may be empty, and then the next one is meant.
        if self.left == 0 { self.open_group() } else { Ok(true) }
    }
}

impl Column {
    /// Decodes `rows` rows, one level for each, and one value for each that has one.
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
                // pandas makes these of whole numbers of which some are missing.
                ColumnReader::DoubleColumnReader(reader) => {
                    let mut doubles = Vec::new();
                    let result = reader.read_records(wanted, Some(levels), None, &mut doubles);
                    for number in doubles {
                        numbers.push(i128::from(whole(number)?));
                    }
                    result
                }
                _ => Err(wrong("it holds neither whole numbers nor text")),
            })?;
            if records == 0 {
                return Err(wrong("it ends before the others do"));
            }
            read += records;
        }
        // A column that every row has comes without levels.
        if self.levels.is_empty() {
            self.levels.resize(rows, 1);
        }
        let values = self.levels.iter().filter(|level| **level == 1).count();
        if self.levels.len() != rows || values != self.numbers.len().max(self.texts.len()) {
            return Err(wrong("it has not as many values as rows"));
        }
        Ok(())
    }
}

/// Takes what is no good to `bad`, which says whether it goes on.
fn rows_to_events(
    columns: &[Column; COLUMNS.len()],
    rows: usize,
    done: u64,
    events: &mut Vec<Event>,
    names: &mut Names,
    bad: &mut impl FnMut(u64, Wrong) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut at = [0; COLUMNS.len()];
    // The index of a row's value, if it has one.
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
    /// Where each column has the row's.
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

    /// A number that every row has.
    fn needed(
        &self,
        column: usize,
        missing: &'static str,
        negative: &'static str,
    ) -> Result<u64, Wrong> {
        let number = self.number(column).ok_or(Wrong::Bad(missing))?;
        u64::try_from(number).map_err(|_| Wrong::Bad(negative))
    }

    /// A number of 32 bits that a row may have.
    fn small(&self, column: usize, wrong: &'static str) -> Result<Option<u32>, Wrong> {
        let number = self.number(column).map(u32::try_from).transpose();
        number.map_err(|_| Wrong::Bad(wrong))
    }

    fn event(&self, names: &mut Names) -> Result<Event, Wrong> {
        let operation = self.text(5).and_then(Operation::from_name);
        let backing = match self.text(6) {
            Some(name) => Backing::from_name(name).ok_or(Wrong::Bad("there is no such backing"))?,
            None => Backing::Unknown,
        };
        let member = Member {
            name: self.text(1).unwrap_or_default(),
            pid: self.small(2, "the pid is no number of a process")?,
            cgroup: self.text(7).unwrap_or_default(),
            launch: self.small(8, "the launch is no number of one")?,
            command: self.small(9, "the command is no number of a process")?,
        };
        Ok(Event {
            at: Nanos(self.needed(0, "there is no time", "the time is negative")?),
            page: self.needed(4, "there is no page", "the page is negative")?,
            who: names.member(member)?,
            space: names.space_number(self.text(3).unwrap_or_default())?,
            operation: operation.ok_or(Wrong::Bad("there is no such operation"))?,
            backing,
        })
    }
}

/// A real number that is a whole one, and exactly so.
fn whole(number: f64) -> Result<i64, ParquetError> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && (-EXACT..=EXACT).contains(&number) {
        Ok(number as i64)
    } else {
        Err(wrong("it holds a number that is not whole"))
    }
}

fn wrong(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

/// The crate that decodes takes it for granted that no column begins before the file.
fn begin_somewhere(group: &RowGroupMetaData) -> Result<(), ParquetError> {
    for column in group.columns() {
        let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        if begin < 0 || column.compressed_size() < 0 {
            return Err(wrong("a column begins before the file, or is shorter than nothing"));
        }
    }
    Ok(())
}

/// The crate that decodes may panic on a damaged file. That is an error of the file, and what was
/// decoded so far is not looked at again.
fn guarded<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(wrong("the file is damaged")))
}
